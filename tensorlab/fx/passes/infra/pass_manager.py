"""PassManager: passes one after another, with the graph checked after each."""

from tensorlab import _missing
from tensorlab.fx.passes.infra.pass_base import PassResult

__all__ = ["PassManager"]


class PassManager:
    """Runs passes one after another, and checks the graph after each.

    Parameters
    ----------
    passes : list of functions of a GraphModule, which return a PassResult, or None if they
        change it in place
    steps : int, how often to run all of them; it ends when none changed anything
    """

    def __init__(self, passes=(), steps=1):
        self.passes, self.steps = list(passes), steps

    def add_pass(self, one):
        """Put a pass to the end."""
        self.passes.append(one)

    def __call__(self, module):
        changed = False
        for _ in range(self.steps):
            changed_now = False
            for one in self.passes:
                result = one(module)
                if isinstance(result, PassResult):
                    module, changed_now = result.graph_module, changed_now or result.modified
                module.recompile()
                module.graph.lint()
            changed = changed or changed_now
            if not changed_now:
                break
        return PassResult(module, changed)


__getattr__ = _missing.refusing(__name__)
