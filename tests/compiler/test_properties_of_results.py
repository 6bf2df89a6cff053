"""What a program can see of results and arguments besides their values is the same after a replay."""

import pytest

import tensorlab as torch
from tensorlab import nn

pytestmark = [pytest.mark.usefixtures("fresh"), pytest.mark.filterwarnings("ignore:compile")]


def address(x):
    return x.untyped_storage().data_ptr()


def facts_of_argument(x):
    return {
        "version": None if x.is_inference() else x._version,
        "requires_grad": x.requires_grad,
        "is_leaf": x.is_leaf,
        "has a node": x.grad_fn is not None,
        "attributes": dict(x.__dict__),
        "shape": tuple(x.shape),
        "has a gradient": x.is_leaf and x.grad is not None,
    }


def facts_of_result(one, args):
    if not isinstance(one, torch.Tensor):
        return one
    return {
        **facts_of_argument(one),
        "class": type(one),
        "is_inference": one.is_inference(),
        "is a view": one._is_view(),
        "of argument": [i for i, x in enumerate(args) if one._is_view() and one._base is x],
        "strides": one.stride(),
        "offset": one.storage_offset(),
        "bytes": one.untyped_storage().nbytes(),
        "is argument": [i for i, x in enumerate(args) if one is x],
        "shares with": [i for i, x in enumerate(args) if address(one) == address(x)],
        "retains_grad": one.retains_grad,
    }


def facts(result, args):
    parts = list(result) if isinstance(result, (tuple, list)) else [result]
    tensors = [one for one in parts if isinstance(one, torch.Tensor)]
    pairs = [(i, j) for i in range(len(tensors)) for j in range(i)]
    return (
        type(result),
        [facts_of_result(one, args) for one in parts],
        [facts_of_argument(x) for x in args],
        [pair for pair in pairs if tensors[pair[0]] is tensors[pair[1]]],
        [pair for pair in pairs if address(tensors[pair[0]]) == address(tensors[pair[1]])],
    )


# ------------------------------------------------------------------------------------------------ programs
def sets_an_attribute(x):
    y = x + 1
    y.tag = "a"
    return y


def sets_an_attribute_of_the_argument(x):
    x.tag = "a"
    return x + 1


def made_in_inference_mode(x):
    with torch.inference_mode():
        return x * 2


def made_outside_of_inference_mode(x):
    with torch.inference_mode(False):
        return x + 1


def enables_grad_mode(x):
    with torch.enable_grad():
        return x * 2, x.t()


def writes_twice(x):
    x.add_(1)
    x.mul_(2)
    return x * 3


def writes_to_parts(x):
    x[0].add_(1)
    x[1] = 3
    x[0] += 1
    return x * 3


def writes_itself(x):
    x.copy_(x)
    return x * 1


def writes_and_returns(x):
    x.add_(1).mul_(2)
    return x, x[0], x.t()


def writes_to_what_it_makes(x):
    y = x.detach() * 2
    y.add_(1)
    y[0].mul_(3)
    return y, y.view(-1), torch.empty(2).fill_(1)


def returns_the_argument(x):
    return [x, x, x.contiguous(), x.to(torch.float32), x.view(2, 2)]


def returns_parts_of_one(x):
    y = x + 1
    return y, y, y[0], y.t()


def views_of_the_argument(x):
    return x.t(), x[0], x.split(1)[1], x.detach(), x.expand(3, 2, 2), x.flatten()


def without_grad(x):
    with torch.no_grad():
        return x * 2, x.t()


def asks_for_a_gradient(x):
    return (x * 2).detach().requires_grad_()


def makes_a_parameter(x):
    return nn.Parameter(x.detach() * 2)


def makes_a_constant_parameter(x):
    return nn.Parameter(x.detach() * 2, requires_grad=False)


def makes_a_buffer(x):
    return nn.Buffer(x.detach() * 2)


def retains_a_gradient(x):
    y = x * 2
    if y.requires_grad and not y.is_leaf:
        y.retain_grad()
    return y


