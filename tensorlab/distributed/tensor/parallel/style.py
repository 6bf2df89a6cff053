"""Styles: how a module's parameters, inputs and outputs are placed for tensor parallel.

    ColwiseParallel    a Linear whose result is cut: each rank has some of the outputs
    RowwiseParallel    a Linear whose input is cut: each rank has some of the inputs, and the
    results
                       are added over the ranks
    SequenceParallel   a norm or dropout, on parts of the sequence

A column-wise Linear and a row-wise one after it need one all-reduce together: what lies between
is cut, and stays so.
"""

import abc

from tensorlab._tensor import Tensor
from tensorlab.distributed.tensor.modules import distribute_module, distribute_parameter
from tensorlab.distributed.tensor.placement_types import Placement, Replicate, Shard
from tensorlab.distributed.tensor.tensors import DTensor
from tensorlab.nn.embedding import Embedding
from tensorlab.nn.linear import Linear

__all__ = [
    "ColwiseParallel",
    "ParallelStyle",
    "PrepareModuleInput",
    "PrepareModuleInputOutput",
    "PrepareModuleOutput",
    "RowwiseParallel",
    "SequenceParallel",
]


class ParallelStyle(abc.ABC):
    """The base of all styles: `_apply(module, device_mesh)` changes a module.

    Attributes
    ----------
    src_data_rank : int or None, whose values of the parameters count; see `distribute_tensor`
    """

    src_data_rank: int | None = 0

    @abc.abstractmethod
    def _apply(self, module, device_mesh):
        """Change a module, and return it."""

    def described(self, names):
        """Return a repr that shows some attributes."""
        return f"{type(self).__name__}({', '.join(f'{one}={getattr(self, one)}' for one in names)})"


def one_layout(layout, default, where):
    """Return a layout as a tuple of one placement."""
    layout = default if layout is None else layout
    if not isinstance(layout, Placement):
        raise TypeError(
            f"{where}: a layout is {layout!r}; expected a Placement, such as Replicate()"
        )
    return (layout,)


def as_dtensor(x, mesh, layout, where):
    """Return what a module is given as a DTensor."""
    if isinstance(x, DTensor):
        return x
    if not isinstance(x, Tensor):
        raise ValueError(
            f"{where}: expecting an input that is a Tensor or a DTensor, but got {x!r}"
        )
    return DTensor.from_local(x, mesh, layout)


class LinearStyle(ParallelStyle):
    """What ColwiseParallel and RowwiseParallel share."""

    default_input: Placement = Replicate()
    default_output: Placement = Replicate()

    def __init__(self, *, input_layouts=None, output_layouts=None, use_local_output=True):
        name = type(self).__name__
        self.input_layouts = one_layout(input_layouts, self.default_input, name)
        self.output_layouts = one_layout(output_layouts, self.default_output, name)
        self.use_local_output = use_local_output

    def __repr__(self):
        return self.described(("input_layouts", "output_layouts", "use_local_output"))

    def placements_of(self, module):
        """Return the placement of the input, and those of the parameters by name."""
        raise NotImplementedError

    def _apply(self, module, device_mesh):
        if not isinstance(module, (Linear, Embedding)):
            raise NotImplementedError(
                f"{type(self).__name__} currently only support nn.Linear and nn.Embedding! The "
                f"module is a {type(module).__name__}; give its parts a style each"
            )
        wanted, placements = self.placements_of(module)

        def partition(name, part, mesh):
            for name, placement in placements.items():
                distribute_parameter(part, name, mesh, [placement], self.src_data_rank)

        def prepare(owner, inputs, mesh):
            x = as_dtensor(inputs[0], mesh, self.input_layouts, type(self).__name__)
            return x.redistribute(placements=[wanted])

        def finish(owner, out, mesh):
            out = out.redistribute(placements=self.output_layouts)
            return out.to_local() if self.use_local_output else out

        return distribute_module(module, device_mesh, partition, prepare, finish)


