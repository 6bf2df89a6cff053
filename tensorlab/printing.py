"""The text of a tensor: what `repr(x)`, `print(x)` and `f"{x:.2f}"` show.

The work is done in three steps, one function each, on plain Python values:

1. `visible_values` reads the values that will be shown into a nested list.  Of a large tensor
   these are a few at both ends of each dimension, so printing a gigabyte costs microseconds.
2. `choose_format` looks at all of them and picks one notation for the whole tensor: integers
   with a dot, fixed point or scientific.  One notation is what makes columns comparable.
3. `nested_text` writes the list with brackets, padding and line breaks.

`tensor_repr` adds what the values cannot say: a dtype that is not the default, the size of an
empty tensor, and whether a gradient is recorded.  The text equals PyTorch's, byte for byte (but
for the package name in a dtype), because people compare outputs and paste them into tests.

Left out: sparse and quantized tensors.
"""

import math
import textwrap
from types import SimpleNamespace

from ._core.dispatch.levels import box_of
from ._core.dtypes import get_default_dtype
from ._core.state.settings_number import note_setting

__all__ = ["get_printoptions", "set_printoptions", "tensor_format", "tensor_repr"]

# Stands in the nested list for the elements that a summary leaves out.
GAP = None

# Scientific notation is chosen outside these bounds: beyond them fixed point with four digits
# would show zeros, or columns too wide to read.
LARGEST_RATIO = 1000.0
LARGEST_FIXED = 1.0e8
SMALLEST_FIXED = 1.0e-4

PROFILES: dict[str, dict[str, object]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}


# ---------------------------------------------------------------- options
DEFAULTS: dict[str, object] = {**PROFILES["default"], "sci_mode": None}
options = SimpleNamespace(**DEFAULTS)  # what `set_printoptions` sets; see there


def set_printoptions(
    precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None
):
    """Set how tensors are printed; an option that is not given keeps its value.

    Parameters
    ----------
    precision : int, digits after the decimal point (4 at first)
    threshold : int or inf, number of elements above which a tensor is summarised (1000)
    edgeitems : int, elements a summary shows at each end of a dimension (3)
    linewidth : int, characters after which a line is broken (80)
    profile : {"default", "short", "full"}
        Sets the four options above together; options given besides it win.
    sci_mode : bool or None
        Always or never scientific notation, or (None) as the values suggest.  Unlike the other
        options this one is set by every call: a call without it goes back to None.

    Raises
    ------
    ValueError
        If `profile` is not one of the three names.

    Examples
    --------
    >>> set_printoptions(precision=2)
    >>> get_printoptions()["precision"]
    2
    >>> set_printoptions(profile="default")
    """
    chosen = {}
    if profile is not None:
        if profile not in PROFILES:
            raise ValueError(
                f"set_printoptions: profile is {profile!r}; expected one of {sorted(PROFILES)}"
            )
        chosen.update(PROFILES[profile])
    given = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    chosen.update((name, value) for name, value in given.items() if value is not None)
    for name, value in chosen.items():
        setattr(options, name, value)
    options.sci_mode = sci_mode
    note_setting("print options", vars(options), DEFAULTS)


def get_printoptions():
    """Return the print options as a dict that `set_printoptions(**options)` takes.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.get_printoptions()["precision"]
    4
    """
    return dict(vars(options))


# ---------------------------------------------------------------- step 1: which values
def visible_values(tensor, summarize):
    """Return the values to show as a nested list, with GAP where a summary skips some."""
    if not summarize or tensor.dim() == 0:
        return tensor.tolist()
    edge = options.edgeitems
    length = tensor.shape[0]
    if length <= 2 * edge:
        return tensor.tolist() if tensor.dim() == 1 else visible_rows(tensor)
    if edge == 0:
        return [GAP]
    head, tail = tensor[:edge], tensor[length - edge :]
    if tensor.dim() == 1:
        return [*head.tolist(), GAP, *tail.tolist()]
    return [*visible_rows(head), GAP, *visible_rows(tail)]


def visible_rows(tensor):
    """Return the visible values of each row, an entry of the first dimension."""
    return [visible_values(tensor[i], True) for i in range(tensor.shape[0])]


