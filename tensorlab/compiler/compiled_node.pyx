"""A call of a compiled function as one node of the autograd graph: forward runs a plan, and backward another.

What an `autograd.Function` would do in Python is here in C, as a small network runs a few ops only. The inputs need gradients
as they did when the function was recorded, which its guards have checked.

The plan of backward has no history. Where backward is to be differentiated itself
(`create_graph`), forward runs once more, op by op and recorded, from the same inputs and the
same random numbers. So a node keeps the inputs, and where the generator was.
"""
cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_Free, PyMem_Malloc

from tensorlab._core.graph.accumulate_grad cimport set_edges
from tensorlab._core.graph.graph cimport (
    GraphTask, Node, already_released, set_history, set_input_metadata, set_sequence_number
)
from tensorlab._core.graph.saved cimport (
    SavedTensor, check_saved_tensor, free_saved, save_tensor, saved_version
)
from tensorlab._core.random cimport Generator, Place, default_generator, note_place, return_to
from tensorlab._core.state.modes cimport thread_state
from tensorlab._core.tensor cimport TensorBase, alias, empty_strided_tensor
from tensorlab.compiler.plan cimport Plan

from tensorlab._core.random import DrawingAside
from tensorlab.ops.copying import copy_
from tensorlab.ops.filling import zero_


@cython.final
@cython.binding(False)
@cython.auto_pickle(False)
cdef class Differentiation:
    """The plans of forward and backward, and how they fit together; the .pxd says what the fields are."""

    def __cinit__(self, Plan forward not None, Plan backward not None, int results, followed, likes, places, int inputs,
                  partial, second_order, bint draws_random):
        self.partial, self.second_order, self.draws_random = partial, second_order, draws_random
        self.forward, self.backward, self.results, self.inputs = forward, backward, results, inputs
        self.followed, self.likes, self.places = tuple(followed), tuple(likes), tuple(places)
        if len(self.followed) != len(self.likes) or len(self.places) != len(backward.outputs):
            raise ValueError("Differentiation: each followed result needs a layout, and each output of backward a place")
        for i in self.followed:
            if not 0 <= i < results:
                raise ValueError(f"Differentiation: there is no result {i} among {results}")
        for i in self.places:
            if not 0 <= i < inputs:
                raise ValueError(f"Differentiation: there is no input {i} among {inputs}")

    def run(self, inputs):
        """Run forward; returns the results, those that are followed with this call as their `grad_fn`."""
        return run_forward(self, list(inputs))


@cython.final
@cython.binding(False)
cdef class CompiledFunctionBackward(Node):
    """The node of one call.

    `saved` holds SavedTensors, and a list of the inputs; None when backward has freed them.
    """

    cdef Differentiation plans
    cdef unsigned long long* versions    # of the inputs, at the time of the call
    cdef bytes place                # of the default generator before the call, or None

    def __dealloc__(self):
        PyMem_Free(self.versions)

    cdef int keep_inputs(self, list inputs) except -1:
        """Keep what a second forward would need; `saved` is a list by now."""
        cdef TensorBase x
        cdef int i
        self.saved.append(inputs)
        self.versions = <unsigned long long*>PyMem_Malloc((len(inputs) + 1) * sizeof(unsigned long long))
        if self.versions == NULL:
            raise MemoryError()
        for i in range(<int>len(inputs)):
            x = <TensorBase>inputs[i]
            self.versions[i] = 0 if x.counter is None else saved_version(x)
        return 0

    cdef int release_saved(self) except -1:
        if self.saved is not None:
            free_saved(self.saved)
            self.saved = None
        return 0

    cdef tuple apply(self, object grad, GraphTask task):
        cdef Differentiation plans = self.plans
        cdef list inputs = [], given = [], tangents = [], gradients
        cdef Plan plan
        cdef tuple places
        cdef int i, number
        if self.saved is None:         # or this node is of no call: Python can make one that has no plans
            raise already_released(self.label())
        plan, places, gradients = plans.backward, plans.places, [None] * plans.inputs
        for number in plans.followed:
            one = grad if self.output_count == 1 else (None if grad is None else grad[number])
            tangents.append(one)
            given.append(one is not None)
        if task.create_graph:
            return self.differentiably(tangents)
        for i in range(<int>len(self.saved) - 1):
            inputs.append((<SavedTensor>self.saved[i]).restore(self))
        for i in range(<int>len(tangents)):
            inputs.append(fit(tangents[i], <TensorBase>plans.likes[i]))
        if False in given:                  # results that the program has not used
            plan, places = plans.partial(tuple(given))
        if not task.keep_graph:         # the plan alone has the saved tensors, and frees them
            self.release_saved()
        one = tangents = None
        for number, one in zip(places, plan.execute(inputs, True)):
            gradients[number] = one
        return tuple(gradients)

    cdef tuple differentiably(self, list tangents):
        """The gradients with a history of their own, from a forward that is recorded."""
        cdef Generator again_from
        cdef TensorBase x
        cdef list inputs = self.saved[len(self.saved) - 1]
        cdef int i
        again = self.plans.second_order()
        for i in again.needed:
            x = <TensorBase>inputs[i]
            if x.counter is not None:
                check_saved_tensor(x, self.versions[i], False, False, self)
        if self.place is None:
            return again.gradients(inputs, tangents)
        again_from = Generator()
        return_to(again_from, <const Place*>PyBytes_AS_STRING(self.place))
        with DrawingAside(again_from):
            return again.gradients(inputs, tangents)


cdef TensorBase fit(object grad, TensorBase like):
    """A gradient in the layout that the plan of backward was made for; zeros where there is none."""
    cdef TensorBase made
    cdef int i
    cdef bint fits = grad is not None
    if fits:
        for i in range(like.ndim_):
            fits = fits and (<TensorBase>grad).strides[i] == like.strides[i]
        if fits:
            return <TensorBase>grad
    made = empty_strided_tensor(like.dtype_, like.ndim_, like.sizes, like.strides)
    return zero_(made) if grad is None else copy_(made, grad)


cdef list run_forward(Differentiation plans, list inputs):
    cdef CompiledFunctionBackward node
    cdef list outputs, results, metadata
    cdef TensorBase out
    cdef bytes place = None
    cdef int i
    if plans.draws_random:
        place = PyBytes_FromStringAndSize(NULL, sizeof(Place))
        note_place(default_generator(), <Place*>PyBytes_AS_STRING(place))
    outputs = plans.forward.execute(inputs, False)
    results = outputs[:plans.results]
    if not thread_state().grad_enabled:
        return results
    node = CompiledFunctionBackward.__new__(CompiledFunctionBackward)
    node.plans, node.place = plans, place
    set_edges(node, inputs)
    set_sequence_number(node)
    metadata = [None] * plans.results
    for i in plans.followed:
        out = <TensorBase>results[i]
        if out.base is not None:            # a view within the plan, which is nothing to the program
            results[i] = out = alias(out)
        metadata[i] = out
    set_input_metadata(node, metadata)
    for i in plans.followed:
        set_history(<TensorBase>results[i], node, i)
    node.saved = [save(node, one, results, outputs) for one in outputs[plans.results:]]
    node.keep_inputs(inputs)
    return results


cdef SavedTensor save(Node node, TensorBase x, list results, list outputs):
    """Keep a tensor for backward: one that is a result too as an output, so that it and the node do not own each other."""
    cdef int i
    for i in range(<int>len(results)):
        if outputs[i] is x and (<TensorBase>results[i]).node is node:
            return save_tensor(<TensorBase>results[i], True)
    return save_tensor(x, False)
