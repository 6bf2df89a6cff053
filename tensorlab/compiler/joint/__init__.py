"""From a recorded graph to functional graphs of forward and backward.

interpreter     run a graph, on real tensors or on meta
memory          which tensors of a graph share memory, and how
functionalize   no op writes any more; writes to inputs happen once, at the end
joint           forward and backward as one graph
partition       and as two: what forward saves for backward
min_cut         the cheapest cut of a network, with which partition decides what to compute again
"""