def flat(nested):
    """Yield the values of a nested list in order, without the gaps."""
    if not isinstance(nested, list):
        yield nested
        return
    for item in nested:
        if isinstance(item, list):
            yield from flat(item)
        elif item is not GAP:
            yield item


# ---------------------------------------------------------------- step 2: one notation for all
def choose_cells(values, dtype):
    """Return the function value -> text of its cell, and the width of a column.

    The two parts of complex numbers have a notation each. The imaginary one is not padded.
    """
    if not dtype.is_complex:
        as_text, width = choose_format(values, dtype.is_floating_point)
        return lambda value: as_text(value).rjust(width), width
    real_text, real_width = choose_format([value.real for value in values], True)
    imag_text, imag_width = choose_format([value.imag for value in values], True)

    def cell(value):
        imag = imag_text(value.imag)
        sign = "" if imag.startswith("-") else "+"
        return f"{real_text(value.real).rjust(real_width)}{sign}{imag}j"

    return cell, real_width + imag_width + 1


def choose_format(values, is_floating):
    """Return the function value -> text and the width of its longest text.

    Zeros, infinities and nans follow the notation of the other values and do not widen the
    column: a lone nan among small integers leaves them as narrow as they were.
    """
    if not is_floating:
        return str, max((len(str(value)) for value in values), default=1)

    numbers = [value for value in values if value != 0 and math.isfinite(value)]
    if not numbers:
        return dotted_integer, 1

    if use_scientific(numbers):
        as_text = f"{{:.{options.precision}e}}".format
    elif all(value == math.ceil(value) for value in numbers):
        as_text = dotted_integer
    else:
        as_text = f"{{:.{options.precision}f}}".format
    return as_text, max(len(as_text(value)) for value in numbers)


def use_scientific(numbers):
    """Decide between scientific and fixed notation for finite values other than zero."""
    if options.sci_mode is not None:
        return options.sci_mode
    magnitudes = [abs(value) for value in numbers]
    smallest, largest = min(magnitudes), max(magnitudes)
    return (
        largest / smallest > LARGEST_RATIO or largest > LARGEST_FIXED or smallest < SMALLEST_FIXED
    )


def dotted_integer(value):
    """Write a whole float as `3.`: the dot alone says that it is not an integer type."""
    return f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}"


# ---------------------------------------------------------------- step 3: brackets and lines
def nested_text(nested, dim, indent, as_text, width):
    """Write a nested list of `dim` levels whose opening bracket stands at column `indent`."""
    if dim == 0:
        return as_text(nested)
    if dim == 1:
        return row_text(nested, indent, as_text, width)
    parts = [
        "..." if part is GAP else nested_text(part, dim - 1, indent + 1, as_text, width)
        for part in nested
    ]
    # One line break between rows, a blank line between matrices, two between cubes, ...
    separator = "," + "\n" * (dim - 1) + " " * (indent + 1)
    return "[" + separator.join(parts) + "]"


def row_text(row, indent, as_text, width):
    """Write the innermost dimension, broken into lines of as many elements as fit."""
    if row == [GAP]:
        return "[...]"
    elements = [" ..." if value is GAP else as_text(value) for value in row]
    fitting = (options.linewidth - indent) / (width + len(", "))
    per_line = max(1, int(min(fitting, len(elements))))
    lines = [
        ", ".join(elements[start : start + per_line]) for start in range(0, len(elements), per_line)
    ]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


# ---------------------------------------------------------------- what the values cannot say
def suffixes(tensor):
    """Return the keyword arguments after the values, such as `dtype=tensorlab.int32`."""
    found = []
    dtype = tensor.dtype
    is_empty = tensor.numel() == 0
    # `[]` alone means shape (0,); with edgeitems=0 no value shows how long a dimension is.
    if tensor.is_meta:
        found += ["device='meta'", f"size={tuple(tensor.shape)}"]
    elif (is_empty and tensor.dim() != 1) or (not is_empty and options.edgeitems == 0):
        found.append(f"size={tuple(tensor.shape)}")
    # Values tell bool and int64 by their looks; an empty tensor has none to tell by.
    told_by_values = (
        not is_empty and not tensor.is_meta and str(dtype).endswith((".bool", ".int64"))
    )
    usual = get_default_dtype().to_complex() if dtype.is_complex else get_default_dtype()
    if dtype != usual and not told_by_values:
        found.append(f"dtype={dtype}")
    node = gradient_node_name(tensor)
    if node is not None:
        found.append(f"grad_fn=<{node}>")
    elif tensor.requires_grad:
        found.append("requires_grad=True")
    return found


