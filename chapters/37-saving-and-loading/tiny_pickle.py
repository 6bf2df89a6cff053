"""A machine that reads pickles and shows what it does: the small program of chapter 37."""

import copy
import struct

import tensorlab as torch

MARK = "("


class Machine:
    """Runs the instructions of a pickle on a stack; `calls` are the functions that it may call, by name."""

    def __init__(self, data, calls):
        self.data, self.place, self.calls = data, 0, calls
        self.stack, self.memo, self.log = [], {}, []

    def take(self, count):
        taken = self.data[self.place : self.place + count]
        self.place += count
        return taken

    def line(self):
        end = self.data.index(b"\n", self.place)
        return self.take(end + 1 - self.place)[:-1].decode()

    def pop_to_mark(self):
        place = len(self.stack) - 1 - self.stack[::-1].index(MARK)
        items = self.stack[place + 1 :]
        del self.stack[place:]
        return items

    def run(self):
        """Return what the pickle makes, and note each instruction and the stack after it."""
        while True:
            start = self.place
            code = self.take(1)
            if code == b".":
                return self.stack.pop()
            if code not in STEPS:
                raise ValueError(f"this small machine doesn't know {code!r}")
            name, step = STEPS[code]
            step(self)
            self.log.append((start, self.data[start : self.place], name, copy.deepcopy(self.stack)))

    def call(self):
        args, name = self.stack.pop(), self.stack.pop()
        if name not in self.calls:
            raise PermissionError(f"the file wants to call {name}{args}")
        self.stack.append(self.calls[name](*args))


def put_items(machine):
    items = machine.pop_to_mark()
    machine.stack[-1].update(zip(items[::2], items[1::2], strict=True))


def remember(machine):
    machine.memo[machine.take(1)[0]] = machine.stack[-1]


def push(value):
    return lambda machine: machine.stack.append(value(machine))


STEPS = {
    b"\x80": ("protocol", lambda m: m.take(1)),
    b"}": ("an empty dict", push(lambda m: {})),
    b"]": ("an empty list", push(lambda m: [])),
    b"(": ("a mark", push(lambda m: MARK)),
    b"K": ("a small number", push(lambda m: m.take(1)[0])),
    b"G": ("a float", push(lambda m: struct.unpack(">d", m.take(8))[0])),
    b"X": ("text", push(lambda m: m.take(struct.unpack("<I", m.take(4))[0]).decode())),
    b"N": ("None", push(lambda m: None)),
    b"q": ("remember", remember),
    b"h": ("look up", push(lambda m: m.memo[m.take(1)[0]])),
    b"s": ("set an item", lambda m: m.stack[-3].update([(m.stack.pop(-2), m.stack.pop())])),
    b"u": ("set items", put_items),
    b"e": ("append", lambda m: (items := m.pop_to_mark(), m.stack[-1].extend(items))),
    b"t": ("a tuple", push(lambda m: tuple(m.pop_to_mark()))),
    b"\x85": ("a tuple of 1", push(lambda m: (m.stack.pop(),))),
    b"\x86": ("a tuple of 2", push(lambda m: (m.stack.pop(-2), m.stack.pop()))),
    b")": ("an empty tuple", push(lambda m: ())),
    b"\x89": ("False", push(lambda m: False)),
    b"a": ("append one", lambda m: m.stack[-2].append(m.stack.pop())),
    b"c": ("a name", push(lambda m: f"{m.line()}.{m.line()}")),
    b"R": ("call", Machine.call),
}


def unused(obj):
    """Return {name: (bytes that a tensor shows, bytes of its storage)} where the file holds more than is shown."""
    found = {}
    for name, x in obj.items():
        if isinstance(x, torch.Tensor):
            shown, stored = x.numel() * x.element_size(), x.untyped_storage().nbytes()
            if shown < stored:
                found[name] = shown, stored
    return found
