"""What Python can do in a recorded function: it is replayed rightly, or refused with a reason and a line."""

import collections
import contextlib
import dataclasses
import decimal
import enum
import functools
import gc
import inspect
import logging
import operator
import os
import random
import re
import subprocess
import sys
import threading
import time
import types
import warnings
import weakref

import numpy as np
import pytest

import tensorlab as torch
from tensorlab import nn
from tensorlab.compiler.capture import Trace, record
from tensorlab.compiler.capture.frames import place_of, user_frame
from tensorlab.compiler.capture.observer import Observer
from tests.compiler.capture import programs as PROGRAMS
from tests.compiler.capture.interpreter import interpret, same_bits

NUMBER, WORDS, TABLE, COUNTER = 2.5, ["a", "bc"], {"p": 3, "q": {"r": [1, 2]}}, 0
OUTER = torch.tensor([1.0, 2.0, 3.0])
LEAF = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
Pair = collections.namedtuple("Pair", "first second")


class Config:
    scale = 2.0

    def __init__(self):
        self.bias, self.parts = 0.5, [1.0]

    @property
    def doubled(self):
        return self.bias * 2

    def __getattr__(self, name):
        if name == "magic":
            return 4.0
        raise AttributeError(name)

    def __call__(self, x):
        return x * self.scale + self.bias

    @staticmethod
    def halved(x):
        return x / 2

    @classmethod
    def scaled(cls, x):
        return x * cls.scale


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self):
        self.a = 1.5


@dataclasses.dataclass
class Settings:
    rate: float = 0.5
    names: list = dataclasses.field(default_factory=list)


class Mode(enum.Enum):
    FAST = 1
    SLOW = 2


class Words(dict):
    def __getattr__(self, name):
        return self[name]


CONFIG, SLOTTED, SETTINGS, MODE, DOTTED = (
    Config(),
    Slotted(),
    Settings(),
    Mode.SLOW,
    Words(rate=2.0),
)
QUEUE, NUMBERS, GENERATOR = collections.deque([1]), iter([1, 2, 3]), (i for i in range(9))
FACTORIES = collections.defaultdict(list)


class Fields:
    _fields = ("a",)

    def __init__(self, a):
        self.a = a


PARAMETRIZED = nn.utils.parametrizations.weight_norm(nn.Linear(3, 3))
DECIMAL, PATTERN = decimal.Decimal, re.compile("b+")


class Namespace(types.ModuleType):
    factor = 1


class Subclass(torch.Tensor):
    pass


SPACE, SUBCLASS = Namespace("space"), torch.ones(3).as_subclass(Subclass)
SPACE.rate = 2.0
HOOKED, SET_OF_OBJECTS = torch.ones(3, requires_grad=True), {CONFIG}
HOOKED.register_hook(lambda grad: grad)
ARRAY, LOCK, REFERENCE = np.ones(3, dtype=np.float32), threading.Lock(), weakref.ref(CONFIG)


def make_counter():
    count, kept = 0, []

    def counting(x):
        nonlocal count
        count += 1
        return x * count

    def keeping(x):
        kept.append(x)
        return x

    def reading(x):
        return x * len(kept) + count

    return counting, keeping, reading


COUNTING, KEEPING, READING = make_counter()


@contextlib.contextmanager
def doubling():
    yield 2


def twice(function):
    @functools.wraps(function)
    def called(*args, **kwargs):
        return function(function(*args, **kwargs))

    return called


@functools.lru_cache
def cached(n):
    return n * 2


# ------------------------------------------------------------------------------------------------ replayed
def generators(x):
    def parts():
        for i in range(3):
            yield x * i

    return sum(parts(), x)


def recursion(x, depth=3):
    return x if depth == 0 else recursion(x * 2, depth - 1)


def caught(x):
    try:
        raise ValueError("abc")
    except ValueError as error:
        return x * len(str(error))


def caught_missing(x):
    try:
        return x * CONFIG.missing
    except AttributeError:
        return x - 1


def lambdas(x):
    return (lambda y: y * NUMBER)(x)


def closures(x):
    total = 0

    def add(n):
        nonlocal total
        total += n

    add(1)
    add(2)
    return x * total


def class_inside(x):
    class Local(Config):
        def __init__(self):
            self.bias = 3

    return Local()(x)


def dataclass_inside(x):
    settings = Settings(names=["a"])
    settings.names.append("b")
    return x * settings.rate * len(settings.names)