def gradient_node_name(tensor):
    """Return the name of the node that made the tensor, None for a leaf."""
    try:
        node = tensor.grad_fn
    except RuntimeError:
        # A view whose history an in-place operation made unusable refuses to give its node.
        # Printing is how one finds out about such a tensor: it must not raise.
        return "Invalid"
    return None if node is None else node.name().rpartition("::")[2]


def join_suffixes(text, found, indent):
    """Append the suffixes to the text, each on a new line if it would pass the line width."""
    # The two columns more than the line has leave room for the closing parenthesis and a comma.
    column = len(text) - text.rfind("\n") - 1 + 2
    for suffix in found:
        if column + len(", ") + len(suffix) > options.linewidth:
            text += ",\n" + " " * indent + suffix
            column = indent + len(suffix)
        else:
            text += ", " + suffix
            column += len(", ") + len(suffix)
    return text


# ---------------------------------------------------------------- the public functions
def tensor_repr(tensor, *, tensor_contents=None):
    """Return the text that shows a tensor: its values, then what they leave unsaid.

    A class of the user's own prints its name instead of `tensor`, and may give a text of its own
    for the values, `tensor_contents`.  Values print with `precision` digits; for all of them, take
    `x.tolist()`.

    >>> import tensorlab
    >>> tensorlab.zeros(2, dtype=tensorlab.int8).__repr__(tensor_contents="two zeros")
    'tensor(two zeros, dtype=tensorlab.int8)'
    """
    found = box_of(tensor)
    is_dual = found is not None and found.level.allows_capture  # prints as what it is besides
    if found is not None and not is_dual:
        return box_repr(found)
    class_name = type(tensor).__name__
    prefix = "tensor(" if class_name in ("Tensor", "Parameter", "Buffer") else f"{class_name}("
    indent = len(prefix)
    plain = tensor.detach()
    if tensor_contents is not None:
        text = tensor_contents
    elif plain.is_meta:
        text = "..."
    elif plain.numel() == 0:
        text = "[]"
    else:
        text = contents(plain, indent)
    more = suffixes(tensor)
    if is_dual and found.tangent is not None:
        more.append(f"tangent={found.tangent!r}")
    return join_suffixes(prefix + text, more, indent) + ")"


def box_repr(box):
    """Return the text of what a transform shows in the place of a tensor: its level, and the value."""
    level = f"lvl={box.level.number}"
    kind = f"BatchedTensor({level}, bdim=0" if box.hides_batch else f"GradTrackingTensor({level}"
    return f"{kind}, value=\n{textwrap.indent(repr(box.value), '    ')}\n)"


def contents(plain, indent):
    """Return the text of the elements, whose lines after the first are indented."""
    values = visible_values(plain, plain.numel() > options.threshold)
    as_text, width = choose_cells(list(flat(values)), plain.dtype)
    return nested_text(values, plain.dim(), indent, as_text, width)


def tensor_format(tensor, format_spec):
    """Return the text of `format(x, format_spec)`: a 0-d tensor formats as its number.

    Raises
    ------
    TypeError
        If a tensor with dimensions is given a format such as `.2f`.

    Examples
    --------
    >>> import tensorlab
    >>> f"{tensorlab.tensor(3.14159):.2f}"
    '3.14'
    """
    if tensor.dim() == 0 and not tensor.is_meta and type(tensor).__name__ == "Tensor":
        return format(tensor.detach().item(), format_spec)
    if format_spec:
        raise TypeError(
            f"format: {format_spec!r} formats one number, but x is a {type(tensor).__name__} of "
            f"shape {tuple(tensor.shape)}; format x.item(), or set_printoptions(precision=...)"
        )
    return str(tensor)
