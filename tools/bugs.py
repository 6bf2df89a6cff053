"""The bugs that planted_bugs.py plants: one replacement in one file each."""

import dataclasses


@dataclasses.dataclass
class Bug:
    """One replacement in one file."""

    name: str
    file: str
    old: str
    new: str


BUGS = [
    Bug(
        "broadcast not summed back",
        "tensorlab/_core/engine/engine.pyx",
        "grad = grad.sum_to_size(make_size(metadata.ndim, metadata.sizes))",
        "grad = grad.as_strided(make_size(metadata.ndim, metadata.sizes), (0,) * metadata.ndim)",
    ),
    Bug(
        "a gradient overwrites the one that waits",
        "tensorlab/_core/engine/engine.pyx",
        "    if waiting is None:\n        gradients[i] = grad",
        "    if True:\n        gradients[i] = grad",
    ),
    Bug(
        "accumulation lost: = for +=",
        "tensorlab/_core/graph/accumulate_grad.pyx",
        "            variable.gradient.add_(new)",
        "            variable.gradient = alias(new)",
    ),
    Bug(
        "a view gets a counter of its own",
        "tensorlab/_core/tensor.pyx",
        "    out.counter = x.counter\n",
        "    out.counter = VersionCounter.__new__(VersionCounter)\n",
    ),
    Bug(
        "a stale view keeps its old node",
        "tensorlab/_core/graph/graph.pyx",
        "    if x.counter.value != x.view_version:",
        "    if False:",
    ),
    Bug(
        "in-place does not count a version",
        "tensorlab/_core/dispatch/recording.pyx",
        "    bump_version(x)\n    if node is not None:",
        "    if node is not None:",
    ),
    Bug(
        "the offset of a view is forgotten in its base's history",
        "tensorlab/_core/graph/inplace.pyx",
        "    slices.view_offset = (x.data_ - x.storage_.address) - (base.data_ - base.storage_.address)",
        "    slices.view_offset = 0",
    ),
    Bug(
        "a node owns the output it saves",
        "tensorlab/_core/graph/saved.pyx",
        "        saved.tensor = alias_of_class(x)",
        "        saved.tensor = x",
    ),
    Bug(
        "retain_graph is ignored",
        "tensorlab/_core/engine/engine.pyx",
        "            if not task.keep_graph:\n",
        "            if True:\n",
    ),
    Bug(
        "a node runs before all its gradients are there",
        "tensorlab/_core/engine/engine.pyx",
        "            if task.dependencies[slot] == 0:\n                ready.push(next_node)",
        "            if task.dependencies[slot] <= 1 and next_node not in ready.nodes:\n"
        "                ready.push(next_node)",
    ),
    Bug(
        "in-place on a leaf is allowed",
        "tensorlab/_core/graph/inplace.pyx",
        '    if needs_grad(x) and grad_fn_of(x) is None:\n        raise GradientError(f"{op}: a leaf',
        '    if False:\n        raise GradientError(f"{op}: a leaf',
    ),
    Bug(
        "merging dimensions that do not continue one another",
        "tensorlab/_core/loops/loop_nest.pxd",
        "            if strides[k][last] != strides[k][i] * sizes[i]:",
        "            if k == 0 and strides[k][last] != strides[k][i] * sizes[i]:",
    ),
    Bug(
        "the view rule forgets to end a chunk",
        "tensorlab/_core/layout.pyx",
        "        if i == 0 or (sizes[i - 1] != 1 and "
        "strides[i - 1] != chunk_count * chunk_stride):",
        "        if i == 0:",
    ),
    Bug(
        "the derivative of tanh forgets the chain rule",
        "tensorlab/ops/pointwise/elementary.pyx",
        'scalar={"inexact": "grad * ((T)1 - y * y)"}',
        'scalar={"inexact": "(T)1 - y * y"}',
    ),
    Bug(
        "a copy over itself is not read first",
        "tensorlab/ops/copying.pyx",
        "        if out.data_ < x_end and x.data_ < out_end:",
        "        if False:",
    ),
    Bug(
        "an exported buffer does not pin its storage",
        "tensorlab/_core/interop/arrays.pyx",
        "    x.storage_.exports += 1",
        "    x.storage_.exports += 0",
    ),
]

