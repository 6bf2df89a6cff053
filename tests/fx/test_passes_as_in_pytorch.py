"""Interpreter, Transformer and every pass do to a program what they do to it in PyTorch; see programs.py."""

import importlib
from itertools import product

import pytest

import tensorlab
from tensorlab import fx
from tests.cases import by_day
from tests.fx.programs import PROGRAMS, filled, numbers
from tests.fx.test_tracing_as_in_pytorch import assert_alike, made, plain
from tests.fx.texts import describe, without_package
from tests.oracle import require_torch


def both(action, name):
    """What an action on (package, its fx, traced program, arguments) gives here and in PyTorch."""
    results = []
    for T in (tensorlab, require_torch()):
        root, args, kwargs = made(name, T)
        T_fx = importlib.import_module(f"{T.__name__}.fx")
        results.append(action(T, T_fx, T_fx.symbolic_trace(root), args, kwargs))
    return results


POSITIONAL = [
    name for name in PROGRAMS if name not in ("stars", "keyword_only_arguments", "a_dict_of_inputs")
]


@pytest.mark.parametrize("name", POSITIONAL)
def test_the_interpreter_gives_what_the_module_gives(name):
    root, args, _ = made(name, tensorlab)
    traced = fx.symbolic_trace(root)
    for collect in (True, False):
        interpreter = fx.Interpreter(traced, garbage_collect_values=collect)
        assert_alike(plain(interpreter.run(*args)), plain(traced(*args)))
    assert len(interpreter.env) == len(traced.graph.nodes)


@pytest.mark.parametrize("name", PROGRAMS)
def test_dead_code_that_does_nothing_goes(name):
    def action(T, T_fx, traced, args, kwargs):
        changed = traced.graph.eliminate_dead_code(
            lambda node: node.op in ("placeholder", "output")
        )
        traced.recompile()
        return changed, describe(traced.graph), without_package(traced.code)

    ours, theirs = both(action, name)
    assert ours == theirs


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "writing_in_place"])
def test_dead_code_is_what_it_is_in_pytorch(name):
    def action(T, T_fx, traced, args, kwargs):
        return traced.graph.eliminate_dead_code(), describe(traced.graph)

    ours, theirs = both(action, name)
    assert ours == theirs


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_transformer_that_changes_nothing_gives_the_same_graph(name):
    def action(T, T_fx, traced, args, kwargs):
        transformed = T_fx.Transformer(traced).transform()
        transformed.graph.lint()
        return describe(transformed.graph), without_package(transformed.code.partition("def")[2])

    ours, theirs = both(action, name)
    assert ours == theirs


@pytest.mark.parametrize("name", POSITIONAL)
def test_shapes_are_noted_as_in_pytorch(name):
    def action(T, T_fx, traced, args, kwargs):
        shape_prop = importlib.import_module(f"{T_fx.__name__}.passes.shape_prop")
        shape_prop.ShapeProp(traced).propagate(*args)
        noted = [
            (node.name, node.meta.get("tensor_meta"), node.meta["type"])
            for node in traced.graph.nodes
        ]
        return [
            tuple(without_package(str(part)).replace("package", "") for part in one)
            for one in noted
        ]

    ours, theirs = both(action, name)
    assert [one[:2] for one in ours] == [one[:2] for one in theirs]


def part_by_name(node):
    return len(node.name) % 3


def part_by_place(node):
    return sum(1 for other in node.graph.nodes if other < node) // 4


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("callback", [part_by_name, part_by_place])
@pytest.mark.parametrize("name", POSITIONAL)
def test_a_module_is_split_as_in_pytorch(name, callback, keep):
    def action(T, T_fx, traced, args, kwargs):
        split_module = importlib.import_module(f"{T_fx.__name__}.passes.split_module").split_module
        names = {}
        try:
            split = split_module(
                traced,
                None,
                callback,
                names,
                keep_original_order=keep,
                keep_original_node_name=keep,
            )
        except (RuntimeError, KeyError):  # a circle, or an order in which something is missing
            return "refused"
        split.graph.lint()
        parts = [
            (name, describe(part.graph))
            for name, part in split.named_children()
            if hasattr(part, "graph")
        ]
        return describe(split.graph), parts, names, plain(split(*args))

    ours, theirs = both(action, name)
    assert_alike(plain(ours), plain(theirs))


