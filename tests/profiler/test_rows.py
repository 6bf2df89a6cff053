"""Which rows a profile has, compared with PyTorch's for ten programs: names, input shapes and counts."""

import pytest

import tensorlab
import tensorlab.profiler
import tensorlab.utils.data
from tests.oracle import require_torch
from tests.profiler.programs import PROGRAMS, recorded, rows_of

# ---------------------------------------------------------------- where ops are made of other ops
# Rows that only PyTorch has: what its ops call, and ours do in their kernels.
INSIDE = {
    "aten::_local_scalar_dense": "item reads the number itself",
    "aten::_log_softmax": "part of cross_entropy",
    "aten::_log_softmax_backward_data": "part of cross_entropy_backward",
    "aten::_softmax": "softmax computes it itself",
    "aten::_to_copy": "a number stays a number: it is no tensor that is converted",
    "aten::addmm": "linear multiplies and adds itself",
    "aten::as_strided": "views are made without a call of another op",
    "aten::broadcast_tensors": "the loss checks its shapes itself",
    "aten::cat": "stack joins by itself",
    "aten::clamp_min": "relu computes it itself",
    "aten::copy_": "clone, linear and conversions write by themselves",
    "aten::div_": "the mean's derivative divides by a number",
    "aten::empty": "results get memory without a call of another op",
    "aten::empty_like": "results get memory without a call of another op",
    "aten::empty_strided": "results get memory without a call of another op",
    "aten::fill_": "reductions begin with a number in their kernel",
    "aten::log_softmax": "part of cross_entropy",
    "aten::narrow": "narrow is slice",
    "aten::nll_loss": "part of cross_entropy",
    "aten::nll_loss_backward": "part of cross_entropy_backward",
    "aten::nll_loss_forward": "part of cross_entropy",
    "aten::nll_loss_nd": "part of cross_entropy",
    "aten::ones_like": "the gradient of the loss is made by full",
    "aten::reshape": "reductions read any layout",
    "aten::resize_": "results get memory without a call of another op",
    "aten::resolve_conj": "bits are resolved in front of a kernel, without a call",
    "aten::t": "a transposed matrix is read as it lies",
    "aten::to": "a number stays a number: it is no tensor that is converted",
    "aten::unsqueeze": "stack joins by itself",
    "aten::zero_": "results begin with 0 in their kernel",
    "aten::zeros_like": "results begin with 0 in their kernel",
    "detach": "detach is one op",
    "LogSoftmaxBackward0": "cross_entropy is one node",
    "TBackward0": "linear is one node for both factors",
    "autograd::engine::evaluate_function: LogSoftmaxBackward0": "cross_entropy is one node",
    "autograd::engine::evaluate_function: TBackward0": "linear is one node for both factors",
}
# Rows that only tensorlab has.
OURS = {
    "aten::full": "the gradient of the loss, which PyTorch makes by ones_like",
    "aten::sum_to_size": "what was broadcast in forward, which PyTorch sums by sum",
    "tensorlab::cross_entropy_backward": "softmax and negative log-likelihood as one derivative",
    "tensorlab::tensor": "the indices of a batch become a tensor",
    "tensorlab::sgd_step_": "one op for all parameters, where PyTorch calls add_ for each",
    "MeanBackward0": "the mean of a loss is a node of its own",
    "autograd::engine::evaluate_function: MeanBackward0": "the mean of a loss is a node of its own",
}
# (program, row): rows that both have, with other counts or shapes.
OTHERWISE = {
    (
        "backward",
        "aten::sum",
    ): "sum over all is sum.dim_IntList without dims, which has two parameters more",
    (
        "loading",
        "aten::random_",
    ): "random_ is random_.from without bounds, which has two parameters more",
    ("loading", "aten::index_select"): "takes the rows of a TensorDataset at once",
    ("loading", "aten::select"): "PyTorch takes each sample of a TensorDataset",
    ("loading", "aten::stack"): "and stacks them",
    ("loading", "aten::view"): "PyTorch's stack makes views; nothing else does there",
    (
        "network",
        "NllLossBackward0",
    ): "this node has two gradients: of the loss, and of the saved softmax",
    ("network", "aten::expand"): "PyTorch's addmm expands the bias",
    ("network", "aten::sum"): "PyTorch sums the gradient of a bias; sum_to_size here",
    ("network", "aten::transpose"): "PyTorch's t calls transpose, in forward and for TBackward0",
    ("reductions", "aten::view"): "PyTorch's argmax over all makes the tensor flat",
    ("training", "MseLossBackward0"): "the mean has come before, with a gradient for each element",
    ("training", "aten::add_"): "SGD adds in one op; PyTorch's adds are of SGD",
    ("training", "aten::detach"): "the first gradient is kept as it is, where nothing else has it",
    ("training", "aten::div"): "the mean's derivative",
    (
        "training",
        "aten::expand",
    ): "PyTorch's addmm expands the bias; the mean's derivative expands here",
    ("training", "aten::mean"): "mean over all is mean.dim without dims, and the loss calls it",
    (
        "training",
        "aten::mse_loss_backward",
    ): "reduction is not a parameter, as the mean is a node of its own",
    ("training", "aten::sum"): "PyTorch sums the gradient of a bias; sum_to_size here",
    ("training", "aten::transpose"): "PyTorch's t calls transpose, in forward and for TBackward0",
    ("backward", "aten::detach"): "the first gradient is kept as it is, where nothing else has it",
}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_rows_are_pytorchs_except_where_an_op_is_made_otherwise(program):
    theirs, ours = rows_of(require_torch(), program), rows_of(tensorlab, program)
    for name in theirs.keys() | ours.keys():
        if (program.__name__, name) in OTHERWISE:
            assert theirs.get(name) != ours.get(name), f"{name} is no difference any more"
        elif (name in INSIDE and name not in ours) or (name in OURS and name not in theirs):
            continue
        else:
            assert ours.get(name) == theirs.get(name), name


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_rows_that_both_have_come_in_the_same_order_by_count(program):
    counted = []
    for torch in (require_torch(), tensorlab):
        rows = recorded(torch, program).key_averages()
        counted.append({row.key: row.count for row in rows})
    theirs, ours = counted
    both = [name for name in ours if theirs.get(name) == ours[name]]
    otherwise = {name for where, name in OTHERWISE if where == program.__name__}
    assert set(ours) & set(theirs) - set(both) <= otherwise
    ranks = [sorted(both, key=lambda name: (-counts[name], name)) for counts in counted]
    assert ranks[0] == ranks[1]
    assert len(both) >= 4
