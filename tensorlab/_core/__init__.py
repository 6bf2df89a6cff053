"""The engine room, in folders whose order is that of their imports; docs/architecture.md draws it.

state      what a thread or the process has set
(here)     what a tensor is: dtypes, layout, storage, device, tensor; and random numbers
loops      how elements are visited, converted, computed with and shared out among threads
graph      the graph that forward writes
dispatch   how a call of an op runs
engine     the engine that reads the graph
interop    values in and out: lists, NumPy, DLPack, other processes
"""