# ---------------------------------------------------------------- rewriting
def rewrites(T):
    """Pairs of pattern and replacement."""
    F = T.nn.functional
    return {
        "an operator": (lambda a, b: a + b, lambda a, b: T.sub(a, b)),
        "a number": (lambda a: a * 2, lambda a: a + a),
        "another number": (lambda a: a * 3, lambda a: a),
        "a chain": (lambda a, b: (a * b) + 1, lambda a, b: T.relu(a)),
        "two results": (lambda a: (a + 1, a * 2), lambda a: (a * 2, a + 1)),
        "a method": (lambda a: a.sum(), lambda a: a.mean() * 4),
        "one value twice": (lambda a: a * a, lambda a: a**2),
        "nothing changes": (lambda a, b: T.matmul(a, b), lambda a, b: a @ b),
        "an item": (lambda a, i: a[i], lambda a, i: T.relu(a[i])),
        "a function": (lambda a: T.relu(a), lambda a: F.relu(a) + T.ones(1)[0]),
    }


# By day each program and each rewrite are tried three or four times.
@pytest.mark.parametrize(
    "case", by_day(product(PROGRAMS, rewrites(tensorlab)), every=3), ids=" ".join
)
def test_patterns_are_replaced_as_in_pytorch(case):
    name, rewrite = case

    def action(T, T_fx, traced, args, kwargs):
        pattern, replacement = rewrites(T)[rewrite]
        replacement = T_fx.symbolic_trace(replacement)
        try:
            matches = T_fx.replace_pattern(traced, pattern, replacement)
        except KeyError:  # there, if one of two results is nowhere in the graph
            matches = []
        traced.graph.lint()
        found = [
            (match.anchor.name, [(one.name, str(other)) for one, other in match.nodes_map.items()])
            for match in matches
        ]
        return found, describe(traced.graph), without_package(traced.code)

    ours, theirs = both(action, name)
    assert ours == theirs


def test_filters_and_callbacks_choose_matches_and_replacements():
    def program(T):
        return lambda x: T.relu(x + 1) + T.relu(x + 2) + 3

    def action(T):
        T_fx = importlib.import_module(f"{T.__name__}.fx")
        rewriter = importlib.import_module(f"{T.__name__}.fx.subgraph_rewriter")
        traced = T_fx.symbolic_trace(program(T))
        found = rewriter.replace_pattern_with_filters(
            traced,
            lambda x: T.relu(x + 5),
            lambda x: x * 10,
            [lambda match, graph, pattern: match.placeholder_nodes[0].op == "placeholder"],
            ignore_literals=True,
        )
        again = rewriter.replace_pattern_with_filters(
            traced,
            lambda x, y: x + y,
            replacement_callback=lambda match, graph, pattern: (
                T_fx.symbolic_trace(
                    (lambda a, b: a - b) if len(match.nodes_map) == 3 else (lambda a, b: a)
                ).graph
            ),
        )
        names = [[node.name for node in one.replacements] for one in found + again]
        return names, without_package(traced.code), str(traced.graph)

    assert action(tensorlab) == action(require_torch())


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
def test_a_convolution_takes_in_its_batch_norm_as_in_pytorch():
    def action(T):
        T_fx = importlib.import_module(f"{T.__name__}.fx")
        fuse = importlib.import_module(f"{T.__name__}.fx.experimental.optimization").fuse
        net = T.nn.Sequential(
            T.nn.Conv2d(1, 2, 3),
            T.nn.BatchNorm2d(2),
            T.nn.ReLU(),
            T.nn.Conv2d(2, 2, 1),
            T.nn.BatchNorm2d(2),
        )
        fused = fuse(filled(T, net).eval())
        assert isinstance(fused, T_fx.GraphModule)
        return describe(fused.graph), plain(fused(numbers(T, 1, 1, 4, 4)))

    ours, theirs = action(tensorlab), action(require_torch())
    assert ours[0] == theirs[0]
    assert_alike(ours[1], theirs[1])
