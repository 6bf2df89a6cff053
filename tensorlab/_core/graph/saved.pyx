"""Saved tensors: a node keeps a tensor and its version, and raises if it was written to since.

A node of an op keeps its arguments bare, and their versions beside them (recording.pyx), which is cheaper. A SavedTensor object
is needed for an output, for tensors in a list, for what a custom Function saves, and for what is packed.

Packing. `saved_tensors_hooks(pack, unpack)` gives every tensor that is saved to `pack`, keeps what that returns, and gives it
to `unpack` when backward needs the tensor: compressed, on disk, or as a recipe to compute it again (utils.checkpoint).
Formulas hand saved tensors to kernels that trust their shapes and types, so what `unpack` returns must have those of what was
packed. Only a custom Function may get something else: its backward is Python code, and calls ops that check for themselves.
"""
cimport cython
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF

from tensorlab._core.dtypes cimport dtype_object
from tensorlab._core.graph.accumulate_grad cimport gradient_edge
from tensorlab._core.graph.graph cimport Node, already_released, needs_grad
from tensorlab._core.graph.inplace cimport CopySlices
from tensorlab._core.layout cimport shape_text
from tensorlab._core.no_instances cimport forbid_new
from tensorlab._core.profiling cimport observers
from tensorlab._core.state.devices cimport device_name
from tensorlab._core.state.modes cimport (
    ThreadState, active_layers, call_with_overrides, set_grad_mode, set_overrides_disabled,
    thread_state
)
from tensorlab._core.tensor cimport BOXED, FOREIGN, TensorBase, alias, make_size, place_of

import weakref

from tensorlab.errors import GradientError, VersionError

cdef enum:
    FORM_SHIFT = 40             # bits of a version; above them stands how often the data have taken another form


cdef TensorBase alias_of_class(TensorBase x):
    """An alias of x; if its class has a layer (a wrapper's), the layer makes it, of the same class.

    Of a box it is another box with the same value: detach() would detach the value as well.
    """
    cdef TensorBase out
    cdef bint were_disabled
    if not x.keys & FOREIGN:
        return alias(x)
    were_disabled = set_overrides_disabled(True)
    try:
        out = <TensorBase?>x.detach()
    finally:
        set_overrides_disabled(were_disabled)
    out.counter, out.forms = x.counter, x.forms
    return out


