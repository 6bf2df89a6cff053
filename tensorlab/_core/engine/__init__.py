"""The engine that reads the graph: backward, its hooks, and the fields of a tensor that show it."""