class ColwiseParallel(LinearStyle):
    """Cut a Linear by its outputs, or an Embedding by its columns.

    Parameters
    ----------
    input_layouts : Placement, how the input is placed; Replicate() by default
    output_layouts : Placement, how the result is to be placed; by default Shard(-1), as it is
    use_local_output : bool, whether the result is this rank's part, a Tensor, or a DTensor

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import distributed as dist, nn
    >>> from tensorlab.distributed.tensor.parallel import parallelize_module
    >>> def half(rank):
    ...     mesh = dist.init_device_mesh("cpu", (2,))
    ...     layer = parallelize_module(nn.Linear(4, 6), mesh, ColwiseParallel())
    ...     return layer(tensorlab.ones(1, 4)).shape
    >>> dist.threads.spawn(half, nprocs=2)[0]
    tensorlab.Size([1, 3])
    """

    default_output: Placement = Shard(-1)

    def placements_of(self, module):
        if isinstance(module, Linear):
            return Replicate(), {"weight": Shard(0), "bias": Shard(0)}
        return Replicate(), {"weight": Shard(1)}


class RowwiseParallel(LinearStyle):
    """Cut a Linear by its inputs, or an Embedding by its rows; the results are added over the
    ranks.

    Parameters
    ----------
    input_layouts : Placement, how the input is placed; Shard(-1) by default
    output_layouts : Placement, how the result is to be placed; by default Replicate(), by an
        all-reduce. A Shard needs a reduce-scatter
    use_local_output : bool, whether the result is this rank's part, a Tensor, or a DTensor

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import distributed as dist, nn
    >>> from tensorlab.distributed.tensor.parallel import parallelize_module
    >>> def both(rank):
    ...     mesh = dist.init_device_mesh("cpu", (2,))
    ...     plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
    ...     net = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))
    ...     return parallelize_module(net, mesh, plan)(tensorlab.ones(1, 4)).shape
    >>> dist.threads.spawn(both, nprocs=2)[0]
    tensorlab.Size([1, 2])
    """

    default_input: Placement = Shard(-1)

    def placements_of(self, module):
        if isinstance(module, Linear):
            return Shard(-1), {"weight": Shard(1), "bias": Replicate()}
        return Replicate(), {"weight": Shard(0)}


class SequenceParallel(ParallelStyle):
    """Replicate a module's parameters, and run it on parts of the sequence: for LayerNorm, RMSNorm
    and Dropout.

    Parameters
    ----------
    sequence_dim : int, the dimension of the input that is cut
    use_local_output : bool, whether the result is this rank's part, a Tensor, or a DTensor
    """

    def __init__(self, *, sequence_dim=1, use_local_output=False):
        self.sequence_dim, self.use_local_output = sequence_dim, use_local_output
        self.sequence_sharding = (Shard(sequence_dim),)

    def __repr__(self):
        return self.described(("sequence_dim", "use_local_output"))

    def _apply(self, module, device_mesh):
        def partition(name, part, mesh):
            for name in list(part._parameters):
                distribute_parameter(part, name, mesh, [Replicate()], self.src_data_rank)

        def prepare(owner, inputs, mesh):
            x = as_dtensor(inputs[0], mesh, self.sequence_sharding, "SequenceParallel")
            return x.redistribute(placements=self.sequence_sharding)

        def finish(owner, out, mesh):
            return out.to_local() if self.use_local_output else out

        return distribute_module(module, device_mesh, partition, prepare, finish)


def several(layouts):
    """Return layouts as a tuple, of one or several; None stays."""
    return (layouts,) if isinstance(layouts, Placement) else layouts


class PrepareModuleInput(ParallelStyle):
    """Bring a module's inputs to the placements that it wants.

    Parameters
    ----------
    input_layouts : Placement or tuple of Placement and None, how the inputs are placed; None
        stands for one that isn't touched
    desired_input_layouts : Placement or tuple, as many
    input_kwarg_layouts, desired_input_kwarg_layouts : dict of str to Placement, of arguments
        that are given by name
    use_local_output : bool, whether the module gets this rank's parts, or DTensors

    Raises
    ------
    ValueError
        If the two differ in number.
    """

    def __init__(
        self,
        *,
        input_layouts=None,
        desired_input_layouts=None,
        input_kwarg_layouts=None,
        desired_input_kwarg_layouts=None,
        use_local_output=False,
    ):
        self.input_layouts = several(input_layouts)
        self.desired_input_layouts = several(desired_input_layouts)
        self.input_kwarg_layouts = input_kwarg_layouts or {}
        self.desired_input_kwarg_layouts = desired_input_kwarg_layouts or {}
        self.use_local_output = use_local_output
        check_pairs("input", self.input_layouts, self.desired_input_layouts)
        if input_kwarg_layouts is not None:
            check_pairs("input_kwarg", self.input_kwarg_layouts, self.desired_input_kwarg_layouts)

    def __repr__(self):
        return self.described(
            ("input_layouts", "desired_input_layouts", "input_kwarg_layouts",
             "desired_input_kwarg_layouts", "use_local_output")
        )  # fmt: skip

    def _apply(self, module, device_mesh):
        def prepare(owner, inputs, named):
            if self.input_layouts is not None:
                inputs = converted(
                    "module inputs and input_layouts", inputs, device_mesh, self.input_layouts,
                    self.desired_input_layouts, self.use_local_output,
                )  # fmt: skip
            return inputs, {
                name: placed(x, device_mesh, self.input_kwarg_layouts.get(name),
                             self.desired_input_kwarg_layouts.get(name), self.use_local_output)
                for name, x in named.items()
            }  # fmt: skip

        module.register_forward_pre_hook(prepare, with_kwargs=True)
        return module


