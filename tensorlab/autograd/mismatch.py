"""The report of a failed gradcheck: which entry, both values, and what kind of mistake it looks like.

A wrong derivative is rarely wrong at random.  A forgotten factor makes every entry wrong by the same ratio, a
forgotten transpose swaps rows and columns, a forgotten term leaves zeros; an input at a kink has another slope on
each side.  `clues` looks for each of these.
"""

from tensorlab.autograd.numerical import one_sided_slopes
from tensorlab.errors import GradcheckError

MOST_PRINTED = 100  # entries of a matrix that is printed whole


def is_close(analytical, numerical, atol, rtol):
    """Elementwise: |analytical - numerical| <= atol + rtol * |numerical|."""
    return analytical.isclose(numerical, rtol=rtol, atol=atol)


def index_of(flat, shape):
    """The index, a tuple, of element number `flat` in row-major order."""
    index = ()
    for size in reversed(shape):
        flat, place = divmod(flat, size)
        index = (place, *index)
    return index


def entry_name(name, x, flat):
    """`output 0 [1, 2]` for element number `flat` of a tensor."""
    return f"{name} {list(index_of(flat, x.shape))}" if x.dim() else name


def mismatch(heading, output, x, analytical, numerical, evaluate_one, settings):
    """Return the GradcheckError for two matrices that differ.

    Parameters
    ----------
    heading : str, what was checked
    output, x : pairs (name, Tensor) of the output and the input
    analytical, numerical : Tensor, shape (elements of the output, elements of x)
    evaluate_one : function without arguments that returns the output at the moved input
    settings : with `eps`, `atol` and `rtol`
    """
    close = is_close(analytical, numerical, settings.atol, settings.rtol)
    wrong = close.numel() - close.sum().item()
    row, column = worst_entry(analytical, numerical, close)
    where = f"d {entry_name(output[0], output[1], row)} / d {entry_name(x[0], x[1], column)}"
    lines = [
        heading,
        f"{wrong} of {close.numel()} entries differ by more than atol {settings.atol:g} + rtol {settings.rtol:g} "
        f"* |numerical|.",
        f"The worst, {where}:",
        f"  numerical:  {numerical[row, column].item()!r}",
        f"  analytical: {analytical[row, column].item()!r}",
        *clues(analytical, numerical, close),
        *clues_of_the_place(x, output, evaluate_one, row, column, settings),
    ]
    if close.numel() <= MOST_PRINTED:
        lines += [
            f"All entries, a row for each element of {output[0]} and a column for each of {x[0]}:",
            f"numerical:\n{numerical}",
            f"analytical:\n{analytical}",
        ]
    return GradcheckError("\n".join(lines))


def worst_entry(analytical, numerical, close):
    """The row and column of the largest difference among those that are not close; NaN counts as the largest."""
    difference = (analytical - numerical).abs().masked_fill(close, -1.0)
    difference = difference.masked_fill(difference.isnan(), float("inf"))
    return divmod(difference.reshape(-1).argmax().item(), difference.shape[1])


# ---------------------------------------------------------------- kinds of mistake
def clues(analytical, numerical, close):
    """Yield one sentence for each kind of mistake that the two matrices look like."""
    if not analytical.isfinite().all():
        yield "Clue: backward makes infinities or NaN."
        return
    if not analytical.any():
        yield (
            "Clue: backward gives nothing but zeros. Is the input detached, its gradient None, "
            "or a term forgotten?"
        )
        return
    if close.sum().item() and not analytical[~close].any():
        yield "Clue: where the two differ, backward gives zeros. Is a term forgotten?"
        return
    scale = numerical.abs().max().item()
    if not numerical.isfinite().all() or scale == 0:
        return
    ratio = (analytical * numerical).sum().item() / (numerical * numerical).sum().item()
    if (analytical - ratio * numerical).abs().max().item() < 1e-4 * abs(ratio) * scale:
        yield (
            f"Clue: every analytical entry is {ratio:.5g} times the numerical one. "
            "Is a factor or a sign wrong?"
        )
    rows, columns = analytical.shape
    if rows == columns and (analytical.t() - numerical).abs().max().item() < 1e-4 * scale:
        question = "Does backward use W where it needs W.T?"
        yield f"Clue: the one matrix is the other transposed. {question}"


def clues_of_the_place(x, output, evaluate_one, row, column, settings):
    """Yield one sentence if the input itself makes the comparison doubtful: its precision, or a kink."""
    for name, tensor in (x, output):
        if tensor.dtype.itemsize < 8:
            yield f"Clue: {name} is {tensor.dtype}; finite differences need float64 all the way."
            return
    _, tensor = x
    place = tensor.data[index_of(column, tensor.shape)]
    left, right = slopes(evaluate_one, place, row, settings.eps)
    nearer, _ = slopes(evaluate_one, place, row, settings.eps / 8)
    allowed = settings.atol + max(1e-3, settings.rtol) * max(abs(left), abs(right))
    if abs(left - right) > allowed:
        yield (
            f"Clue: the slope there is {left:.5g} to the left and {right:.5g} to the right. At a kink there is no "
            f"derivative; check at other inputs."
        )
    elif abs(nearer) > 4 * abs(left) + allowed:
        yield (
            f"Clue: an eighth of eps gives {nearer:.5g} instead of {left:.5g}. At a jump there is no derivative; "
            f"check at other inputs."
        )


def slopes(evaluate_one, place, row, eps):
    """The slopes of one element of the output to the left and to the right of one of the input."""
    ((left, right),) = one_sided_slopes(evaluate_one, place, eps)
    return left.reshape(-1)[row].item(), right.reshape(-1)[row].item()
