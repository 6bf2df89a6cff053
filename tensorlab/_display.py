"""What a notebook shows of tensors, modules, optimizers and schedulers: small tables and trees, as HTML.

The classes have a `_repr_html_` that leads here; a program outside of a notebook never reads this file. It asks its
objects what any program could ask them, and so it needs nothing else of the package.

The page's own ink and fonts are kept, so that dark pages are readable too.
"""

from html import escape

MOST_ELEMENTS = 400  # a larger tensor is text, as outside of a notebook
MOST_COLUMNS = 20
CELL = 'style="text-align:right;padding:1px 6px;font-family:monospace"'
HEAD = 'style="text-align:right;padding:1px 6px;opacity:0.6;font-weight:normal"'


def row(cells):
    return f"<tr>{''.join(cells)}</tr>"


def table(caption, head, lines):
    """Return a table.

    Parameters
    ----------
    caption : str
    head : list of str, the names of the columns
    lines : list of lists of str: the name of a line, and its cells
    """
    rows = [row(f"<th {HEAD}>{escape(name)}</th>" for name in head)] if head else []
    for name, *cells in lines:
        rows.append(
            row(
                [
                    f"<th {HEAD}>{escape(name)}</th>",
                    *(f"<td {CELL}>{escape(x)}</td>" for x in cells),
                ]
            )
        )
    body = f"<table>{''.join(rows)}</table>"
    return f"<div><div>{escape(caption)}</div>{body}</div>"


def number(value):
    """Write an element of a tensor or an option of an optimizer."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


# ------------------------------------------------------------------------------ tensors
def facts(tensor):
    """Return a line with what a table of a tensor's elements does not show."""
    words = [f"shape {tuple(tensor.shape)}", f"dtype {tensor.dtype}", f"strides {tensor.stride()}"]
    if tensor.device.type != "cpu":
        words.append(f"device {tensor.device}")
    if tensor.grad_fn is not None:
        words.append(f"grad_fn {tensor.grad_fn.name()}")
    elif tensor.requires_grad:
        words.append("requires grad")
    return f"{type(tensor).__name__}: {', '.join(words)}"


def tensor(x):
    """Return a small tensor of one or two dimensions as a table, and None for others: they are shown as text.

    >>> import tensorlab
    >>> "shape (2,), dtype tensorlab.float32, strides (1,)" in tensor(tensorlab.ones(2))
    True
    """
    is_small = 0 < x.numel() <= MOST_ELEMENTS and 1 <= x.dim() <= 2 and x.shape[-1] <= MOST_COLUMNS
    if not is_small or x.device.type == "meta":
        return None
    values = x.detach().tolist()
    lines = (
        [["", *map(number, values)]]
        if x.dim() == 1
        else [[str(i), *map(number, line)] for i, line in enumerate(values)]
    )
    return table(facts(x), ["", *map(str, range(x.shape[-1]))], lines)


# ------------------------------------------------------------------------------ modules
def size_of(parameter):
    """Return the number of elements, or 0 if it is not known yet, as in a lazy layer."""
    try:
        return parameter.numel()
    except (RuntimeError, ValueError):
        return 0


def shape_of(parameter):
    try:
        return str(tuple(parameter.shape))
    except (RuntimeError, ValueError):
        return "not known yet"


def counted(module):
    """Return "1,234 parameters", each shared one counted once, and how many of them are frozen."""
    parameters = list(module.parameters())
    number = sum(map(size_of, parameters))
    frozen = sum(size_of(one) for one in parameters if not one.requires_grad)
    words = f"{number:,} parameter{'' if number == 1 else 's'}"
    return f"{words}, {frozen:,} of them frozen" if frozen else words


def module(root, name="", is_open=True):
    """Return a module as a tree that folds, with the shapes of its own parameters and buffers and all counts."""
    title = f"<b>{escape(name)}</b> " if name else ""
    extra = root.extra_repr()
    title += f"{escape(type(root).__name__)}({escape(extra)}) <small>{counted(root)}</small>"
    held = [
        f"<li><code>{escape(key)}</code> {shape_of(value)}{kind}</li>"
        for kind, values in (
            ("", root.named_parameters(recurse=False)),
            (" (buffer)", root.named_buffers(recurse=False)),
        )
        for key, value in values
    ]
    children = [
        f"<li>{module(child, key, is_open=False)}</li>" for key, child in root.named_children()
    ]
    if not held and not children:
        return f"<div>{title}</div>"
    inner = "".join([*held, *children])
    opened = " open" if is_open else ""
    return f"<details{opened}><summary>{title}</summary><ul>{inner}</ul></details>"


# ------------------------------------------------------------------------------ optimizers and schedulers
def optimizer(x):
    """Return a table of an optimizer: a line for each option, a column for each group."""
    groups = x.param_groups
    options = [key for key in groups[0] if key not in ("params", "param_names")]
    lines = [
        ["tensors", *(str(len(group["params"])) for group in groups)],
        ["parameters", *(f"{sum(map(size_of, group['params'])):,}" for group in groups)],
        *([key, *(number(group.get(key, "")) for group in groups)] for key in options),
    ]
    state = f", state of {len(x.state)} tensors" if x.state else ", no step yet"
    head = ["", *(f"group {i}" for i in range(len(groups)))] if len(groups) > 1 else []
    return table(f"{type(x).__name__}{state}", head, lines)


def scheduler(x):
    """Return a table of a scheduler: its epoch, the rate of each group, and its options."""
    rates = [group["lr"] for group in x.optimizer.param_groups]
    options = {
        key: value
        for key, value in vars(x).items()
        if not key.startswith("_") and isinstance(value, (int, float, str)) and key != "last_epoch"
    }
    lines = [
        ["epoch", str(getattr(x, "last_epoch", "that of each"))],
        ["lr", ", ".join(number(float(rate)) for rate in rates)],
        *([key, number(value)] for key, value in options.items()),
    ]
    return table(f"{type(x).__name__} of {type(x.optimizer).__name__}", [], lines)