@cython.final
@cython.freelist(256)
@cython.auto_pickle(False)
@cython.binding(False)
cdef class SavedTensor:
    """A tensor that a node keeps for backward, and the version it had then.

    An input is kept as it is. An output is kept as a detached alias: were it kept as it is, the tensor and its node would
    own each other. (`pack` is given the output itself, as in PyTorch: a pack function that keeps it makes that cycle.)
    One without a tensor stands for a None that was saved.
    """

    cdef int check(self, Node owner) except -1:
        """Raise if it was freed, or if the tensor was written to since. What was packed is not followed."""
        if self.is_released:
            raise already_released(owner.label())
        if self.unpacker is None:
            check_saved_tensor(self.tensor, self.version, self.was_computed, self.is_output, owner)
        return 0

    cdef TensorBase restore(self, Node owner):
        """The tensor, checked to be unchanged; or what `unpack` makes of it, with the history
        of the original."""
        cdef TensorBase out
        cdef Node edge = self.edge          # read now: an unpack function may free this object
        cdef int number = self.output_number
        self.check(owner)
        if self.unpacker is None and not self.is_output:
            return self.tensor
        if self.slices is not None and self.unpacker is None:
            # the result was written into a view: return the view as it was then
            slices = self.slices()
            if slices is None:
                raise already_released(owner.label())
            return (<CopySlices>slices).view_again(self.tensor)
        if self.unpacker is not None:
            out = self.call_unpacker(owner)
        else:
            out = self.detached()
        if self.is_output:
            out.node = owner
            out.output_number = number
        elif edge is not None:
            # a leaf's edge is its AccumulateGrad, so gradients reach the leaf; the alias is not
            # a leaf of its own
            out = alias_of_class(out)
            out.node = edge
            out.output_number = number
        return out

    cdef TensorBase detached(self):
        """A new alias of the output. A layer that writes calls down must see of what: of the output that the program knows."""
        cdef object origin
        if active_layers == observers or self.tensor.keys & BOXED:      # none, or only those that look on
            return alias(self.tensor)
        origin = None if self.origin is None else self.origin()
        return <TensorBase?>(self.tensor if origin is None else origin).detach()

    cdef TensorBase call_unpacker(self, Node owner):
        result = call_with_overrides(self.unpacker, (self.packed,))
        if not isinstance(result, TensorBase):
            raise TypeError(f"saved_tensors_hooks: unpack returned {type(result).__name__}, but backward needs the Tensor that "
                            f"was given to pack")
        if not self.may_differ:
            result = self.in_form(<TensorBase>result, owner)
        return alias_of_class(<TensorBase>result) if self.is_output else <TensorBase>result

    cdef TensorBase in_form(self, TensorBase x, Node owner):
        """What `unpack` returned; raise if its shape, dtype or device is not that of what was packed.

        Dimensions of size 1 that were added or lost on the way are put right.
        """
        cdef bint is_same_shape = make_size(x.ndim_, x.sizes) == self.shape, were_disabled
        if x.dtype_ == self.dtype and place_of(x) == self.device:
            if is_same_shape:
                return x
            if [size for size in x.shape if size != 1] == [size for size in self.shape if size != 1]:
                were_disabled = set_overrides_disabled(True)
                try:
                    return x.view(self.shape)
                finally:
                    set_overrides_disabled(were_disabled)
        if is_same_shape:
            advice = f"convert it back with t.to(device={device_name(self.device)!r}, dtype={dtype_object(self.dtype)})"
        else:
            advice = "pack the shape as well, and return a tensor of that shape"
        raise GradientError(
            f"backward: {owner.label()} gave pack its saved {self.name_in(owner)!r}, of shape {tuple(self.shape)} and "
            f"{dtype_object(self.dtype)} on {device_name(self.device)}, but unpack returned a tensor of shape "
            f"{shape_text(x.ndim_, x.sizes)} and {dtype_object(x.dtype_)} on {x.device}; {advice}")

    cdef str name_in(self, Node owner):
        """What the owner calls it: `other` of the product's node."""
        for name in dir(owner):
            if name.startswith("_raw_saved_"):
                kept = getattr(owner, name)
                if kept is self or (isinstance(kept, list) and self in kept):
                    return name.removeprefix("_raw_saved_")
        return "tensor"

    cdef int pack_with(self, TensorBase x, object pack, object unpack) except -1:
        """Keep what `pack` makes of x instead of the tensor."""
        cdef unsigned long long version = saved_version(x)
        cdef TensorBase mine = self.tensor
        cdef object packed
        cdef object shape = make_size(x.ndim_, x.sizes)
        cdef int dtype = x.dtype_
        cdef int device = place_of(x)
        cdef bint was_enabled = set_grad_mode(False)
        try:
            packed = call_with_overrides(pack, (x,))
        finally:
            set_grad_mode(was_enabled)
        if stamp(x) != version:
            raise GradientError("saved_tensors_hooks: pack changed the tensor in place, which "
                                "other code still reads; work on a clone")
        if self.is_released or self.unpacker is not None:
            raise GradientError("saved_tensors_hooks: while pack was running, the tensor that "
                                "it packs was packed by another function, or freed by a "
                                "backward pass; pack must do neither")
        self.packed = packed
        self.unpacker = unpack
        self.shape, self.dtype, self.device = shape, dtype, device
        if not self.is_output and needs_grad(mine):
            self.edge = gradient_edge(mine)
            self.output_number = mine.output_number
        self.tensor = None
        return 0

    cdef int free(self) except -1:
        """Backward is done and does not need the tensor any more."""
        self.tensor = self.packed = self.unpacker = self.edge = None
        self.is_released = True
        return 0

    # ------------------------------------------------------------ as users see it (`grad_fn._raw_saved_self`)
    def register_hooks(self, pack, unpack):
        """Pack this one saved tensor: keep `pack(tensor)` in its place, and call `unpack` on that in backward.

        Raises
        ------
        RuntimeError
            If it has been packed before, was changed in place since it was saved, or backward has freed it.
        """
        if not callable(pack) or not callable(unpack):
            raise TypeError("register_hooks: pack and unpack must both be callable")
        if self.is_released:
            raise GradientError("register_hooks: this saved tensor has been freed by backward")
        if self.tensor is None and self.unpacker is None:
            raise GradientError("register_hooks: None was saved here; there is no tensor to pack")
        if self.tensor is not None and stamp(self.tensor) != self.version:
            raise VersionError("register_hooks: an in-place operation has changed this saved tensor, and once it is packed "
                               "no one could tell; pack it before, or clone the tensor before it is changed")
        if self.unpacker is not None:
            raise GradientError("register_hooks: this saved tensor has been packed before; only one pair of functions is kept")
        self.pack_with(alias_of_class(self.tensor), pack, unpack)

    @property
    def data(self):
        """What is kept: the tensor, or what `pack` made of it."""
        return self.tensor if self.unpacker is None else self.packed

    @property
    def unpack_hook(self):
        """The function that makes a tensor of `data` again, or None."""
        return self.unpacker

    def __repr__(self):
        if self.is_released:
            return "<SavedTensor, freed>"
        if self.unpacker is not None:
            return f"<SavedTensor, packed as {type(self.packed).__name__}>"
        if self.tensor is None:
            return "<SavedTensor of None>"
        return f"<SavedTensor of shape {shape_text(self.tensor.ndim_, self.tensor.sizes)} at version {version_of(self.version)}>"


