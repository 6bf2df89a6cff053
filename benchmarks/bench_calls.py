"""Which calls take longer than PyTorch's? Of 240, the slowest ratios first.

python benchmarks/bench_calls.py [ROWS [LINES]]

The tensors have ROWS rows of 128 numbers (64 unless given). A call whose ratio is above 1
here is the next to look at, whether or not a larger benchmark has it. Ratios swing by a
tenth; run twice before you believe one.
"""

import statistics
import sys

from comparing import best_seconds, loop_of, modules

POINTWISE = """
abs acos acosh angle asin asinh atan atanh ceil cos cosh deg2rad digamma erf erfc erfinv exp
exp2 expm1 floor frac i0 isfinite isnan lgamma log log10 log1p log2 logit neg reciprocal relu
round rsqrt sigmoid sgn sign signbit sin sinc sinh sqrt square tan tanh trunc nan_to_num
"""
OF_TWO = """
add sub mul div pow atan2 fmod remainder maximum minimum fmax copysign hypot logaddexp
logaddexp2 nextafter eq lt floor_divide heaviside logical_and xlogy
"""
ACTIVATIONS = """
celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu6 selu
silu softplus softshrink softsign tanhshrink
"""
OF_INTEGERS = """
add sub mul floor_divide remainder maximum bitwise_and bitwise_left_shift eq gcd pow
"""
CALLS = """
x + b; x * c; x - 1; 1 / x; x / 3; x ** 2; x ** 0.5; x.clamp(0, 1); x.clamp_min(0)
T.where(m, x, y); T.where(m, x, 0.0); x.masked_fill(m, 0); m & m; ~m; x.lerp(y, 0.5)
T.addcmul(x, x, y); x.add_(0.0); x.mul_(1.0); x.copy_(y); x.clone(); x.double(); i.float()
x.long(); h + h; h * 2; h.float(); h.sum(1); F.softmax(h, 1); x.sum(); x.sum(0); x.sum(1)
x.mean(1, keepdim=True); x.var(1); x.std(0); x.max(); x.max(1); x.max(0); x.argmax(1)
x.amax(1); x.norm(); x.norm(dim=1); x.prod(1); x.cumsum(0); x.cumsum(1); x.cumprod(1)
x.cummax(1); m.any(1); m.all(); x.logsumexp(1); F.softmax(x, 1); F.softmax(x, 0)
F.log_softmax(x, 1); F.cross_entropy(x, t); F.mse_loss(x, y); F.l1_loss(x, y)
F.layer_norm(x, (128,)); F.normalize(x, dim=1); F.cosine_similarity(x, y)
T.cdist(x[:32], y[:32]); x.sort(1); x.sort(0); x.argsort(1); x.topk(5, 1); x.median(1)
x.quantile(0.5, dim=1); x.unique(); i.unique(); T.searchsorted(b.sort()[0], x)
T.bucketize(x, b.sort()[0]); T.histc(x, 10); T.bincount(i[:, 0]); T.nonzero(m); x.flip(0)
x.flip(1); x.roll(1, 1); x.t().contiguous(); x.t().reshape(-1); T.cat([x, y], 0)
T.cat([x, y], 1); T.stack([x, y], 0); T.stack([x, y], 2); x.chunk(4, 1); x.repeat(2, 2)
x.repeat_interleave(2, 0); x.tril(); x.diag(); x[r]; x[:, r]; x[m]; x[r, r]; x.gather(1, i)
x.scatter_add(1, i, y); x.index_select(0, r); x.index_add(0, r, y); F.embedding(t, y)
F.one_hot(t, 128); T.arange(1000); T.linspace(0, 1, 1000); T.zeros(64, 64); T.ones(64, 64)
T.rand(64, 64); T.randn(64, 64); T.randint(0, 10, (64, 64)); T.randperm(1000)
F.dropout(x, 0.5); x @ w; F.linear(x, v); x @ b; x.t() @ x; T.outer(b, b)
T.einsum('ij,jk->ik', x, w); T.bmm(s, s.transpose(1, 2)); T.addmm(b[:64], x, w); T.dot(b, b)
T.fft.rfft(x); T.linalg.inv(q); T.linalg.solve(q, q); T.linalg.svdvals(q); F.conv2d(g, k)
F.conv2d(g, k, padding=1, stride=2); F.conv1d(s, d); F.max_pool2d(g, 2); F.avg_pool2d(g, 2)
F.max_pool1d(s, 2); F.adaptive_avg_pool2d(g, 1); F.interpolate(g, scale_factor=2)
F.unfold(g, 3); F.group_norm(g, 4); F.interpolate(g, scale_factor=2, mode='bilinear')
F.pad(g, (1, 1, 1, 1)); F.pad(g, (1, 1, 1, 1), mode='reflect')
F.scaled_dot_product_attention(s, s, s)
F.scaled_dot_product_attention(s, s, s, is_causal=True); (z * 2).sum().backward()
(z @ w).sum().backward(); F.relu(z).sum().backward(); F.softmax(z, 1).sum().backward()
F.layer_norm(z, (128,)).sum().backward(); F.cross_entropy(z, t).backward()
"""