def attributes(x):
    return (
        CONFIG(x) * CONFIG.doubled
        + CONFIG.magic
        + CONFIG.halved(x)
        + Config.scaled(x)
        + CONFIG.parts[0]
    )


def slots(x):
    return x * SLOTTED.a


def enums(x):
    return x * (2 if MODE is Mode.SLOW else 3) * Mode.FAST.value


def subclass_of_dict(x):
    return x * DOTTED.rate + len(DOTTED)


def no_grad_inside(x):
    with torch.no_grad():
        y = LEAF * x
    return y + x


@torch.no_grad()
def no_grad_outside(x):
    return LEAF * x


def own_context(x):
    with doubling() as factor:
        return x * factor


def containers(x):
    found = {"a": [x, 1], "b": (x * 2, {"c": x + 1})}
    found["a"].append(x)
    return found


def named(x):
    return Pair(x + 1, second=[NUMBER])


def arguments(x, *args, **kwargs):
    return x * len(args) + len(kwargs)


def partials(x):
    return functools.partial(operator.mul, 2)(x) + functools.reduce(operator.add, [x, x])


@twice
def decorated(x):
    return x * 3


def strings(x):
    return x * len(f"{NUMBER:.2f} {'-'.join(WORDS)}") + "abc".index("c")


def comprehensions(x):
    return torch.stack([x * i for i in range(4) if i != 1]) * len(dict.fromkeys(WORDS, 1))


def values(x):
    return x * x.sum().item() + len(x.tolist()) if x[0] > -100 else x


def sizes_of_values(x):
    return torch.nonzero(x > -100).float().sum(0) + x[x > -100].sum()


def tables(x):
    return x * TABLE["p"] + TABLE.get("z", 1) + TABLE["q"]["r"][1]


def sorting(x):
    return x * sorted([3, 1, 2], key=lambda n: -n)[0] + max(WORDS, key=len).count("b")


def imports(x):
    import math
    from math import floor

    return x * math.sqrt(4) + floor(2.5)


def by_name(x):
    return x * getattr(CONFIG, "bias") + vars(CONFIG)["bias"] + hasattr(CONFIG, "nothing")  # noqa: B009


def local_effects(x):
    numbers = [1]
    numbers.append(2)
    del numbers[0]
    config = Config()
    config.bias = 7
    setattr(config, "other", 8)  # noqa: B010
    return x * numbers[0] + config.bias + config.other


def same_again(x):
    CONFIG.bias = CONFIG.bias
    WORDS.append("x")
    WORDS.pop()
    return x


def in_place(x):
    x.add_(1)
    x[0] = 5
    return x * 2


def in_place_outside(x):
    OUTER.mul_(2).sub_(OUTER / 2)
    return OUTER + x


def random_numbers(x):
    return x + torch.randn(3) + nn.functional.dropout(x, 0.5)


def views(x):
    y = x.view(3, 1)
    y[1] += 1
    return x, y.t(), x[1:]


def gradient_inside(x):
    w = x.clone().requires_grad_()
    (grad,) = torch.autograd.grad((w * w).sum(), w)
    return grad.detach()


def backward_inside(x):
    LEAF.grad = None
    (LEAF * x).sum().backward()
    return LEAF.grad * 2


def patterns(x):
    return x * len(PATTERN.sub("", "abbc")) if isinstance(PATTERN, re.Pattern) else x


def own_kind_of_module(x):
    return x * SPACE.rate


def computed_names_beside_a_library(x):
    return x * getattr(CONFIG, "bi" + "as") + functools.reduce(operator.add, [1, 2])


def class_with_new(x):
    class Made(Config):
        def __new__(cls):
            made = super().__new__(cls)
            made.extra = 3
            return made

    return x * Made().extra


def result_with_fields(x):
    return Fields(x)


ACCEPTED = [
    class_with_new,
    *(patterns, own_kind_of_module, computed_names_beside_a_library),
    *(
        generators,
        recursion,
        caught,
        caught_missing,
        lambdas,
        closures,
        class_inside,
        dataclass_inside,
        attributes,
    ),
    *(
        slots,
        enums,
        subclass_of_dict,
        no_grad_inside,
        no_grad_outside,
        own_context,
        containers,
        named,
        partials,
    ),
    *(
        decorated,
        strings,
        comprehensions,
        values,
        sizes_of_values,
        tables,
        sorting,
        imports,
        by_name,
        local_effects,
    ),
    *(
        same_again,
        in_place,
        in_place_outside,
        random_numbers,
        views,
        gradient_inside,
        backward_inside,
        READING,
    ),
]


