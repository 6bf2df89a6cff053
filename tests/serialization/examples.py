"""Objects that a program saves, made alike in both packages."""

import collections

DTYPES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
]


def tensors(T):
    """Return tensors of all dtypes, shapes and layouts, by name."""
    base = T.arange(24.0)
    made = {f"of {name}": T.tensor([0, 1, 2, 100]).to(getattr(T, name)) for name in DTYPES}
    made |= {
        "slice": base[5:9],
        "transposed": base.reshape(4, 6).t(),
        "steps": base.reshape(4, 6)[1:3, ::2],
        "expanded": T.ones(1, 3).expand(4, 3),
        "number": T.tensor(2.5),
        "empty": T.zeros(0, 3),
        "learns": T.ones(2, requires_grad=True),
        "parameter": T.nn.Parameter(T.tensor([1.5, -2.0])),
        "frozen": T.nn.Parameter(T.zeros(2), requires_grad=False),
    }
    made["with attributes"] = T.ones(2)
    made["with attributes"].unit = "metres"
    made["parameter with attributes"] = T.nn.Parameter(T.ones(2))
    made["parameter with attributes"].group = [1, 2]
    made["frozen with attributes"] = T.nn.Parameter(T.ones(2), requires_grad=False)
    made["frozen with attributes"].group = [3]
    return made


def states(T):
    """Return state dicts after two steps of training, by name."""
    T.manual_seed(0)
    model = T.nn.Sequential(T.nn.Linear(3, 4), T.nn.BatchNorm1d(4), T.nn.Linear(4, 2))
    made = {}
    for name in ("SGD", "Adam", "LBFGS"):
        options = {"momentum": 0.9} if name == "SGD" else {}
        optimizer = getattr(T.optim, name)(model.parameters(), lr=0.05, **options)
        schedule = T.optim.lr_scheduler
        scheduler = schedule.MultiStepLR(optimizer, [1, 3]) if name == "SGD" else None

        def closure(optimizer=optimizer):
            optimizer.zero_grad()
            loss = model(T.ones(5, 3)).square().sum()
            loss.backward()
            return loss

        for _ in range(2):
            optimizer.step(closure)
            if scheduler:
                scheduler.step()
        made[name] = optimizer.state_dict()
        if scheduler:
            made["scheduler"] = scheduler.state_dict()
    made["model"] = model.state_dict()
    return made


def containers(T):
    return {
        "plain": {"epoch": 3, "loss": 0.25, "name": "süß", "done": False, "none": None},
        "numbers": [0, -1, 255, 256, 65536, 2**31, -(2**31), 2**70, -(2**70), 1e300, 1 + 2j],
        "nested": [{"a": (T.ones(1), [T.zeros(2)])}, ((), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4))],
        "ordered": collections.OrderedDict(b=T.ones(1), a=2),
        "counter": collections.Counter({3: 2, 5: 1}),
        "sets": [{1, 2}, frozenset({"x"})],
        "bytes": [b"", b"ab\xff", bytearray(b"xyz")],
        "kinds": [T.Size([2, 3]), T.float16, T.int64, T.device("cpu")],
        "long text": "x" * 70_000,
        "many": list(range(1500)),
    }


def shown(value):
    """Return a value in plain Python, with everything that a program can see of its tensors."""
    if hasattr(value, "storage_offset"):
        parts = str(value.dtype).partition(".")[2], tuple(value.shape), value.stride()
        more = value.storage_offset(), value.requires_grad, type(value).__name__
        return (*parts, *more, value.tolist(), shown(dict(value.__dict__)))
    if isinstance(value, dict):
        return type(value).__name__, [(shown(k), shown(v)) for k, v in value.items()]
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [shown(one) for one in value]
    return str(value).replace("torch.", "tensorlab."), type(value).__name__
