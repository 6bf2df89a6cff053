"""Dead code: nodes whose value nothing uses. `Graph.eliminate_dead_code` as a pass."""

from tensorlab.fx.passes.infra.pass_base import PassBase, PassResult

__all__ = ["DeadCodePass"]


class DeadCodePass(PassBase):
    """Erases the nodes that nothing uses, and the submodules that no node uses then."""

    def call(self, graph_module):
        modified = graph_module.graph.eliminate_dead_code()
        if modified:
            graph_module.delete_all_unused_submodules()
            graph_module.recompile()
        return PassResult(graph_module, modified)