def on_other_values(values):
    x = torch.tensor([1.0, 2.0, 3.0])
    return x if values else x + 1


@pytest.mark.parametrize("function", ACCEPTED, ids=lambda one: one.__name__)
def test_a_function_is_replayed_to_the_last_bit(function):
    torch.manual_seed(0)
    x = torch.tensor([1.0, 2.0, 3.0])
    expected = function(x.clone())
    OUTER.copy_(torch.tensor([1.0, 2.0, 3.0]))
    torch.manual_seed(0)
    result, trace = record(function, (x.clone(),))
    OUTER.copy_(torch.tensor([1.0, 2.0, 3.0]))
    assert isinstance(trace, Trace), trace
    assert same_bits(result, expected)
    reads_values = bool(trace.value_reads)
    other = x if reads_values else x * 2
    torch.manual_seed(1)
    first, second = other.clone(), other.clone()
    inputs = trace.guards.match((first,))
    assert inputs is not None, trace.guards.why((first,))
    found = interpret(trace, inputs)
    kept = OUTER.clone()
    OUTER.copy_(torch.tensor([1.0, 2.0, 3.0]))
    torch.manual_seed(1)
    assert same_bits(found, function(second))
    assert same_bits(first, second)
    assert same_bits(kept, OUTER)
    OUTER.copy_(torch.tensor([1.0, 2.0, 3.0]))


# ------------------------------------------------------------------------------------------------ refused
def assigns_a_global(x):
    global COUNTER
    COUNTER += 1  # here
    return x * COUNTER


def reads_the_counter():
    return COUNTER


def assigns_a_global_between_reads(x):
    global COUNTER
    x = x * COUNTER
    COUNTER = COUNTER + 1  # here
    return x * reads_the_counter()


def renames_an_attribute(x):
    CONFIG.other = CONFIG.parts  # here
    del CONFIG.parts
    return x


def appends(x):
    WORDS.append("z")
    return x


def keeps_in_a_table(x):
    TABLE["last"] = x
    return x


def sets_an_attribute(x):
    CONFIG.seen = x  # here
    return x


def sets_a_slot(x):
    SLOTTED.a = SLOTTED.a + 1  # here
    return x


def deletes_an_attribute(x):
    del CONFIG.parts  # here
    return x


def sets_by_name(x):
    setattr(CONFIG, "se" + "en", x)
    return x


def sets_in_the_dict(x):
    CONFIG.__dict__["seen"] = x
    return x


def sets_on_a_class(x):
    Config.scale = Config.scale + 1  # here
    return x


def sets_on_a_class_of_tensorlab(x):
    nn.Identity.seen = nn.Identity()(x)  # here
    return x


def sets_on_a_module_of_tensorlab(x):
    torch.nn.seen = x  # here
    return x


def sets_late_on_a_class_of_tensorlab(x):
    nn.Identity()
    sets_on_a_class_of_tensorlab(x)
    return x


def sets_by_name_on_a_class_of_tensorlab(x):
    setattr(nn.Identity, "se" + "en", x)
    return x


def sets_on_a_function(x):
    lambdas.calls = x  # here
    return x


def sets_on_a_module(x):
    types.seen = x  # here
    return x


def changes_a_default(x, kept=[]):  # noqa: B006
    kept.append(x)
    return x


def prints(x):
    print(end="")  # here
    return x


def prints_by_map(x):
    list(map(print, []))
    return x


def opens(x):
    with open(os.devnull):
        return x


def draws(x):
    return x * random.random()


def draws_by_numpy(x):
    return x * float(np.random.default_rng().random())


def reads_the_time(x):
    return x * time.time()


def reads_the_environment(x):
    return x * len(os.environ.get("HOME", ""))


def warns(x):
    warnings.warn("something", stacklevel=1)
    return x


def logs(x):
    logging.getLogger("quiet").debug("something")
    return x


def starts_a_thread(x):
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()
    return x


def starts_a_process(x):
    return x * subprocess.call(["true"])


def collects(x):
    return x * min(gc.collect(), 1)


def refers_weakly(x):
    return x if REFERENCE() is not None else -x


