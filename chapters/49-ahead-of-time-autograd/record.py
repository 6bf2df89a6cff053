"""Record what chapter 49 shows of PyTorch, and of a compiler that takes zeros for missing gradients: `make record`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
import recording


def in_pytorch(name):
    """Return a program of the chapter as it runs in PyTorch."""
    text = (HERE / name).read_text(encoding="utf-8")
    return text.replace("import tensorlab as torch", "import torch, torch.fx")


SAVED = """
import json, warnings
warnings.simplefilter("ignore")
import torch._functorch.config as config
from functorch.compile import (
    aot_function, default_partition, make_boxed_func, min_cut_rematerialization_partition
)

def saved_bytes(name, partition):
    '''What forward returns after its first result, inputs and views of them aside.'''
    graphs = []

    def keep(module, examples):
        graphs.append(module)
        return make_boxed_func(module.forward)

    aot_function(PROGRAMS[name][0], keep, keep, partition_fn=partition)(*leaves(name))
    nodes = graphs[0].graph.output_node().args[0][1:]
    storages = {}
    for node in nodes:
        while node.op == "call_function" and "detach" in str(node.target):
            node = node.args[0]
        source = node
        while source.op == "call_function" and str(source.target) in ("aten.t.default", "aten.view.default"):
            source = source.args[0]
        if source.op != "placeholder":
            value = source.meta["val"]
            storages[source.name] = value.numel() * value.element_size()
    return storages

found = {}
for name in PROGRAMS:
    found[name] = {"all": saved_bytes(name, default_partition),
                   "cut": saved_bytes(name, min_cut_rematerialization_partition)}
    with config.patch(aggressive_recomputation=True):
        found[name]["aggressive"] = saved_bytes(name, min_cut_rematerialization_partition)
print(json.dumps(found))
"""
UNUSED = """
import json, warnings
warnings.simplefilter("ignore")
import torch

def two(a, b):
    return a.sqrt(), b.exp()

def shown(grad):
    return None if grad is None else [str(value) for value in grad.tolist()]

found = {}
for name, function in (("eager", two), ("compiled", torch.compile(two, backend="aot_eager"))):
    found[name] = []
    for used in range(2):
        a = torch.tensor([0.0, 4.0], requires_grad=True)
        b = torch.tensor([0.0, 1.0], requires_grad=True)
        function(a, b)[used].sum().backward()
        found[name].append([shown(a.grad), shown(b.grad)])
print(json.dumps(found))
"""
HEADS = """
import json, warnings
warnings.simplefilter("ignore")
forms = {"eager": lambda model: model, "compiled": torch.compile}
print(json.dumps({name: train(form)[-1] for name, form in forms.items()}))
"""
TWICE = """
import json
import torch

x = torch.ones(2, requires_grad=True)
(first,) = torch.autograd.grad(torch.compile(torch.sin, backend="aot_eager")(x).sum(), x, create_graph=True)
try:
    first.sum().backward()
except RuntimeError as error:
    print(json.dumps(str(error)))
"""
TINY = """
import json
import torch

def cube(x):
    s = x * x
    t = s + 1
    return t * x

graph = joint_graph(cube)
x = torch.tensor([1.0, 2.0, 3.0, 4.0])
found = {}
for name, saved in {"all": read_by_backward(graph), "x": graph.find_nodes(op="placeholder")[:1]}.items():
    forward, backward = split(graph, saved)
    result, *kept = forward(x)
    (gradient,) = backward(*kept, torch.ones(4))
    found[name] = [result.tolist(), gradient.tolist(), backward.code]
print(json.dumps(found))
"""
RANDOM = """
import json, warnings
import tensorlab
from tensorlab.compiler import program
from tensorlab.compiler.build import output_of
from tests.compiler.random_programs import Program

warnings.simplefilter("ignore")
shipped = program.Differentiable.backward_for

# As it was at first: the whole backward, with zeros for the tangents that are missing.
def zeros(self, given):
    return self.pieces[1].plan, program.places_of(output_of(self.whole.backward))

# As it was then: what is missing is left out of the graph that the passes have made.
def after_passes(self, given):
    self.backward = self.whole.backward
    return shipped(self, given)

# A random program as the source of a function, which can be recorded.
def function_of(seed):
    one = Program(seed)
    lines = ["def f(a, b, c):", "    t = [a, b, c]"]
    for text, at, other, grad in one.instructions:
        lines += [
            f"    x, y = t[{at}], t[{other}]",
            f"    with tensorlab.set_grad_enabled({grad}):",
            f"        value = {text}",
            "    if value is not None:",
            "        t.append(value)",
        ]
    lines.append(f"    return [{', '.join(f't[{i}]' for i in one.returned)}]")
    names = {"tensorlab": tensorlab}
    exec("\\n".join(lines), names)
    return names["f"], one.inputs()

# The gradients of one of the results; None if no result has a history.
def gradients(function, inputs, use):
    tensorlab.manual_seed(use)
    leaves = [x.detach().clone().requires_grad_() for x in inputs]
    results = [y for y in function(*[x * 1 for x in leaves]) if y.grad_fn is not None]
    if not results:
        return None
    return tensorlab.autograd.grad(results[use % len(results)].sum(), leaves, allow_unused=True)

def same(one, other):
    if one is None or other is None:
        return one is other
    return tensorlab.allclose(one, other, 1e-4, 1e-5)

forms = {"zeros": zeros, "after the passes": after_passes, "shipped": shipped}
found = {"programs": 2000, "replayed": 0, "differ": dict.fromkeys(forms, 0)}
for seed in range(found["programs"]):
    function, inputs = function_of(seed)
    try:
        expected = gradients(function, inputs, seed)
    except RuntimeError:
        continue  # a saved value was written
    if expected is None or any(x is not None and not x.isfinite().all() for x in expected):
        continue
    for name, way in forms.items():
        program.Differentiable.backward_for = way
        compiled = tensorlab.compile(function, backend="aot_eager")
        gradients(compiled, inputs, seed)
        replayed = gradients(compiled, inputs, seed)
        found["replayed"] += name == "shipped" and compiled.compiled.counts["replayed"] > 0
        found["differ"][name] += not all(map(same, expected, replayed))
print(json.dumps(found))
"""

if __name__ == "__main__":
    recording.write(
        HERE / "recorded.json",
        {
            "saved": recording.run_json(in_pytorch("programs.py") + SAVED),
            "unused": recording.run_json(UNUSED),
            "heads": recording.run_json(in_pytorch("two_heads.py") + HEADS),
            "twice": recording.run_json(TWICE),
            "random": recording.run_json(RANDOM),
            "tiny": recording.run_json(in_pytorch("tiny_joint.py") + TINY),
        },
    )