class PrepareModuleOutput(ParallelStyle):
    """Bring a module's outputs to the placements that come after it.

    Parameters
    ----------
    output_layouts : Placement or tuple of Placement and None, how the outputs are placed
    desired_output_layouts : Placement or tuple, as many
    use_local_output : bool, whether they become this rank's parts, or DTensors

    Raises
    ------
    ValueError
        If the two differ in number.
    """

    def __init__(self, *, output_layouts, desired_output_layouts, use_local_output=True):
        self.output_layouts = several(output_layouts)
        self.desired_output_layouts = several(desired_output_layouts)
        self.use_local_output = use_local_output
        check_pairs("output", self.output_layouts, self.desired_output_layouts)

    def __repr__(self):
        return self.described(("output_layouts", "desired_output_layouts", "use_local_output"))

    def _apply(self, module, device_mesh):
        def finish(owner, inputs, out):
            outputs = converted(
                "module outputs and output_layouts", out if isinstance(out, tuple) else (out,),
                device_mesh, self.output_layouts, self.desired_output_layouts, self.use_local_output,
            )  # fmt: skip
            return outputs[0] if len(outputs) == 1 else outputs

        module.register_forward_hook(finish)
        return module


class PrepareModuleInputOutput(ParallelStyle):
    """PrepareModuleInput and PrepareModuleOutput in one.

    Parameters
    ----------
    use_local_input : bool, whether the module gets this rank's parts; for the others see the
        two
    """

    def __init__(
        self,
        *,
        input_layouts=None,
        desired_input_layouts=None,
        input_kwarg_layouts=None,
        desired_input_kwarg_layouts=None,
        use_local_input=False,
        output_layouts,
        desired_output_layouts,
        use_local_output=True,
    ):
        self.prepare_module_input = PrepareModuleInput(
            input_layouts=input_layouts,
            desired_input_layouts=desired_input_layouts,
            input_kwarg_layouts=input_kwarg_layouts,
            desired_input_kwarg_layouts=desired_input_kwarg_layouts,
            use_local_output=use_local_input,
        )
        self.prepare_module_output = PrepareModuleOutput(
            output_layouts=output_layouts,
            desired_output_layouts=desired_output_layouts,
            use_local_output=use_local_output,
        )

    def __repr__(self):
        return self.described(("prepare_module_input", "prepare_module_output"))

    def _apply(self, module, device_mesh):
        self.prepare_module_input._apply(module, device_mesh)
        return self.prepare_module_output._apply(module, device_mesh)


def check_pairs(kind, given, desired):
    """Raise ValueError unless there are as many desired layouts as layouts."""
    if given is not None and (desired is None or len(given) != len(desired)):
        raise ValueError(
            f"{kind}_layouts and desired_{kind}_layouts should have same length! They are "
            f"{given} and {desired}"
        )


def converted(what, values, mesh, layouts, desired, use_local):
    """Return values, each brought from a layout to a desired one."""
    if len(values) != len(layouts):
        raise ValueError(
            f"{what} should have same length! There are {len(values)} and {len(layouts)}"
        )
    return tuple(
        placed(x, mesh, layout, wanted, use_local)
        for x, layout, wanted in zip(values, layouts, desired, strict=True)
    )


def placed(x, mesh, layout, wanted, use_local):
    """Return a value brought from a layout to a desired one; without a layout, as it is."""
    if layout is None:
        return x
    x = as_dtensor(x, mesh, (layout,), "parallel style")
    if wanted is not None and wanted != layout:
        x = x.redistribute(placements=[wanted])
    return x.to_local() if use_local else x