FUNCTIONS = [inspect.cleandoc]


def inspects_by_a_list(x):
    return x * len(FUNCTIONS[0]("ab"))  # here


def inspects(x):
    return x * len(inspect.stack())


def takes_identity(x):
    return x * (id(x) % 2)  # here


def evaluates(x):
    return eval("x * 2")  # here


def looks_at_globals(x):
    return x * globals()["NUMBER"]  # here


def sets_a_profile(x):
    sys.setprofile(None)
    return x


def calls_a_cache(x):
    return x * cached(2)


def uses_a_queue(x):
    return x * QUEUE[0]


def uses_an_iterator(x):
    return x * next(NUMBERS)


def uses_a_generator(x):
    return x * next(GENERATOR)


def uses_an_array(x):
    return x + ARRAY


def uses_a_lock(x):
    with LOCK:
        return x


def shares_memory_with_an_array(x):
    return x + torch.from_numpy(ARRAY)


def hands_memory_out(x):
    return x * float(x.numpy().sum())  # here


def seeds(x):
    torch.manual_seed(1)
    return x


def registers_a_hook(x):
    y = x.clone().requires_grad_()
    y.register_hook(lambda grad: grad)
    return y


def follows_an_outer_tensor(x):
    OUTER.requires_grad_()
    return x


def makes_a_leaf(x):
    return x.clone().requires_grad_()


def returns_an_object(x):
    return CONFIG


def returns_an_outer_list(x):
    return WORDS


def returns_a_list_twice(x):
    found = [x]
    return found, found


def returns_a_generator(x):
    return (x for _ in range(2))


def leaves_no_grad(x):
    torch.autograd.grad_mode.switch_grad_mode(False)
    return x


