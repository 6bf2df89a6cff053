"""What cells print, line for line.

A kernel sends what a cell prints in pieces, cut wherever its clock says.  myst-nb ends every piece
with a new line when it joins them, so on a busy machine lines would be broken in two.  Here the
pieces are joined as they are, before myst-nb sees them.
"""


def join_pieces(outputs):
    """Return the outputs of a cell with neighbouring pieces of one stream put together."""
    joined = []
    for output in outputs:
        last = joined[-1] if joined else None
        is_more = (
            last is not None
            and last["output_type"] == output["output_type"] == "stream"
            and last["name"] == output["name"]
        )
        if is_more:
            last["text"] += output["text"]
        else:
            joined.append(output)
    return joined


def setup(app):
    from myst_nb.core import render

    coalesce = render.coalesce_streams
    render.coalesce_streams = lambda outputs: coalesce(join_pieces(outputs))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
