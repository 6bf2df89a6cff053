"""One check of gradcheck: the function, its inputs, and the comparison of two Jacobians.

Slow mode compares whole Jacobians: the one from moving every element of every input, the other from backward with every
unit vector.  Fast mode compares one number of each: v·(J u) from moving the input along a random direction u, and
(v·J) u from backward with a random vector v.  That costs two calls and one backward however large the tensors are, but
one wrong entry of many can drown in the tolerance.
"""

import warnings

from tensorlab._core.random import Generator
from tensorlab._tensor import Tensor
from tensorlab.autograd import backward_rules
from tensorlab.autograd.mismatch import is_close, mismatch
from tensorlab.autograd.numerical import (
    FLOAT64,
    Evaluation,
    as_tuple,
    is_floating,
    numerical_jacobian,
    numerical_slope,
)
from tensorlab.errors import GradcheckError, MemoryLayoutError
from tensorlab.ops.random_factories import rand

BY_FORWARD_MODE = "computed with forward mode "


class Check:
    """A function, the inputs at which it is checked, how closely, and what things are called in reports.

    `leaves` are the inputs that require grad, `outputs` the results that do: pairs (position, tensor), the position
    among all arguments or results.
    """

    def __init__(
        self,
        func,
        inputs,
        title,
        input_names=None,
        output_names=None,
        *,
        eps,
        atol,
        rtol,
        nondet_tol,
        check_undefined_grad,
        check_grad_dtypes,
        check_batched_grad,
        check_backward_ad,
        check_forward_ad,
        check_batched_forward_grad,
        fast_mode,
        masked,
    ):
        self.func, self.inputs, self.title = func, as_tuple(inputs), title
        self.input_names = input_names or [f"input {i}" for i in range(len(self.inputs))]
        self.output_names = output_names
        self.eps, self.atol, self.rtol, self.nondet_tol = eps, atol, rtol, nondet_tol
        self.check_undefined_grad, self.check_grad_dtypes = check_undefined_grad, check_grad_dtypes
        self.check_batched_grad, self.fast_mode = check_batched_grad, fast_mode
        self.check_backward_ad, self.check_forward_ad = check_backward_ad, check_forward_ad
        self.check_batched_forward_grad, self.masked = check_batched_forward_grad, masked
        self.generator = Generator()  # of its own: the user's stream stays where it is
        self.leaves = self.checked_inputs()
        self.forward()

    def checked_inputs(self):
        """The inputs to differentiate by, once they are such that this can be done."""
        leaves = [
            (position, x)
            for position, x in enumerate(self.inputs)
            if isinstance(x, Tensor) and x.requires_grad
        ]
        if not leaves:
            raise ValueError(
                f"{self.title}: none of the {len(self.inputs)} inputs requires grad; call requires_grad_() on "
                f"those that are to be checked"
            )
        for position, x in leaves:
            if x.dtype is not FLOAT64:
                warnings.warn(
                    f"{self.title}: {self.input_names[position]} is {x.dtype}; finite differences are that "
                    f"precise in float64 only, and the check will likely fail",
                    stacklevel=5,
                )
            if any(step == 0 < size - 1 for step, size in zip(x.stride(), x.shape, strict=True)):
                raise MemoryLayoutError(
                    f"{self.title}: {self.input_names[position]} has a dimension with stride 0, so that its "
                    f"elements cannot be moved one by one; call .contiguous() on it before"
                )
        return leaves

    def forward(self):
        """Call the function, and note its differentiable results."""
        results = as_tuple(self.func(*self.inputs))
        for position, result in enumerate(results):
            if not isinstance(result, Tensor):
                raise TypeError(
                    f"{self.title}: result {position} of the function is of type {type(result).__name__}; "
                    f"a Tensor or a tuple of Tensors is needed"
                )
        self.outputs = [(i, result) for i, result in enumerate(results) if result.requires_grad]
        self.floating = [i for i, result in enumerate(results) if is_floating(result)]
        return [result for _, result in self.outputs]

    def output_name(self, position):
        return self.output_names[position] if self.output_names else f"output {position}"

    @property
    def tensors(self):
        return [x for _, x in self.leaves]

    @property
    def leaf_names(self):
        return [self.input_names[position] for position, _ in self.leaves]

    def evaluation(self, positions=None):
        if positions is None:
            positions = [position for position, _ in self.outputs]
        return Evaluation(self.func, self.inputs, positions)

    # ------------------------------------------------------------ the two modes
    def slow(self):
        """Compare all entries of all Jacobians."""
        backward = []
        if self.check_backward_ad:
            backward = [self.analytical(output) for _, output in self.outputs]
        for leaf, (position, x) in enumerate(self.leaves):
            numerical = numerical_jacobian(self.evaluation(), x, self.eps)
            self.compare(leaf, [rows[leaf] for rows in backward], numerical)
            if self.check_forward_ad:
                self.compare(leaf, self.pushed(position), numerical, BY_FORWARD_MODE)

    def compare(self, leaf, analytical, numerical, how=""):
        """Raise at the first output whose Jacobians by a leaf differ; `how` says where the analytical ones are from."""
        for output, (one, other) in enumerate(zip(analytical, numerical, strict=False)):
            if not is_close(one, other, self.atol, self.rtol).all().item():
                raise self.report(output, leaf, one, other, how)

    def pushed(self, position):
        return _forward_rules().forward_jacobian(self.func, self.inputs, position, self.outputs)

    def fast(self):
        """Compare v J u for one random u of each input and one random v of each output, both of length 1."""
        along = [self.direction(x) for x in self.tensors]
        across = [self.direction(output) for _, output in self.outputs]
        backward = [
            self.analytical(output, vector) if self.check_backward_ad else None
            for (_, output), vector in zip(self.outputs, across, strict=True)
        ]
        for leaf, (position, x) in enumerate(self.leaves):
            u = along[leaf]
            slopes = numerical_slope(self.evaluation(), x, u, self.eps)
            pushed = [None] * len(slopes)
            if self.check_forward_ad:
                pushed = _forward_rules().tangents(
                    self.func, self.inputs, {position: u}, self.outputs
                )
            for output, (slope, tangent) in enumerate(zip(slopes, pushed, strict=True)):
                v = across[output].double().reshape(-1)
                numerical = v.dot(slope.double())
                # atol is meant for one entry: errors of atol in every entry add up to this.
                atol = self.atol * u.sum().item() * v.sum().item()
                ways = []
                if self.check_backward_ad:
                    rows = backward[output][leaf].reshape(-1)
                    ways.append((rows.dot(u.double().reshape(-1)), ""))
                if self.check_forward_ad:
                    ways.append((v.dot(tangent.detach().double().reshape(-1)), BY_FORWARD_MODE))
                for analytical, how in ways:
                    if not is_close(analytical, numerical, atol, self.rtol).item():
                        raise self.fast_report(
                            output, leaf, analytical.item(), numerical.item(), how
                        )

    def direction(self, x):
        """Random numbers of no sign, in the shape of x, of length 1."""
        vector = rand(x.numel(), generator=self.generator, dtype=x.dtype)
        return (vector / vector.norm()).view(x.shape)

    def analytical(self, output, vector=None):
        """What backward says twice over: rows for each element of the output, or the one for `vector`."""
        both = []
        for _ in range(2):
            if vector is None:
                matrices, strange = backward_rules.analytical_jacobian(output, self.tensors)
            else:
                matrices, strange = backward_rules.analytical_product(output, self.tensors, vector)
            both.append(matrices)
        if self.check_grad_dtypes:
            backward_rules.check_dtypes(strange, self.tensors, self.leaf_names, self.title)
        for first, second in zip(*both, strict=True):
            backward_rules.check_deterministic(first, second, self.nondet_tol, self.title)
        return both[0]

    def constant(self):
        """Without differentiable outputs, none may change with an input."""
        for name, (_, x) in zip(self.leaf_names, self.leaves, strict=True):
            matrices = numerical_jacobian(self.evaluation(self.floating), x, self.eps)
            for output, matrix in zip(self.floating, matrices, strict=True):
                if matrix.numel() and (matrix.abs().max() > self.nondet_tol).item():
                    raise GradcheckError(
                        f"{self.title}: numerical gradient for function expected to be zero: no output requires "
                        f"grad, but {self.output_name(output)} changes with {name}, by up to "
                        f"{backward_rules.largest(matrix)!r} per unit"
                    )

    # ------------------------------------------------------------ reports
    def heading(self, output, leaf, how):
        position, _ = self.outputs[output]
        return (
            f"{self.title}: Jacobian {how}mismatch for {self.output_name(position)} with respect to "
            f"{self.leaf_names[leaf]}"
        )

    def report(self, output, leaf, analytical, numerical, how):
        position, tensor = self.outputs[output]
        return mismatch(
            self.heading(output, leaf, how),
            (self.output_name(position), tensor),
            (self.leaf_names[leaf], self.tensors[leaf]),
            analytical,
            numerical,
            self.evaluation([position]),
            self,
        )

    def fast_report(self, output, leaf, analytical, numerical, how):
        """Look for the entry in slow mode; where all are close, say that too."""
        position, tensor = self.outputs[output]
        if how:
            whole = self.pushed(self.leaves[leaf][0])[output]
        else:
            whole = backward_rules.analytical_jacobian(tensor, self.tensors)[0][leaf]
        (slow,) = numerical_jacobian(self.evaluation([position]), self.tensors[leaf], self.eps)
        seen = f"fast mode, v J u:\n  numerical:  {numerical!r}\n  analytical: {analytical!r}"
        if is_close(whole, slow, self.atol, self.rtol).all().item():
            return GradcheckError(
                f"{self.heading(output, leaf, how)}\n{seen}\nEntry by entry the differences are small: "
                f"fast_mode=False might pass."
            )
        report = self.report(output, leaf, whole, slow, how)
        return GradcheckError(f"{report}\n{seen}")

    # ------------------------------------------------------------ all of it
    def run(self):
        """Make every comparison; raise GradcheckError at the first that fails."""
        if not self.outputs:
            self.constant()
            return
        if self.fast_mode:
            self.fast()
        else:
            self.slow()
        if self.check_batched_forward_grad:
            for name, (position, _) in zip(self.leaf_names, self.leaves, strict=True):
                _forward_rules().check_batched_tangents(
                    self.func,
                    self.inputs,
                    position,
                    self.outputs,
                    self.generator,
                    name,
                    self.title,
                )
        if self.check_forward_ad and self.check_undefined_grad:
            _forward_rules().check_missing_tangents(
                self.func,
                self.inputs,
                [position for position, _ in self.leaves],
                self.outputs,
                self.generator,
                self.leaf_names,
                self.title,
            )
        if not self.check_backward_ad:
            return
        outputs = [output for _, output in self.outputs]
        named = {"names": self.leaf_names, "what": self.title}
        if self.check_batched_grad:
            for output in outputs:
                backward_rules.check_batched(output, self.tensors, self.generator, **named)
        backward_rules.check_zeros(outputs, self.tensors, masked=self.masked, **named)
        if self.check_undefined_grad:
            backward_rules.check_missing(self.forward, self.tensors, **named)


def _forward_rules():
    """The module of forward mode, which is imported when a check first needs it."""
    from tensorlab.autograd import forward_rules

    return forward_rules
