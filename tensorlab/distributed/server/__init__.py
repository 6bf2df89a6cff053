"""The process in which ranks find each other: keys and values, MPI's start, and who is still here.

It imports nothing of tensorlab, so that it starts in a few hundredths of a second.
"""
