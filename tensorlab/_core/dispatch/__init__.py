"""How a call of an op runs: operands, declarations, overrides, layers, recording, and the entry to them all."""
