"""The engine room: storage, tensors, loops, dispatch and the autograd engine, in the order of docs/architecture.md."""