forbid_new(SavedTensor)


# ---------------------------------------------------------------- saving
cdef unsigned long long saved_version(TensorBase x) except? -1:
    """The version at which x is being saved."""
    if x.counter is None:
        raise GradientError("an inference tensor cannot be saved for backward; clone it "
                            "outside inference_mode first")
    return stamp(x)


cdef inline unsigned long long stamp(TensorBase x) noexcept:
    """The version in the low bits; in the high ones, how often its data have taken another form, which is no write."""
    return x.counter.value | <unsigned long long>x.forms << FORM_SHIFT


cdef inline unsigned long long version_of(unsigned long long stamped) noexcept:
    return stamped & ((<unsigned long long>1 << FORM_SHIFT) - 1)


cdef int check_saved_tensor(TensorBase x, unsigned long long version, bint was_computed,
                            bint is_output, Node owner) except -1:
    """Raise if x was written to since it was saved at `version`, or was detached in place."""
    if stamp(x) != version:
        raise changed_since(x, version_of(version), is_output, owner)
    if was_computed and x.node is None:
        raise GradientError(
            f"backward: {owner.label()} needs a tensor that was taken out of the graph by "
            "detach_() after it had been saved; use detach() instead")
    return 0


cdef object changed_since(TensorBase x, unsigned long long version, bint is_output, Node owner):
    form = f"of shape {shape_text(x.ndim_, x.sizes)} and {dtype_object(x.dtype_)}"
    if x.counter.value == version:
        return VersionError(
            f"backward: {owner.label()} needs a tensor that was saved at {version} and has been "
            f"given other data since, {form}. Set its data after the backward pass")
    where = "; set_detect_anomaly(True) would show its line"
    if x.counter.written_at is not None:
        where = f" (the last one at {x.counter.written_at})"
    return VersionError(
        f"backward: {owner.label()} needs a tensor {form}{' (its own output)' if is_output else ''} that is "
        f"at version {x.counter.value} but was saved at {version}: an in-place operation "
        f"changed it{where}. Clone it before that operation, or use the out-of-place one.")


