"""The compiler: record a function as a graph, improve the graph, and run it as C."""
