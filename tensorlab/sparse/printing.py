"""The text of a sparse tensor: its parts, then shape, nnz and layout."""

from tensorlab import printing


def parts_of(x):
    """The tensors that a sparse tensor holds, by the names under which they are shown."""
    held = x._parts
    if x.is_sparse:
        return {"indices": held.indices, "values": held.values}
    by_row = str(x.layout) in ("tensorlab.sparse_csr", "tensorlab.sparse_bsr")
    compressed, plain = ("crow", "col") if by_row else ("ccol", "row")
    return {
        f"{compressed}_indices": held.compressed,
        f"{plain}_indices": held.plain,
        "values": held.values,
    }


def sparse_repr(x):
    """The text of a sparse tensor, as PyTorch prints it."""
    start = "tensor("
    indent = " " * len(start)
    lines = [part_text(name, part.detach(), len(indent)) for name, part in parts_of(x).items()]
    found = [f"size={tuple(x.shape)}", f"nnz={x._nnz()}"]
    others = [one for one in printing.suffixes(x) if not one.startswith("size=")]
    of_graph = [one for one in others if one.startswith(("grad_fn", "requires_grad"))]
    found += [one for one in others if one not in of_graph]
    found += [f"layout={x.layout}", *of_graph]
    if x.is_sparse:  # its shape stands on a line of its own
        lines.append(found.pop(0))
    text = start + f",\n{indent}".join(lines)
    return printing.join_suffixes(text, found, len(indent)) + ")"


def part_text(name, part, indent):
    """One part: "indices=tensor([[0, 1],", with its later lines below the first."""
    head = f"{name}=tensor("
    if part.numel() == 0:
        return f"{head}[], size={tuple(part.shape)})"
    return head + printing.contents(part, indent + len(head)) + ")"