cdef SavedTensor save_tensor(TensorBase x, bint is_output):
    """Keep x for backward, packed if this thread packs. An output must have its new version by
    now."""
    cdef bint was_computed = not is_output and x.node is not None
    cdef SavedTensor saved = saved_again(x, saved_version(x), was_computed)
    cdef PyObject* packing = thread_state().packing
    saved.is_output = is_output
    if is_output:
        saved.tensor = alias_of_class(x)
        if active_layers != observers:
            saved.origin = weakref.ref(x)
    if packing != NULL:
        saved.pack_with(x, (<tuple>packing)[0], (<tuple>packing)[1])
    return saved


cdef SavedTensor saved_again(TensorBase x, unsigned long long version, bint was_computed):
    """An object for an input that a node has kept bare."""
    cdef SavedTensor saved = SavedTensor.__new__(SavedTensor)
    saved.tensor = x
    saved.version = version
    saved.was_computed = was_computed
    return saved


cdef object save_value(object value):
    """Tensors, and tensors in a tuple or list, become SavedTensors; anything else is kept as it is."""
    if isinstance(value, TensorBase):
        return save_tensor(<TensorBase>value, False)
    if isinstance(value, (tuple, list)):
        for one in value:
            if isinstance(one, TensorBase):
                return [save_value(each) for each in value]
    return value


cdef object unpack_value(object saved, Node owner):
    if isinstance(saved, SavedTensor):
        return (<SavedTensor>saved).restore(owner)
    if isinstance(saved, list):
        return [unpack_value(one, owner) for one in saved]
    return saved


cdef bint free_saved(object values):
    """Free the SavedTensors among these values and in lists among them; were there any?"""
    cdef bint found = False
    for value in values:
        if isinstance(value, SavedTensor):
            (<SavedTensor>value).free()
            found = True
        elif isinstance(value, list):
            found = free_saved(value) or found
    return found


# ---------------------------------------------------------------- packing everything that a thread saves
cdef str why_not = None             # the message of disable_saved_tensors_hooks, for all threads


def push_packing(pack, unpack):
    """From now on this thread packs what it saves."""
    cdef ThreadState* state = thread_state()
    if why_not is not None:
        raise RuntimeError(why_not)
    if not callable(pack) or not callable(unpack):
        wrong = unpack if callable(pack) else pack
        raise TypeError(f"saved_tensors_hooks: pack_hook and unpack_hook must be functions, not {type(wrong).__name__}")
    top = (pack, unpack, None if state.packing == NULL else <object>state.packing)
    Py_INCREF(top)
    if state.packing != NULL:
        Py_DECREF(<object>state.packing)
    state.packing = <PyObject*>top


def pop_packing():
    """Back to what was before the last push_packing."""
    cdef ThreadState* state = thread_state()
    cdef object top, before
    if state.packing == NULL:
        raise RuntimeError("saved_tensors_hooks: this thread packs nothing; leave a context once, in the thread that entered it")
    top = <object>state.packing
    before = (<tuple>top)[2]
    Py_DECREF(top)
    state.packing = NULL
    if before is not None:
        Py_INCREF(before)
        state.packing = <PyObject*>before


def call_unpacked(function, *arguments):
    """Call a function without packing what it saves: for ops made of others, whose calls save only tables of their own."""
    cdef ThreadState* state = thread_state()
    cdef PyObject* packing = state.packing
    state.packing = NULL
    try:
        return function(*arguments)
    finally:
        state.packing = packing


def forbid_packing(message):
    """Let push_packing raise this message (None: allow it again); return the message so far."""
    global why_not
    if message is not None and thread_state().packing != NULL:
        raise RuntimeError(message)
    was, why_not = why_not, message
    return was
