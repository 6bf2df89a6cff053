"""The compiler: what `tensorlab.compile` is made of."""
