"""Forward rules: see `rules.py` for what one is; the others have the rules of families of ops."""

from tensorlab.func.pushing import linalg, linear, reductions
from tensorlab.func.pushing.rules import pushing, run_pushed

__all__ = ["pushing", "run_pushed"]
