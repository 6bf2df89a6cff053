"""Random custom functions: what a function does is drawn once, then done with PyTorch and with tensorlab.

A program makes three leaves and one to three functions. Each takes some of the tensors there are, may write to them,
and returns new tensors, arguments, views of them, masks and other things in any order. All that can be seen is noted:
flags, versions, what backward is given and finds saved, what hooks get, and the gradients of the leaves.
"""

import random
import warnings
from dataclasses import dataclass

import pytest

import tensorlab
from tests.ops.agreement import is_close, visible
from tests.oracle import require_torch

BLOCK = 150  # programs in a test


@dataclass
class Plan:
    """What one function does; numbers are places of arguments and of results."""

    written: list  # arguments written to and marked dirty
    writes: list  # how, for each argument
    results: list  # (kind, argument)
    constant: list  # results marked as not differentiable
    materializes: bool
    saved: list  # ("argument" or "result", place)
    blind: list  # whether backward returns None, for each argument
    weights: list  # for each argument, what backward weighs each result's gradient with


VIEWS = (lambda t: t.view(2), lambda t: t[:], lambda t: t.view_as(t), lambda t: t.detach())
KINDS = {
    "new": lambda x: x * 3,
    "argument": lambda x: x,
    "view": lambda x: x.view(2),
    "none": lambda x: None,
    "text": lambda x: "text",
    "mask": lambda x: x > 0,
}


def draw_plan(source, count):
    """The plan of a function of `count` arguments."""
    places = range(count)
    written = [i for i in places if source.random() < 0.35]
    results = [
        (source.choice(list(KINDS)), source.randrange(count)) for _ in range(source.randint(1, 3))
    ]
    for i in written:  # what is written must be returned; sometimes it is not, which is refused
        if ("argument", i) not in results and source.random() < 0.9:
            results.insert(source.randrange(len(results) + 1), ("argument", i))
    numbers = range(len(results))
    return Plan(
        written=written,
        writes=[source.choice(["in place", "not at all", "unseen"]) for _ in places],
        results=results,
        constant=[k for k in numbers if source.random() < 0.12],
        materializes=source.random() < 0.7,
        saved=[("argument", i) for i in places if source.random() < 0.3]
        + [("result", k) for k in numbers if source.random() < 0.3],
        blind=[source.random() < 0.15 for _ in places],
        weights=[[source.randint(1, 5) for _ in numbers] for _ in places],
    )


def brief(value):
    """A tensor's values and flag."""
    return (value.tolist(), value.requires_grad) if hasattr(value, "tolist") else value


def make_function(M, plan, note):
    class Drawn(M.autograd.Function):
        @staticmethod
        def forward(ctx, *arguments):
            for i in plan.written:
                if plan.writes[i] == "in place":
                    arguments[i].mul_(i + 2)
                elif plan.writes[i] == "unseen":
                    arguments[i].data.add_(1)
            results = [KINDS[kind](arguments[i]) for kind, i in plan.results]
            written = [arguments[i] for i in plan.written]
            ctx.mark_dirty(*written)
            ctx.set_materialize_grads(plan.materializes)
            for one in [results[k] for k in plan.constant]:  # what is written is refused here
                if isinstance(one, M.Tensor) and not any(one is other for other in written):
                    ctx.mark_non_differentiable(one)
            saved = [arguments[i] if kind == "argument" else results[i] for kind, i in plan.saved]
            ctx.save_for_backward(
                *[one for one in saved if one is None or isinstance(one, M.Tensor)]
            )
            return results[0] if len(results) == 1 else tuple(results)

        @staticmethod
        def backward(ctx, *grads):
            note("backward", [brief(grad) for grad in grads], ctx.needs_input_grad)
            try:
                note("saved", [brief(one) for one in ctx.saved_tensors])
            except RuntimeError:
                note("a saved tensor was changed")
            returned = []
            for blind, weights in zip(plan.blind, plan.weights, strict=True):
                terms = [w * g for w, g in zip(weights, grads, strict=True) if g is not None]
                returned.append(None if blind or not terms else sum(terms))
            return tuple(returned)

    return Drawn


def run(M, seed):
    """The notes of program `seed`."""
    source, notes = random.Random(seed), []

    def note(*facts):
        notes.append(visible(facts))

    leaves = [
        M.tensor([i + 1.0, 2.0 * i - 1], dtype=M.float64, requires_grad=source.random() < 0.85)
        for i in range(3)
    ]
    live = [leaf * 1 if source.random() < 0.7 else leaf for leaf in leaves]
    try:
        for _ in range(source.randint(1, 3)):
            arguments = [source.choice(live) for _ in range(source.randint(1, 3))]
            arguments = [
                source.choice(VIEWS)(one) if source.random() < 0.3 else one for one in arguments
            ]
            plan = draw_plan(source, len(arguments))
            for i in (
                plan.written
            ):  # PyTorch mixes up the gradients of a written view that is not the first argument
                if arguments[i]._is_view() and (i > 0 or plan.blind[i]):
                    arguments[i] = arguments[i] * 1
            function = make_function(M, plan, note)
            with M.set_grad_enabled(source.random() < 0.92):
                results = function.apply(*arguments)
            results = results if isinstance(results, tuple) else (results,)
            tensors = [one for one in results if isinstance(one, M.Tensor)]
            for one in tensors:
                same = [one is argument for argument in arguments]
                note(one, one.is_leaf, one.output_nr if one.requires_grad else 0, same)
            note("arguments", [(brief(one), one._version) for one in arguments])
            made = [one for one in tensors if one.dtype == M.float64]
            live += made
            if made and source.random() < 0.3:
                source.choice(made).mul_(2)
            if made and source.random() < 0.3 and made[0].requires_grad:
                made[0].register_hook(lambda grad: note("hook", brief(grad)))
        total = sum((i + 1) * one.sum() for i, one in enumerate(live))
        if source.random() < 0.3:
            wanted = [leaf for leaf in leaves if leaf.requires_grad]
            gradients = M.autograd.grad(total, wanted, create_graph=True, allow_unused=True)
            note("gradients", [brief(one) for one in gradients])
        else:
            total.backward()
    except RuntimeError:
        note("refused")
    note("leaves", [brief(leaf.grad) for leaf in leaves])
    return notes


def is_same(theirs, ours):
    """Are the notes the same? Of two programs that are refused, up to where one of them is.

    (That a view lost its history, because its base was written, is noticed at one use of it or at another.)
    """
    if theirs[-2] == ours[-2] == ["refused"]:
        count = min(len(theirs), len(ours)) - 2
        theirs, ours = theirs[:count], ours[:count]
    return is_close(ours, theirs, 1e-12)


@pytest.mark.parametrize("block", range(4))
def test_random_functions_do_what_pytorchs_do(block):
    torch = require_torch()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(block * BLOCK, (block + 1) * BLOCK):
            theirs, ours = run(torch, seed), run(tensorlab, seed)
            assert is_same(theirs, ours), f"seed {seed}\n  PyTorch {theirs}\n  ours    {ours}"
