"""Exercises of chapter 32, sequences."""

import math
import weakref

from tiny_gpt import Cache

import tensorlab as torch
from tensorlab import nn
from tensorlab.learn import BugHunt, Exercise, Wrong, describe, expect, require

IMPORTS = """
import math

from tiny_gpt import GPT, Cache

import tensorlab as torch
from tensorlab import nn
"""


class CacheSize(Exercise):
    """How large is a cache?

    A model has `blocks` blocks. In each of them are `heads` heads of queries, every one of `width`
    numbers, and `shared` heads of queries use one head of keys and values together. It
    writes `texts` texts at once, each of `tokens` tokens, and keeps its cache in numbers of `size` bytes.
    Write
    `cache_bytes(blocks, heads, width, tokens, texts=1, shared=1, size=2)`: the bytes of the cache. `heads` can be
    divided by `shared`.
    """

    kind = "warm-up"
    idea = "A cache for writing"
    stub = """
        def cache_bytes(blocks, heads, width, tokens, texts=1, shared=1, size=2):
            return blocks * tokens * size
    """
    hints = [
        "What does `Cache` keep for one token, in one block?",
        "A row of keys and a row of values for each head of keys. How many such heads are there?",
    ]
    solution = """
        def cache_bytes(blocks, heads, width, tokens, texts=1, shared=1, size=2):
            numbers = 2 * (heads // shared) * width
            return blocks * numbers * tokens * texts * size
    """
    reason = """
        It grows with the length, not with its square: scores aren't kept. With 32 blocks, 32 heads of
        128 numbers and 2 bytes, a token costs half a MiB, and a text of 8,000 tokens 4 GiB. That's why
        large models share keys.
    """
    wrong = [
        Wrong(
            """
            def cache_bytes(blocks, heads, width, tokens, texts=1, shared=1, size=2):
                return blocks * heads // shared * width * tokens * texts * size
            """,
            says="keeps keys and values",
            why="Half of it: values are kept, too.",
        ),
        Wrong(
            """
            def cache_bytes(blocks, heads, width, tokens, texts=1, shared=1, size=2):
                return 2 * blocks * heads * width * tokens * texts * size
            """,
            says="share one head",
            why="Heads of queries that share keys need only one row of them.",
        ),
        Wrong(
            """
            def cache_bytes(blocks, heads, width, tokens, texts=1, shared=1, size=2):
                return 2 * blocks * heads // shared * width * tokens * size
            """,
            says="own cache",
            why="Texts don't share what they have read.",
        ),
        Wrong(
            """
            def cache_bytes(blocks, heads, width, tokens, texts=1, shared=1, size=2):
                return 2 * blocks * heads // shared * width * tokens**2 * texts * size
            """,
            says="aren't kept",
            why="That would be the scores.",
        ),
    ]

    def check(cache_bytes):
        for blocks, heads, width, tokens, texts, shared, size in (
            (2, 2, 16, 40, 1, 1, 4),
            (4, 8, 32, 100, 3, 1, 2),
            (6, 12, 64, 77, 2, 4, 2),
            (32, 32, 128, 8000, 1, 8, 1),
            (1, 6, 10, 1, 5, 3, 4),
        ):
            came = cache_bytes(blocks, heads, width, tokens, texts=texts, shared=shared, size=size)
            per_token = 2 * blocks * (heads // shared) * width * size
            true = per_token * tokens * texts
            require(
                isinstance(came, int | float),
                f"cache_bytes returned {describe(came)}; return a number.",
            )
            if came == true:
                continue
            call = (
                f"cache_bytes({blocks}, {heads}, {width}, {tokens}, texts={texts}, shared={shared}, "
                f"size={size}) isn't {came:,}."
            )
            require(2 * came != true, f"{call} A block keeps keys and values.")
            require(
                shared == 1 or came != shared * true,
                f"{call} {shared} heads of queries share one head of keys and values.",
            )
            require(texts == 1 or came * texts != true, f"{call} Each text has its own cache.")
            require(
                tokens == 1 or came != true * tokens,
                f"{call} Scores, of which there are tokens * tokens, aren't kept.",
            )
            require(
                False, f"{call} Count the numbers that one block keeps of one token, then multiply."
            )
        expect(cache_bytes(1, 3, 5, 7), 2 * 3 * 5 * 7 * 2, "cache_bytes(1, 3, 5, 7)")


class GruStep(Exercise):
    """A step of a GRU

    A GRU has one state and three gates. From `sums_x = x @ weight_x.T + bias_x` and
    `sums_h = h @ weight_h.T + bias_h`, both cut into three parts in the order r, z, n, it computes

        r = sigmoid(x_r + h_r)
        z = sigmoid(x_z + h_z)
        n = tanh(x_n + r * h_n)
        new state = (1 - z) * n + z * h

    Write `gru_step(x, h, weight_x, weight_h, bias_x, bias_h)`, which returns the new state. `x` is of shape
    (texts, inputs), `h` of (texts, width), `weight_x` of (3 * width, inputs), `weight_h` of (3 * width, width), and the
    biases of (3 * width,). Don't use the
    library's GRU. Gradients must get through.
    """

    kind = "implement"
    idea = "Steps"
    stub = """
        def gru_step(x, h, weight_x, weight_h, bias_x, bias_h):
            return torch.tanh(x @ weight_x.T + h @ weight_h.T)
    """
    hints = [
        "`lstm_step` of this chapter cuts its sums with `chunk`. Here two sums are cut, for n "
        "needs its two halves apart.",
        "`x_r, x_z, x_n = (x @ weight_x.T + bias_x).chunk(3, dim=1)`, and the same for h.",
    ]
    solution = """
        def gru_step(x, h, weight_x, weight_h, bias_x, bias_h):
            x_r, x_z, x_n = (x @ weight_x.T + bias_x).chunk(3, dim=1)
            h_r, h_z, h_n = (h @ weight_h.T + bias_h).chunk(3, dim=1)
            r, z = (x_r + h_r).sigmoid(), (x_z + h_z).sigmoid()
            n = (x_n + r * h_n).tanh()
            return (1 - z) * n + z * h
    """
    reason = """
        The gate z does the work of the LSTM's f: with z near 1, the state and its gradient pass
        unchanged. In the paper, r multiplies h before the product; PyTorch multiplies after it,
        so that one product does for all three.
    """
    wrong = [
        Wrong(
            """
            def gru_step(x, h, weight_x, weight_h, bias_x, bias_h):
                sums = x @ weight_x.T + bias_x + h @ weight_h.T + bias_h
                r, z, n = sums.chunk(3, dim=1)
                z = z.sigmoid()
                return (1 - z) * n.tanh() + z * h
            """,
            says="h's part of n",
            why="The reset gate does nothing here.",
        ),
        Wrong(
            """
            def gru_step(x, h, weight_x, weight_h, bias_x, bias_h):
                x_r, x_z, x_n = (x @ weight_x.T + bias_x).chunk(3, dim=1)
                h_r, h_z, h_n = (h @ weight_h.T + bias_h).chunk(3, dim=1)
                r, z = (x_r + h_r).sigmoid(), (x_z + h_z).sigmoid()
                return z * (x_n + r * h_n).tanh() + (1 - z) * h
            """,
            says="keeps the old state",
            why="z and 1 - z are exchanged.",
        ),
        Wrong(
            """
            def gru_step(x, h, weight_x, weight_h, bias_x, bias_h):
                x_z, x_r, x_n = (x @ weight_x.T + bias_x).chunk(3, dim=1)
                h_z, h_r, h_n = (h @ weight_h.T + bias_h).chunk(3, dim=1)
                r, z = (x_r + h_r).sigmoid(), (x_z + h_z).sigmoid()
                n = (x_n + r * h_n).tanh()
                return (1 - z) * n + z * h
            """,
            says="order r, z, n",
            why="The first third of the rows is r.",
        ),
        Wrong(
            """
            def gru_step(x, h, weight_x, weight_h, bias_x, bias_h):
                width = h.shape[1]
                x_r, x_z, x_n = (x @ weight_x.T + bias_x).chunk(3, dim=1)
                h_r, h_z = (h @ weight_h[: 2 * width].T + bias_h[: 2 * width]).chunk(2, dim=1)
                r, z = (x_r + h_r).sigmoid(), (x_z + h_z).sigmoid()
                n = (x_n + (r * h) @ weight_h[2 * width :].T + bias_h[2 * width :]).tanh()
                return (1 - z) * n + z * h
            """,
            says="after the product",
            why="That's the paper's GRU, in which r comes before the product.",
        ),
        Wrong(
            """
            def gru_step(x, h, weight_x, weight_h, bias_x, bias_h):
                x_r, x_z, x_n = (x @ weight_x.T + bias_x).chunk(3, dim=1)
                h_r, h_z, h_n = (h.detach() @ weight_h.T + bias_h).chunk(3, dim=1)
                r, z = (x_r + h_r).sigmoid(), (x_z + h_z).sigmoid()
                n = (x_n + r * h_n).tanh()
                return (1 - z) * n + z * h
            """,
            says="gradient",
            why="Through a detached state, nothing is learned from the steps before.",
        ),
    ]

    def check(gru_step):
        for texts, inputs, width in ((3, 2, 4), (1, 5, 1), (4, 3, 6)):
            cell = nn.GRUCell(inputs, width).double()
            given = (cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh)
            with torch.no_grad():
                for p in given:
                    p.copy_(torch.randn(p.shape, dtype=torch.float64))
            x = torch.randn(texts, inputs, dtype=torch.float64, requires_grad=True)
            h = torch.randn(texts, width, dtype=torch.float64, requires_grad=True)
            came, true = gru_step(x, h, *given), cell(x, h)
            about = f"the state for {texts} texts, {inputs} inputs and a width of {width}"
            require(
                isinstance(came, torch.Tensor),
                f"gru_step returned {describe(came)}; return a tensor.",
            )
            require(
                came.shape == true.shape,
                f"The state has shape {tuple(came.shape)}; expected {tuple(true.shape)}.",
            )
            if not torch.allclose(came, true):
                explain_gru(came, x, h, given, about)
            expect(came, true, about, tolerance=1e-9)
            weights = torch.randn(true.shape, dtype=torch.float64)
            inputs_of = [x, h, *given]
            names = ["x", "h", "weight_x", "weight_h", "bias_x", "bias_h"]
            require(came.requires_grad, "No gradient gets through: the state has no graph.")
            grads = torch.autograd.grad((came * weights).sum(), inputs_of, allow_unused=True)
            wanted = torch.autograd.grad((true * weights).sum(), inputs_of)
            for name, grad, right in zip(names, grads, wanted, strict=True):
                require(grad is not None, f"No gradient gets to {name}.")
                expect(grad, right, f"the gradient of {name}", tolerance=1e-9)


def explain_gru(came, x, h, given, about):
    """Say which mistake it is, if it's a known one."""
    weight_x, weight_h, bias_x, bias_h = (p.detach() for p in given)
    x, h, width = x.detach(), h.detach(), h.shape[1]
    x_parts = (x @ weight_x.T + bias_x).chunk(3, dim=1)
    h_parts = (h @ weight_h.T + bias_h).chunk(3, dim=1)

    def near(state):
        return torch.allclose(came.detach(), state)

    r, z = ((x_parts[i] + h_parts[i]).sigmoid() for i in (0, 1))
    n = (x_parts[2] + r * h_parts[2]).tanh()
    plain = (x_parts[2] + h_parts[2]).tanh()
    early = (x_parts[2] + (r * h) @ weight_h[2 * width :].T + bias_h[2 * width :]).tanh()
    swapped = (x_parts[2] + z * h_parts[2]).tanh()
    about = f"{about[0].upper()}{about[1:]} is wrong."
    require(not near((1 - z) * plain + z * h), f"{about} r multiplies h's part of n.")
    require(not near(z * n + (1 - z) * h), f"{about} z near 1 keeps the old state.")
    require(
        not near((1 - r) * swapped + r * h),
        f"{about} The rows of the weights come in the order r, z, n.",
    )
    require(
        not near((1 - z) * early + z * h),
        f"{about} r multiplies after the product with weight_h, not before.",
    )


class Blocks(Exercise):
    """Attention in one pass

    Keys and values come in blocks, and each block comes only once. Write `attend(query, blocks)`.
    `query` is of shape (d,). `blocks` is an iterator; each element is a pair (keys, values) of shapes (n, d)
    and (n, e), where n is at least 1, and can differ from block to block. Return the result of attention,
    of shape (e,): the mean of all values, weighted by the softmax of `keys @ query / sqrt(d)` over *all*
    keys. Scores may be in the thousands. Don't keep blocks: only the one that you work on.
    """

    kind = "implement"
    idea = "Attention"
    beside = "the check watches when the answer releases a block"
    stub = """
        def attend(query, blocks):
            for keys, values in blocks:
                weights = (keys @ query / len(query) ** 0.5).softmax(0)
                result = weights @ values
            return result
    """
    hints = [
        "Go through the worked trace again, the part in blocks. Which three things are carried along?",
        "The largest score so far, the sum of exp(score - largest), and the sum of the values with "
        "these factors.",
        "When the largest score changes from m to m', multiply both sums by exp(m - m'). Begin with "
        "m = -inf, and exp(-inf) is 0.",
    ]
    solution = """
        def attend(query, blocks):
            peak, total, summed = torch.tensor(-math.inf, dtype=query.dtype), 0.0, 0.0
            for keys, values in blocks:
                scores = keys @ query / len(query) ** 0.5
                higher = torch.maximum(peak, scores.max())
                shrink, shares = (peak - higher).exp(), (scores - higher).exp()
                total = total * shrink + shares.sum()
                summed = summed * shrink + shares @ values
                peak = higher
            return summed / total
    """
    reason = """
        Both sums are relative to the largest score so far, so nothing overflows, and a factor brings
        them up to date. The library does this for 128 queries at once.
    """
    wrong = [
        Wrong(
            """
            def attend(query, blocks):
                total, summed = 0.0, 0.0
                for keys, values in blocks:
                    shares = (keys @ query / len(query) ** 0.5).exp()
                    total = total + shares.sum()
                    summed = summed + shares @ values
                return summed / total
            """,
            says="overflows",
            why="exp of a thousand is infinite.",
        ),
        Wrong(
            """
            def attend(query, blocks):
                total, summed = 0.0, 0.0
                for keys, values in blocks:
                    scores = keys @ query / len(query) ** 0.5
                    shares = (scores - scores.max()).exp()
                    total = total + shares.sum()
                    summed = summed + shares @ values
                return summed / total
            """,
            says="each block's own",
            why="Sums that are relative to different peaks can't be added.",
        ),
        Wrong(
            """
            def attend(query, blocks):
                keys, values = zip(*blocks)
                keys, values = torch.cat(keys), torch.cat(values)
                return (keys @ query / len(query) ** 0.5).softmax(0) @ values
            """,
            says="still there",
            why="It keeps everything, which is what the blocks are to avoid.",
        ),
        Wrong(
            """
            def attend(query, blocks):
                peak, total, summed = torch.tensor(-math.inf, dtype=query.dtype), 0.0, 0.0
                for keys, values in blocks:
                    scores = keys @ query / len(query) ** 0.5
                    higher = torch.maximum(peak, scores.max())
                    shares = (scores - higher).exp()
                    total = total * (peak - higher).exp() + shares.sum()
                    summed = summed + shares @ values
                    peak = higher
                return summed / total
            """,
            says="scaled",
            why="The sum of the values must shrink, too.",
        ),
        Wrong(
            """
            def attend(query, blocks):
                peak, total, summed = torch.zeros((), dtype=query.dtype), 0.0, 0.0
                for keys, values in blocks:
                    scores = keys @ query / len(query) ** 0.5
                    higher = torch.maximum(peak, scores.max())
                    shrink, shares = (peak - higher).exp(), (scores - higher).exp()
                    total = total * shrink + shares.sum()
                    summed = summed * shrink + shares @ values
                    peak = higher
                return summed / total
            """,
            says="starts at 0",
            why="All scores may be far below 0. Then 0 is never the largest of them.",
        ),
        Wrong(
            """
            def attend(query, blocks):
                results = [
                    (keys @ query / len(query) ** 0.5).softmax(0) @ values for keys, values in blocks
                ]
                return torch.stack(results).mean(0)
            """,
            says="mean of the blocks' results",
            why="A block with small scores would count as much as one with large scores.",
        ),
        Wrong(
            """
            def attend(query, blocks):
                peak, total, summed = torch.tensor(-math.inf, dtype=query.dtype), 0.0, 0.0
                for keys, values in blocks:
                    scores = keys @ query
                    higher = torch.maximum(peak, scores.max())
                    shrink, shares = (peak - higher).exp(), (scores - higher).exp()
                    total = total * shrink + shares.sum()
                    summed = summed * shrink + shares @ values
                    peak = higher
                return summed / total
            """,
            says="sqrt(d)",
            why="The scores aren't scaled.",
        ),
    ]

    def check(attend):
        for d, e, sizes, factor, against in (
            (4, 3, (2, 5, 3), 1.0, 0.0),
            (9, 2, (1,), 1.0, 0.0),
            (2, 1, (4, 1, 1, 6, 2), 3.0, 0.0),
            (4, 5, (3, 3, 3, 3), 4000.0, 0.0),
            (16, 4, (1,) * 8, 60.0, 0.0),
            (4, 2, (2, 3, 2), 2000.0, 4.0),  # each score is far below 0
        ):
            query = torch.randn(d, dtype=torch.float64)
            query *= d**0.5 * factor / query.norm()
            away = -against * query / query.norm()
            blocks = [
                (
                    torch.nn.functional.normalize(
                        away + torch.randn(n, d, dtype=torch.float64).clamp(-1, 1), dim=1
                    ),
                    torch.randn(n, e, dtype=torch.float64),
                )
                for n in sizes
            ]
            keys, values = (torch.cat(parts) for parts in zip(*blocks, strict=True))
            scores = keys @ query / d**0.5
            true = scores.softmax(0) @ values
            about = f"For {len(sizes)} blocks of {', '.join(map(str, sizes))} keys, the result"
            kept = []
            came = attend(query.clone(), once(blocks, kept))
            require(not kept, "".join(kept[:1]))
            require(
                isinstance(came, torch.Tensor),
                f"attend returned {describe(came)}; return a tensor.",
            )
            require(
                came.shape == true.shape and came.dtype == true.dtype,
                f"{about} has shape {tuple(came.shape)} and {came.dtype}; expected "
                f"{tuple(true.shape)}, like a row of the values, and {true.dtype}.",
            )
            if not torch.allclose(came, true, atol=1e-9, equal_nan=True):
                require(
                    scores.max() > -500 or came.isfinite().all(),
                    f"{about} isn't finite. No score is above {scores.max():.0f}: next to a largest "
                    "score that starts at 0, exp makes all of them 0.",
                )
                require(
                    not came.isnan().any(),
                    f"{about} is nan: exp of a score of {scores.max():.0f} overflows.",
                )
                explain_blocks(came, query, blocks, about)
            expect(came, true, f"{about[0].lower()}{about[1:]}", tolerance=1e-9)


def once(blocks, kept):
    """Yield copies of the blocks, and note if those before the last are still there."""
    alive = []
    for i, (keys, values) in enumerate(blocks):
        pair = keys.clone(), values.clone()
        old = [j for j, refs in enumerate(alive[:-1]) if any(ref() is not None for ref in refs)]
        if old and not kept:
            kept.append(
                f"Block {i} was asked for, and block {old[0]} is still there: keep only the one that you work on."
            )
        alive.append([weakref.ref(x) for x in pair])
        del keys, values
        yield pair
        del pair


def explain_blocks(came, query, blocks, about):
    root = len(query) ** 0.5
    scores = [keys @ query / root for keys, _ in blocks]

    def near(result):
        return torch.allclose(came, result, atol=1e-9)

    own = [(s - s.max()).exp() for s in scores]
    sums = sum(s.sum() for s in own)
    values = [v for _, v in blocks]
    require(
        len(blocks) == 1 or not near(sum(s @ v for s, v in zip(own, values, strict=True)) / sums),
        f"{about} is wrong. Your sums are relative to each block's own largest score; bring them to one.",
    )
    each = torch.stack([s.softmax(0) @ v for s, v in zip(scores, values, strict=True)])
    require(
        len(blocks) == 1 or not near(each.mean(0)),
        f"{about} is the mean of the blocks' results. Blocks with larger scores must weigh more.",
    )
    everything = torch.cat(scores)
    unscaled = (everything * root).softmax(0) @ torch.cat(values)
    require(
        not near(unscaled),
        f"{about} is that of scores which aren't divided by sqrt(d).",
    )
    if len(blocks) > 1:
        require(
            False,
            f"{about} is {came.tolist()}; expected {(everything.softmax(0) @ torch.cat(values)).tolist()}. "
            "When the largest score changes, what was summed before must be scaled: both sums.",
        )


# ------------------------------------------------------------ the hunt
def write_with(model, ids, count, caches, first=None, again=0):
    done = 0
    with torch.no_grad():
        for _ in range(count):
            scores = model(ids[:, done:], caches, done if first is None else first)
            done = ids.shape[1] - again
            ids = torch.cat([ids, scores[:, -1:].argmax(-1)], 1)
    return ids


def right(model, ids, count):
    return write_with(model, ids, count, [Cache() for _ in model.blocks])


def forgets_places(model, ids, count):
    """New tokens all get the embedding of place 0."""
    return write_with(model, ids, count, [Cache() for _ in model.blocks], first=0)


class FirstKey(Cache):
    def append(self, keys, values):
        is_new = self.keys is None
        keys, values = super().append(keys, values)
        return (keys, values) if is_new else (keys[:, :, :1], values[:, :, :1])


def first_key_only(model, ids, count):
    """A new token sees the first key only, as with is_causal=True."""
    return write_with(model, ids, count, [FirstKey() for _ in model.blocks])


class Newest(Cache):
    def append(self, keys, values):
        is_new = self.keys is None
        keys, values = super().append(keys, values)
        return (keys, values) if is_new else (keys[:, :, :-1], values[:, :, :-1])


def not_itself(model, ids, count):
    """A new token sees all others, but not itself."""
    return write_with(model, ids, count, [Newest() for _ in model.blocks])


class Short(Cache):
    def append(self, keys, values):
        keys, values = super().append(keys, values)
        if keys.shape[2] > 16:
            self.keys, self.values = keys[:, :, -16:], values[:, :, -16:]
            return (keys, values) if keys.shape[2] > 17 else (self.keys, self.values)
        return keys, values


def short_memory(model, ids, count):
    """The cache keeps 16 tokens only."""
    return write_with(model, ids, count, [Short() for _ in model.blocks])


def stale(model, ids, count):
    """The cache of the call before with as many texts is still there."""
    kept = vars(model).setdefault("kept_caches", {})
    caches = kept.setdefault(len(ids), [Cache() for _ in model.blocks])
    return write_with(model, ids, count, caches)


class FirstRow(Cache):
    def append(self, keys, values):
        keys, values = super().append(keys, values)
        if keys.shape[2] == 1 or keys.shape[0] == 1:
            return keys, values
        return keys[:1].expand(keys.shape), values[:1].expand(values.shape)


def first_text_only(model, ids, count):
    """All texts use the keys and values of the first."""
    return write_with(model, ids, count, [FirstRow() for _ in model.blocks])


class Hunt(BugHunt):
    """Six caches with a mistake

    Write `test(write)`. It gets a function `write(model, ids, count)` that does what `model.write(ids, count)`
    does: `ids` has one row per text, and `count` tokens are appended to each, the likeliest every time. It uses a
    cache. Your test must raise if what it writes isn't what the model writes *without* a cache. One
    function is right, and six are wrong.
    You choose the model (a `GPT` of this chapter needs no training), the texts, and how often you call.
    """

    idea = "A cache for writing"
    stub = """
        def test(write):
            model = GPT(10)
            written = write(model, torch.tensor([[1]]), 3)
            assert written.shape == (1, 4)
    """
    hints = [
        "`model.write(ids, count, use_cache=False)` writes without a cache. Compare with it.",
        "A model that always writes the same letter hides every mistake. Look at what yours writes; "
        "several models, seeds and texts help.",
        "Some mistakes need two texts at once, some a long text, and one a second call with the "
        "same model.",
    ]
    solution = """
        def test(write):
            for seed in range(6):
                torch.manual_seed(seed)
                model = GPT(30)
                for texts, length in ((1, 1), (3, 5), (3, 2), (1, 20)):
                    ids = torch.randint(30, (texts, length))
                    expected = model.write(ids, 30, use_cache=False)
                    assert torch.equal(write(model, ids, 30), expected)
    """
    reason = """
        The model without a cache is the reference: slow and simple. Comparing with such a
        reference, on many inputs, finds mistakes that you would not have listed.
    """
    wrong = [
        Wrong(
            """
            def test(write):
                torch.manual_seed(0)
                model = GPT(30)
                ids = torch.randint(30, (1, 5))
                expected = model.write(ids, 10, use_cache=False)
                assert torch.equal(write(model, ids, 10), expected)
            """,
            says="of 6",
            why="One short text and one call: some mistakes can't show.",
        ),
    ]
    right = right
    bugs = [forgets_places, first_key_only, not_itself, short_memory, stale, first_text_only]


class Nucleus(Exercise):
    """Writing by chance, but not by any chance

    `write` always takes the likeliest token. Drawing from all tokens gives livelier texts, but now
    and then a token that fits nothing. The *nucleus* is in between: keep the likeliest tokens until their
    probabilities add up to `p`, and draw among these. Write `nucleus(scores, p)`. `scores` is of shape
    (texts, tokens). Return the probabilities to draw from, of the same shape and in the same order. In each
    row, only the smallest set of likeliest tokens whose probabilities (softmax of the scores) add up to at
    least `p` keeps a probability above 0, and each row adds up to 1 again. `p` is above 0
    and at most 1, and no two scores of a row are equal. `scores` must not
    be changed.
    """

    kind = "extend"
    idea = "A GPT in seventy lines"
    stub = """
        def nucleus(scores, p):
            return scores.softmax(-1)
    """
    hints = [
        "Sort the probabilities downwards, and look at their running sums (`cumsum`).",
        "A token stays if the sum of those *before* it is still below p. So the first always stays.",
        "`sort` also returns where each came from; `scatter` puts things back there.",
    ]
    solution = """
        def nucleus(scores, p):
            sorted_shares, places = scores.softmax(-1).sort(-1, descending=True)
            before = sorted_shares.cumsum(-1) - sorted_shares
            kept = sorted_shares * (before < p)
            kept = kept / kept.sum(-1, keepdim=True)
            return torch.zeros_like(scores).scatter(-1, places, kept)
    """
    reason = """
        Where the model is sure, one or two tokens remain; where it isn't, many do. A fixed number of tokens (top-k) is
        too many in the first case and too few in the second. Source: Holtzman and others, "The
        Curious Case of Neural Text Degeneration", 2020.
    """
    wrong = [
        Wrong(
            """
            def nucleus(scores, p):
                sorted_shares, places = scores.softmax(-1).sort(-1, descending=True)
                kept = sorted_shares * (sorted_shares.cumsum(-1) <= p)
                kept = kept / kept.sum(-1, keepdim=True)
                return torch.zeros_like(scores).scatter(-1, places, kept)
            """,
            says="at least p",
            why="The token that crosses p belongs to the set; without it, a sure model has none.",
        ),
        Wrong(
            """
            def nucleus(scores, p):
                sorted_shares, places = scores.softmax(-1).sort(-1, descending=True)
                before = sorted_shares.cumsum(-1) - sorted_shares
                kept = sorted_shares * (before < p)
                return kept / kept.sum(-1, keepdim=True)
            """,
            says="same order",
            why="They are still sorted.",
        ),
        Wrong(
            """
            def nucleus(scores, p):
                sorted_shares, places = scores.softmax(-1).sort(-1, descending=True)
                before = sorted_shares.cumsum(-1) - sorted_shares
                kept = sorted_shares * (before < p)
                return torch.zeros_like(scores).scatter(-1, places, kept)
            """,
            says="adds up to",
            why="What was taken away is missing.",
        ),
        Wrong(
            """
            def nucleus(scores, p):
                shares = scores.softmax(-1)
                kept = shares * (shares >= 1 - p)
                return kept / kept.sum(-1, keepdim=True)
            """,
            says="by itself",
            why="p isn't a limit for single probabilities.",
        ),
        Wrong(
            """
            def nucleus(scores, p):
                sorted_shares, places = scores.softmax(-1).sort(-1, descending=True)
                before = sorted_shares.cumsum(-1) - sorted_shares
                count = int((before < p).sum(-1).max())
                kept = sorted_shares.clone()
                kept[:, count:] = 0
                kept = kept / kept.sum(-1, keepdim=True)
                return torch.zeros_like(scores).scatter(-1, places, kept)
            """,
            says="set of its own",
            why="Each row has a set of its own.",
        ),
        Wrong(
            """
            def nucleus(scores, p):
                for row in scores:
                    order = row.argsort(descending=True)
                    shares = row.softmax(-1)[order]
                    before = shares.cumsum(-1) - shares
                    row[order[before >= p]] = -math.inf
                return scores.softmax(-1)
            """,
            says="changed",
            why="It writes into what it was given.",
        ),
    ]

    def check(nucleus):
        for texts, tokens, spread, p in (
            (3, 6, 1.0, 0.8),
            (4, 12, 3.0, 0.9),
            (1, 5, 0.3, 0.5),
            (3, 7, 6.0, 0.3),
            (2, 8, 1.0, 1.0),
            (5, 20, 2.0, 0.95),
        ):
            scores = spread * torch.randn(texts, tokens, dtype=torch.float64)
            given = scores.clone()
            came = nucleus(scores, p)
            require(torch.equal(scores, given), "nucleus has changed the scores that it was given.")
            require(
                isinstance(came, torch.Tensor),
                f"nucleus returned {describe(came)}; return a tensor.",
            )
            require(
                came.shape == scores.shape,
                f"The result has shape {tuple(came.shape)}; expected {tuple(scores.shape)}.",
            )
            compare_sizes(came, given, p)
            for row in range(texts):
                compare_row(came[row].tolist(), given[row].tolist(), p, row, texts)


def nucleus_of(scores, p):
    """Return the tokens of the smallest set, and all probabilities."""
    peak = max(scores)
    shares = [math.exp(score - peak) for score in scores]
    shares = [share / sum(shares) for share in shares]
    kept, total = set(), 0.0
    for i in sorted(range(len(shares)), key=lambda i: -shares[i]):
        if total >= p - 1e-12 and kept and p < 1:
            break
        kept.add(i)
        total += shares[i]
    return kept, shares


def compare_sizes(came, scores, p):
    """Is p a limit for each token, or the number of tokens that of the largest set in each row?"""
    sets = [nucleus_of(row.tolist(), p)[0] for row in scores]
    limited = scores.softmax(-1) >= 1 - p
    is_right = all(
        set(row.nonzero()[:, 0].tolist()) == kept for row, kept in zip(came, sets, strict=True)
    )
    require(
        is_right or limited.sum() <= len(scores) or not torch.equal(came != 0, limited),
        f"nucleus with p={p}: p isn't a limit for each probability by itself. Add them up from the largest on.",
    )
    have = {int((row != 0).sum()) for row in came}
    wanted = {len(kept) for kept in sets}
    require(
        len(wanted) == 1 or have != {max(wanted)},
        f"nucleus with p={p} keeps {max(have)} tokens of every text, and {sorted(wanted)} are right: each has a "
        "set of its own.",
    )


def compare_row(came, scores, p, row, texts):
    kept, shares = nucleus_of(scores, p)
    total = sum(shares[i] for i in kept)
    true = [share / total if i in kept else 0.0 for i, share in enumerate(shares)]
    if all(math.isclose(a, b, abs_tol=1e-9) for a, b in zip(came, true, strict=True)):
        return
    about = f"nucleus with p={p}, row {row} of {texts}:"
    require(
        not all(math.isnan(x) for x in came),
        f"{about} it's nan. The smallest set adds up to at least p, so it has at least one token.",
    )
    require(
        not all(
            math.isclose(a, b, abs_tol=1e-9)
            for a, b in zip(came, sorted(true, reverse=True), strict=True)
        ),
        f"{about} the numbers are right, but sorted. Return them in the same order as the scores.",
    )
    have = {i for i, x in enumerate(came) if x != 0}
    if have == kept:
        require(
            math.isclose(sum(came), 1, abs_tol=1e-9),
            f"{about} it adds up to {sum(came):.4f}; each row adds up to 1.",
        )
        require(False, f"{about} the kept tokens have {came}; expected {true}.")
    require(
        not (have < kept and len(have) == len(kept) - 1),
        f"{about} {len(have)} tokens are kept, and {len(kept)} are right: they must add up to at least p.",
    )
    require(
        False,
        f"{about} {len(have)} tokens are kept, and {len(kept)} are right for this row, which are the likeliest ones.",
    )
