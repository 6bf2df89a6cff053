"""The graph that forward writes: nodes and edges, what they save, and what a write in place does to them."""
