"""A dispatcher in sixty lines: ops, layers in a fixed order, and a kernel for each device."""

PLACES = ("transform", "recorder", "autograd", "mode")  # from the top
NOWHERE = float("inf")  # above all layers

entered: list = []  # the layers that take part, as they were entered
ceiling = NOWHERE  # the position of the layer that is handling a call


class Array:
    """Some numbers, and the name of the device where they are."""

    def __init__(self, values, device="cpu"):
        self.values, self.device = list(values), device

    def __repr__(self):
        return f"{self.values} on {self.device}"


class Op:
    """A name, and a kernel for each device. Calling it is the one entry."""

    def __init__(self, name):
        self.name, self.kernels = name, {}

    def __call__(self, *arguments):
        layer = topmost()
        if layer is not None:
            return handle(layer, self, arguments)
        device = next(one.device for one in arguments if isinstance(one, Array))
        return Array(self.kernels[device](*arguments), device)


class Layer:
    """Takes part in calls between `with layer:` and the end of the block."""

    def __init__(self, place):
        self.place, self.position = place, 0

    def call(self, op, arguments):
        """Handle a call; this one passes it on to the layers below."""
        return op(*arguments)

    def __enter__(self):
        same = [one.position for one in entered if one.place == self.place]
        lowest = 1000 * (len(PLACES) - PLACES.index(self.place))
        self.position = max([lowest, *(position + 1 for position in same)])
        entered.append(self)
        return self

    def __exit__(self, *exception):
        entered.remove(self)


def topmost():
    """The highest layer below the ceiling; None if only the kernel is left."""
    below = [one for one in entered if one.position < ceiling]
    return max(below, key=lambda one: one.position, default=None)


def handle(layer, op, arguments):
    """Let a layer handle a call. What it calls meets only the layers below it."""
    global ceiling
    outer, ceiling = ceiling, layer.position
    try:
        return layer.call(op, arguments)
    finally:
        ceiling = outer


# ---------------------------------------------------------------- three ops and a public function
ADD, SUB, NEG = Op("add"), Op("sub"), Op("neg")
ADD.kernels["cpu"] = lambda x, y: [a + b for a, b in zip(x.values, y.values, strict=True)]
SUB.kernels["cpu"] = lambda x, y: [a - b for a, b in zip(x.values, y.values, strict=True)]
NEG.kernels["cpu"] = lambda x: [-a for a in x.values]


def add(x, y):
    """The public function. Where no layer can miss the call, it goes to the loop at once."""
    if not entered and x.device == y.device == "cpu":
        return Array(ADD.kernels["cpu"](x, y))
    return ADD(x, y)
