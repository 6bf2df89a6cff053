"""Reading and writing parts of a tensor."""