class Doubling(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 3


def has_its_own_backward(x):
    return Doubling.apply(LEAF) * x


def caught_op(x):
    try:
        return x.view(2, 2)
    except RuntimeError:
        return x


def caught_op_on_values(x):
    try:
        return LEAF.detach()[x.long()]
    except IndexError:
        return x


def backward_to_a_hook(x):
    (HOOKED * x).sum().backward()
    return x


def uses_a_set_of_objects(x):
    return x * len(SET_OF_OBJECTS)


def reads_a_module_by_a_computed_name(x):
    return x * len(getattr(PROGRAMS, "PLA" + "IN"))


def uses_a_foreign_type(x):
    return x * float(DECIMAL("1.5"))


def uses_a_subclass_of_tensor(x):
    return x + SUBCLASS


def asks(x):
    return getattr(x, "retain_grad")  # noqa: B009


def names_late_what_is_refused(x):
    getattr(CONFIG, "bias")  # noqa: B009
    asks(x)
    return x


def checkpoints(x):
    return torch.utils.checkpoint.checkpoint(lambda y: y * 2, x, use_reentrant=False)


def is_parametrized(x):
    return PARAMETRIZED(x)


async def coroutine(x):
    return x


def runs_a_coroutine(x):
    try:
        coroutine(x).send(None)
    except StopIteration as error:
        return error.value


def loads_data(x):
    return next(iter(torch.utils.data.DataLoader([1, 2])))


def makes_what_is_missing(x):
    return x * len(FACTORIES.default_factory())


def takes_an_object_apart(x):
    return x * len(object().__reduce_ex__(2))  # here


OUTSIDE = "comes from outside"
REFUSED = [
    (assigns_a_global, "assigns the global COUNTER"),
    (assigns_a_global_between_reads, "assigns the global COUNTER"),
    (renames_an_attribute, "changes attributes of CONFIG"),
    (appends, f"changes WORDS, which {OUTSIDE}"),
    (keeps_in_a_table, f"changes TABLE, which {OUTSIDE}"),
    (sets_an_attribute, "changes attributes of CONFIG"),
    (sets_a_slot, "changes SLOTTED"),
    (deletes_an_attribute, "changes attributes of CONFIG"),
    (sets_by_name, "changes attributes of CONFIG"),
    (sets_in_the_dict, "changes attributes of CONFIG"),
    (sets_on_a_class, "changes attributes of Config"),
    (sets_on_a_class_of_tensorlab, "changes attributes of nn.Identity"),
    (sets_on_a_module_of_tensorlab, "changes attributes of "),
    (sets_by_name_on_a_class_of_tensorlab, "changes attributes of nn.Identity"),
    (sets_on_a_function, "changes attributes of lambdas"),
    (sets_on_a_module, "changes attributes of types"),
    (changes_a_default, "changes changes_a_default.__defaults__[0]"),
    (COUNTING, "changes count"),
    (KEEPING, "changes kept"),
    (prints, "calls print"),
    (prints_by_map, "may call print by map"),
    (opens, "os"),
    (draws, "random numbers"),
    (draws_by_numpy, "NumPy"),
    (reads_the_time, "reads the time"),
    (reads_the_environment, "operating system"),
    (warns, "warns"),
    (logs, "log"),
    (starts_a_thread, "threads"),
    (starts_a_process, "starts a process"),
    (collects, "garbage"),
    (refers_weakly, "ReferenceType"),
    (inspects, "inspects"),
    (inspects_by_a_list, "inspects frames or source"),
    (takes_identity, "calls id"),
    (evaluates, "calls eval"),
    (looks_at_globals, "calls globals"),
    (sets_a_profile, "sys"),
    (calls_a_cache, "cached is an object of type functools._lru_cache_wrapper"),
    (uses_a_queue, "QUEUE is an object of type collections.deque"),
    (uses_an_iterator, "NUMBERS is an object of type builtins.list_iterator"),
    (uses_a_generator, "GENERATOR is an object of type builtins.generator"),
    (uses_an_array, "ARRAY is an object of type numpy.ndarray"),
    (uses_a_lock, "LOCK is an object of type _thread.lock"),
    (shares_memory_with_an_array, "ARRAY is an object of type numpy.ndarray"),
    (hands_memory_out, "hands the memory of a tensor out by numpy"),
    (seeds, "manual_seed"),
    (registers_a_hook, "register_hook"),
    (follows_an_outer_tensor, "changes what autograd knows of OUTER"),
    (makes_a_leaf, "makes a tensor that requires grad"),
    (returns_an_object, "test_python_features.Config;"),
    (returns_an_outer_list, "returns a list that comes from outside"),
    (returns_a_list_twice, "returns the same list in two places"),
    (returns_a_generator, "returns a builtins.generator"),
    (leaves_no_grad, "leaves another grad mode"),
    (has_its_own_backward, "autograd.Function"),
    (caught_op_on_values, "lets"),
    (uses_a_foreign_type, "the type decimal.Decimal, whose calls cannot be seen"),
    (uses_a_subclass_of_tensor, "a tensor of class Subclass"),
    (checkpoints, "calls tensorlab.utils.checkpoint, which has state that is not in tensors"),
    (is_parametrized, "calls tensorlab.nn.utils.parametrize, which has state"),
    (runs_a_coroutine, "calls coroutine.send"),
    (loads_data, "calls tensorlab.utils.data.dataloader, which has state"),
    (makes_what_is_missing, "uses default_factory"),
    (result_with_fields, "test_python_features.Fields;"),
    (takes_an_object_apart, "calls object.__reduce_ex__"),
    (backward_to_a_hook, "backward to a tensor that has hooks"),
    (uses_a_set_of_objects, "a set of something else than numbers and strings"),
    (reads_a_module_by_a_computed_name, "by names that it computes, maybe of the module PROGRAMS"),
]


@pytest.fixture
def restored():
    """Whatever the refused functions change is as before afterwards."""
    global COUNTER
    yield
    COUNTER = 0
    WORDS[:] = ["a", "bc"]
    TABLE.pop("last", None)
    vars(CONFIG).clear()
    CONFIG.__init__()
    SLOTTED.__init__()
    Config.scale = 2.0
    vars(lambdas).clear()
    vars(nn).pop("seen", None)
    if "seen" in vars(nn.Identity):
        del nn.Identity.seen
    vars(types).pop("seen", None)
    changes_a_default.__defaults__[0].clear()
    OUTER.requires_grad_(False)
    torch.autograd.grad_mode.switch_grad_mode(True)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("function", "reason"), REFUSED, ids=lambda one: getattr(one, "__name__", "")
)
def test_what_cannot_be_replayed_is_refused_with_its_line(function, reason, restored):
    x = torch.tensor([1.0, 2.0, 5.0])
    _, refusal = record(function, (x,))
    assert not isinstance(refusal, Trace)
    assert reason in refusal.reason
    assert refusal.file == __file__
    lines, first = inspect.getsourcelines(function)
    marked = [first + i for i, line in enumerate(lines) if line.rstrip().endswith("# here")]
    assert refusal.line in (marked or range(first, first + len(lines)))
    assert str(refusal).startswith(f"{__file__}:{refusal.line}: the function ")


