"""Passes: each makes a functional graph simpler or easier to compile, in place, and says how many changes it made.

They are for graphs without autograd: what `joint` has made, or a functional graph that is run
without gradients. `run_passes` runs them in the order of `PASSES`.

    decomposition           composite ops as primitive ones (view_forms.py, formulas.py, norm_formulas.py)
    constant_folding        tensors that hold one number
    simplification          x * 1, double transpose, copies of copies (rules.py: the reasons)
    common_subexpressions   equal calls once
    dead_code               what no one uses

rewriting.py has what they share: nodes are replaced only where no caller can tell.
"""

from tensorlab.compiler.passes.running import PASSES, PassFailed, run_passes

__all__ = ["PASSES", "PassFailed", "run_passes"]