def statements():
    """All calls, as text."""
    found = [f"T.{name}(x)" for name in POINTWISE.split()]
    found += [f"T.{name}(x, y)" for name in OF_TWO.split()]
    found += [f"T.{name}(x.double(), y.double())" for name in ("pow", "logaddexp", "atan2")]
    found += [f"F.{name}(x)" for name in ACTIVATIONS.split()]
    found += [f"T.{name}(i, j)" for name in OF_INTEGERS.split()]
    calls = [call.strip() for call in CALLS.replace("\n", ";").split(";")]
    return found + [call for call in calls if call]


def operands(T, rows):
    """The names that the calls use."""
    T.manual_seed(0)
    F, some = T.nn.functional, max(1, rows // 8)
    x, y = T.rand(rows, 128) * 0.9 + 0.05, T.rand(rows, 128) * 0.9 + 0.05
    m, h, z = x > 0.5, x.bfloat16(), x.clone().requires_grad_()
    b, c, w, v = T.randn(128), T.randn(rows, 1), T.randn(128, 64), T.randn(64, 128)
    i, j = T.randint(0, 100, (rows, 128)), T.randint(1, 5, (rows, 128))
    t, r = T.randint(0, min(rows, 128), (rows,)), T.randint(0, min(rows, 128), (rows,))
    s, d, q = T.randn(some, 8, 128), T.randn(16, 8, 3), T.randn(16, 16) + 4 * T.eye(16)
    g, k = T.randn(some, 8, 16, 16), T.randn(8, 8, 3, 3)
    return locals()


def least_seconds(statement, scopes):
    """Of tensorlab and of PyTorch, by turns."""
    loops = [loop_of(statement, scope) for scope in scopes]
    rounds = [[best_seconds(loop, 0.004) for loop in loops] for _ in range(3)]
    return [min(times) for times in zip(*rounds, strict=True)]


if __name__ == "__main__":
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 64
    lines = int(sys.argv[2]) if len(sys.argv) > 2 else 25
    scopes = [operands(T, rows) for T in modules()]
    found = []
    for statement in statements():
        ours, theirs = least_seconds(statement, scopes)
        found.append((ours / theirs, 1e6 * ours, statement))
    mean = statistics.geometric_mean(ratio for ratio, _, _ in found)
    print(f"{len(found)} calls, geometric mean {mean:.3f}")
    print(f"above 1: {sum(ratio > 1 for ratio, _, _ in found)}; the largest {lines}:")
    for ratio, us, statement in sorted(found, reverse=True)[:lines]:
        print(f"{ratio:7.2f} {us:10.2f} us  {statement}")
