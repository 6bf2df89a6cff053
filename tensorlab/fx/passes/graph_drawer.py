"""Graphs as pictures, under the name of PyTorch's drawer; `tensorlab.viz.program` draws them."""

from tensorlab.fx.graph_module import GraphModule
from tensorlab.viz.picture import Picture
from tensorlab.viz.program import program

__all__ = ["FxGraphDrawer"]


class GraphPicture(Picture):
    """A picture with the methods that programs call on PyTorch's drawings."""

    def create_svg(self):
        """Return the picture as an SVG file: bytes."""
        return self._repr_svg_().encode()

    def write_svg(self, path):
        """Write the picture to a file whose name ends in .svg."""
        self.save(path)


class FxGraphDrawer:
    """Draws a GraphModule and the GraphModules in it.

    Parameters
    ----------
    graph_module : GraphModule
    name : str, for titles
    most_nodes : int, larger graphs are refused
    """

    def __init__(self, graph_module, name, *, most_nodes=100):
        self._pictures = {None: _draw(graph_module, name, most_nodes)}
        for path, module in graph_module.named_modules():
            if path and isinstance(module, GraphModule):
                self._pictures[path] = _draw(module, f"{name}.{path}", most_nodes)

    def get_dot_graph(self, submod_name=None):
        """Return the picture of a submodule, by its dotted name, or of the whole."""
        if submod_name not in self._pictures:
            raise KeyError(
                f"{submod_name!r} is no GraphModule in the drawn one; these are: {sorted(filter(None, self._pictures))}"
            )
        return self._pictures[submod_name]

    def get_main_dot_graph(self):
        """Return the picture of the whole."""
        return self._pictures[None]

    def get_submod_dot_graph(self, submod_name):
        """Return the picture of a submodule, by its dotted name."""
        return self.get_dot_graph(submod_name)

    def get_all_dot_graphs(self):
        """Return {dotted name: picture}; the whole is under None."""
        return dict(self._pictures)


def _draw(module, name, most_nodes):
    made = program(module.graph, name=name, most_nodes=most_nodes)
    return GraphPicture(
        made.title, made.description, made.text, made.width, made.height, made.shapes
    )