def test_a_refusal_names_the_attributes_that_were_changed_and_no_others():
    thing = types.SimpleNamespace(kept=1, changed=2, removed=3)

    def function(x):
        thing.changed = 3
        thing.added = 4
        del thing.removed
        return x * thing.kept

    reason = record(function, (OUTER,))[1].reason
    assert (
        reason == "changes attributes of thing, which comes from outside: changed, removed, added"
    )


def test_what_numpy_does_for_tensorlab_itself_is_no_effect():
    def function(x):
        return torch.nn.functional.interpolate(x, size=(5, 5), mode="bicubic")

    outcome = record(function, (torch.ones(1, 1, 3, 3),))[1]
    assert isinstance(outcome, Trace), outcome


def test_an_exception_goes_through_and_leaves_nothing_behind():
    def raising(x):
        raise KeyError(x.sum().item())

    with pytest.raises(KeyError, match="6"):
        record(raising, (torch.tensor([1.0, 2.0, 3.0]),))
    assert sys.getprofile() is None
    assert isinstance(record(lambdas, (OUTER,))[1], Trace)


def test_under_a_profiler_nothing_is_recorded():
    def profiler(frame, event, argument):
        pass

    sys.setprofile(profiler)
    try:
        result, refusal = record(lambdas, (OUTER,))
        assert sys.getprofile() is profiler
    finally:
        sys.setprofile(None)
    assert "sys.setprofile" in refusal.reason
    assert refusal.file == __file__
    assert refusal.modules == ()
    assert same_bits(result, OUTER * 2.5)


def test_a_recording_in_a_recording_is_refused():
    inner = []

    def outer(x):
        inner.append(record(lambdas, (x,))[1])
        return x

    record(outer, (OUTER,))
    assert "another recording" in inner[0].reason


def test_a_result_of_an_autograd_function_may_come_in():
    x = Doubling.apply(LEAF)
    outcome = record(lambda x: x * 2, (x,))[1]
    assert isinstance(outcome, Trace)
    assert outcome.guards.check((Doubling.apply(LEAF),), None)


def test_more_surroundings_than_guards_can_look_at_are_refused(monkeypatch):
    monkeypatch.setattr("tensorlab.compiler.capture.outer_state.MOST_OBJECTS", 5)
    assert isinstance(record(lambda x: x * 2, (OUTER,))[1], Trace)
    outcome = record(lambda x: x * sum(one[0] for one in x_list), (OUTER,))[1]
    assert "more than 5 objects" in outcome.reason


x_list = [[1] for _ in range(9)]


def test_a_profile_that_was_taken_away_is_noticed():
    reasons = []
    watching = Observer(None, lambda reason, frame: reasons.append(reason))
    watching.ignored = 1
    with watching:
        sys.setprofile(None)
    assert reasons == ["calls sys.setprofile"]
    with watching:
        pass
    assert len(reasons) == 1
    assert sys.getprofile() is None


def test_without_a_frame_of_the_users_there_is_no_place():
    assert place_of(None) == ("?", 0, "?")


def test_the_reason_is_a_sentence_about_the_function():
    reason = record(returns_a_list_twice, (OUTER,))[1].reason
    assert reason == "returns the same list in two places"


def test_an_attribute_that_is_assigned_late_is_refused(restored):
    outcome = record(sets_late_on_a_class_of_tensorlab, (OUTER,))[1]
    assert "changes attributes of nn.Identity" in outcome.reason


def test_an_attribute_that_is_named_late_is_refused():
    outcome = record(names_late_what_is_refused, (OUTER,))[1]
    assert "retain_grad" in outcome.reason


def test_the_users_frame_is_the_innermost_that_is_not_tensorlabs():
    def frame(file, back=None):
        return types.SimpleNamespace(f_code=types.SimpleNamespace(co_filename=file), f_back=back)

    user = frame("program.py", frame("outer.py"))
    own = frame(torch.nn.__file__, frame(torch.__file__, user))
    assert user_frame(user) is user
    assert user_frame(own) is user
    assert user_frame(frame("<frozen importlib._bootstrap>", own)) is user
    assert user_frame(frame(torch.__file__)) is None
    assert user_frame(None) is None