# ---------------------------------------------------------------- hooks, saved tensors, functions, passes
HOOKS_AND_FUNCTIONS = [
    Bug(
        "a packed leaf loses its gradient",
        "tensorlab/_core/graph/saved.pyx",
        "            self.edge = gradient_edge(mine)",
        "            self.edge = None",
    ),
    Bug(
        "a packed tensor is unpacked without its history",
        "tensorlab/_core/graph/saved.pyx",
        "            out.node = edge\n            out.output_number = number",
        "            out.node = edge\n            out.output_number = 0",
    ),
    Bug(
        "prehooks run in the wrong order",
        "tensorlab/_core/engine/node_hooks.pyx",
        "    for function in list(node.extras.prehooks.values()):",
        "    for function in list(node.extras.prehooks.values())[::-1]:",
    ),
    Bug(
        "what a posthook returns is ignored",
        "tensorlab/_core/engine/node_hooks.pyx",
        '        out = checked_tuple(call_with_overrides(function, (out, grads)), out, "hook")',
        '        checked_tuple(call_with_overrides(function, (out, grads)), out, "hook")',
    ),
    Bug(
        "a retained gradient stays with the node before an in-place op",
        "tensorlab/_core/graph/inplace.pyx",
        "        return move_retained(x, old, node)\n    base = x.base",
        "        return 0\n    base = x.base",
    ),
    Bug(
        "the overwritten part of a base still gets its gradient",
        "tensorlab/_core/graph/inplace.pyx",
        "                part.zero_()",
        "                pass",
    ),
    Bug(
        "a view of a special view forgets what it is",
        "tensorlab/_core/graph/graph.pyx",
        "            out.creation = x.creation\n    else:",
        "            out.creation = VIEW_DEFAULT\n    else:",
    ),
    Bug(
        "a pass inside a pass uses the fields of the nodes, too",
        "tensorlab/_core/engine/graph_task.pyx",
        "    task.positions = None if is_alone else {}",
        "    task.positions = None",
    ),
    Bug(
        "threads add to a leaf without taking turns",
        "tensorlab/_core/graph/accumulate_grad.pyx",
        "        if not PyThread_acquire_lock(lock, NOWAIT_LOCK):",
        "        if False:",
    ),
    Bug(
        "an in-place op saves what it writes over",
        "tensorlab/_core/dispatch/recording.pyx",
        "    if node.saved_tensors & 1:\n        # x is about",
        "    if False:\n        # x is about",
    ),
    Bug(
        "a dirty input counts no version",
        "tensorlab/_core/engine/function.pyx",
        "        bump_version(<TensorBase?>one)\n",
        "        pass\n",
    ),
    Bug(
        "what a function marks as not differentiable is followed",
        "tensorlab/_core/engine/function.pyx",
        "                    and not contains(node.non_differentiable, out))",
        "                    )",
    ),
    Bug(
        "a missing gradient reaches backward as None",
        "tensorlab/_core/engine/function.pyx",
        "            if grads[i] is None and self.materializes:",
        "            if False:",
    ),
    Bug(
        "a gradient keeps the type that backward gave it",
        "tensorlab/_core/engine/engine.pyx",
        "    if g.dtype_ != metadata.dtype:",
        "    if False:",
    ),
]

# ---------------------------------------------------------------- ops, modules and optimizers
OPS_AND_MODULES = [
    Bug(
        "a last window that begins behind the image is kept",
        "tensorlab/ops/pooling/windows.pyx",
        "    if ceil_mode and (n - 1) * stride >= size + padding:",
        "    if False:",
    ),
    Bug(
        "a second index may be one below the first element",
        "tensorlab/ops/indexing/index_iterator.pyx",
        "                largest = <uint64_t>at if <uint64_t>at > largest else largest\n"
        "                offsets[i] += at * stride",
        "                largest = <uint64_t>at if at > <int64_t>largest else largest\n"
        "                offsets[i] += at * stride",
    ),
    Bug(
        "the momentum of SGD is the gradient itself",
        "tensorlab/optim/sgd.py",
        "velocities = [empty_like(param) for param in first]",
        "velocities = [param.grad for param in first]",
    ),
    Bug(
        "loading with strict lets dotted names pass",
        "tensorlab/nn/state.py",
        "return first in module._module_names if dot else first in own",
        "return bool(dot) or first in own",
    ),
    Bug(
        "alpha dropout in place shifts the wrong way",
        "tensorlab/ops/dropout.pyx",
        "(<object>x).mul_(noise).add_(shift)",
        "(<object>x).mul_(noise).sub_(shift)",
    ),
    Bug(
        "the smallest of several ignores nan",
        "tensorlab/ops/indexing/scatter_reduce.pyx",
        "    return value if value < so_far or value != value else so_far",
        "    return value if value < so_far else so_far",
    ),
]

BUGS += HOOKS_AND_FUNCTIONS + OPS_AND_MODULES
