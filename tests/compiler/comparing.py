"""Compare what compiled functions give with what the functions give."""

import copy

import tensorlab as torch


def equal(x, y):
    """Whether two results are alike to the last bit, nan included."""
    if isinstance(x, torch.Tensor):
        return (
            isinstance(y, torch.Tensor)
            and (x.dtype, x.shape, x.stride()) == (y.dtype, y.shape, y.stride())
            and x.requires_grad == y.requires_grad
            and bool(((x == y) | ((x != x) & (y != y))).all())
        )
    if isinstance(x, (tuple, list)):
        return type(x) is type(y) and len(x) == len(y) and all(map(equal, x, y))
    if isinstance(x, dict):
        return list(x) == list(y) and all(equal(x[key], y[key]) for key in x)
    return type(x) is type(y) and (x == y or (x != x and y != y))


def clones(args):
    return [
        one.detach().clone().requires_grad_(one.requires_grad)
        if isinstance(one, torch.Tensor)
        else copy.deepcopy(one)
        for one in args
    ]


def follow(function, *calls, replays=None, **options):
    """Call a function and its compiled form: results, arguments afterwards and random numbers must agree."""
    compiled = torch.compile(function, **options)
    for args in calls:
        mine, others = clones(args), clones(args)
        torch.manual_seed(7)
        expected = function(*mine)
        after = torch.rand(1)
        torch.manual_seed(7)
        found = compiled(*others)
        assert torch.equal(torch.rand(1), after), "the generator is elsewhere"
        assert equal(found, expected), f"{found} instead of {expected}"
        assert equal(others, mine), f"the arguments are {others} afterwards instead of {mine}"
    if replays is not None:
        assert compiled.compiled.counts["replayed"] == replays, compiled.compiled.counts
    return compiled.compiled