def assigns_a_gradient(x):
    x.grad = torch.ones(2, 2)
    return x * 2


PROGRAMS = [
    sets_an_attribute,
    sets_an_attribute_of_the_argument,
    made_in_inference_mode,
    made_outside_of_inference_mode,
    enables_grad_mode,
    writes_twice,
    writes_to_parts,
    writes_itself,
    writes_and_returns,
    writes_to_what_it_makes,
    returns_the_argument,
    returns_parts_of_one,
    views_of_the_argument,
    without_grad,
    asks_for_a_gradient,
    makes_a_parameter,
    makes_a_constant_parameter,
    makes_a_buffer,
    retains_a_gradient,
    assigns_a_gradient,
]


def plain():
    return torch.arange(4.0).reshape(2, 2).clone()


def view():
    return torch.arange(8.0)[2:6].view(2, 2)


def leaf():
    return plain().requires_grad_()


def not_a_leaf():
    return leaf() * 1


def of_inference_mode():
    with torch.inference_mode():
        return plain()


MODES = [torch.enable_grad, torch.no_grad, torch.inference_mode]


def outcome(function, make, mode):
    with mode():
        x = make()
        try:
            return facts(function(x), [x])
        except RuntimeError as error:
            return str(error)


@pytest.mark.parametrize("make", [plain, view, leaf, not_a_leaf, of_inference_mode])
@pytest.mark.parametrize("program", PROGRAMS)
def test_results_and_arguments_are_as_without_the_compiler(program, make):
    for mode in MODES:
        is_followed = mode is torch.enable_grad and make in (leaf, not_a_leaf)
        expected = outcome(program, make, mode)
        for options in ({}, {"options": {"code": False}}, {"backend": "eager"}):
            compiled = torch.compile(program, **options)
            for _ in range(3):
                found = outcome(compiled, make, mode)
                assert comparable(found, is_followed) == comparable(expected, is_followed), (
                    mode,
                    options,
                )


def comparable(found, is_followed):
    """Where backward is compiled, a result made inside is no view, and its version does not count writes inside."""
    if not is_followed or isinstance(found, str):
        return found
    kind, results, *rest = found
    lost = "version", "is a view"
    return (
        kind,
        [
            one
            if one["is argument"] or one["shares with"]
            else {name: fact for name, fact in one.items() if name not in lost}
            for one in results
        ],
        *rest,
    )


def test_programs_that_write_are_replayed():
    for program in (writes_twice, writes_to_parts, writes_itself, writes_to_what_it_makes):
        compiled = torch.compile(program)
        for _ in range(3):
            compiled(plain())
        assert compiled.compiled.counts["replayed"] == 2, program


def test_saved_tensors_notice_what_a_replay_writes():
    @torch.compile
    def write(x):
        x.add_(1)
        x.mul_(2)

    x = torch.ones(2)
    for _ in range(3):
        w = torch.ones(2, requires_grad=True)
        y = (w * x).sum()
        write(x)
        with pytest.raises(RuntimeError, match="version 2|in.place|changed"):
            y.backward()
        x = torch.ones(2)


def test_versions_of_each_branch_are_its_own():
    @torch.compile
    def program(x):
        if x.sum() > 0:
            x.add_(1)
        else:
            x.add_(1)
            x.mul_(2)

    for _ in range(3):
        for value, version in ((1.0, 1), (-1.0, 2)):
            x = torch.full((2,), value)
            program(x)
            assert x._version == version
    assert program.compiled.counts["replayed"] == 4


def test_recordings_are_made_again_when_hooks_of_all_modules_are_gone():
    handle = nn.modules.module.register_module_full_backward_hook(lambda *_: None)
    handle.remove()
    compiled = torch.compile(nn.Linear(2, 2))
    for _ in range(3):
        compiled(torch.ones(1, 2))
    assert compiled.forward.compiled.counts["replayed"] == 2
