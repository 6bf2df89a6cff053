"""Questions and answers between the judge's process and a student's: one line of JSON each.

Either side may ask while it is being asked: a student's function that gets a function of the judge calls it
that way.  With each message go the modes that a check may have set (grad mode, inference mode) and the state of the
random numbers, where they have changed, so that both processes are in the same state.
"""

import base64
import copy
import json

import tensorlab
from tensorlab._core.state import modes

from .expect import WATCHES, watched_call
from .judge import Broken, TimeIsUp, Unsendable, readers_lines, time_limit
from .portable import bytes_of
from .raised import kinds_of, like
from .remote import OPERATORS, Remote
from .wire import MOST_BYTES, Wire

DEEPEST = 10_000  # for Python's recursion: a value may hold values that hold values ...


class Exchange:
    """One end of the line.

    Parameters
    ----------
    side : "j" for the judge, "w" for the witness
    reader, writer : binary streams
    records : names of modules whose instances travel by value
    """

    def __init__(self, side, reader, writer, records=()):
        self.side, self.reader, self.writer = side, reader, writer
        self.wire = Wire(side, self.ask, records)
        self.state = None  # the modes that both sides have
        self.raised = {}  # exceptions of this side that have travelled
        self.seconds = None  # after which a question to the witness is given up
        self.depth = 0
        self.answering = {  # what either side may ask
            "gradients": lambda *arguments: self.wire.gradients(*arguments),
            "call": lambda function, arguments, named: function(*arguments, **named),
            "get": lambda value, name: getattr(allowed(value, name, side), name),
            "iter": iter,
            "next": next,
            "len": len,
            "item": lambda value, key: value[key],
            "operator": operate,
            "copy": copy.deepcopy,
        }
        if side == "w":
            self.answering |= {  # what only the judge may
                "trace": self.trace_of,
                "set": setattr,
                "watched call": watched_call,
                "set item": lambda value, key, item: value.__setitem__(key, item),
                "enter": lambda value: value.__enter__(),
                "exit": lambda value, kind: value.__exit__(kind, kind and kind(), None),
            }

    def begin_anew(self):
        """Forget the values of the exercise before; both sides do."""
        self.wire = Wire(self.side, self.ask, self.wire.records)
        self.raised = {}

    # ------------------------------------------------------------ asking

    def ask(self, kind, *arguments):
        """Return the answer of the other side, or raise what was raised there."""
        if kind == "call" and WATCHES and self.side == "j":
            return self.watched(arguments)
        message = {"ask": kind, "with": self.wire.pack_message(list(arguments))}
        if self.seconds is not None and self.depth == 0:
            message["seconds"] = self.seconds
        self.send(message)
        self.depth += 1
        try:
            while True:
                message = self.receive()
                if "ask" not in message:
                    return self.answer_in(message)
                self.serve(message)
        finally:
            self.depth -= 1

    def watched(self, call):
        """Return the answer to a call, and tell the blocks of the check that it is in what it did."""
        told = self.ask("watched call", *call)
        if not isinstance(told, tuple) or [type(one) for one in told[1:]] != [list, int]:
            raise Broken("a message cannot be read: it does not say what a call did")
        result, names, taken = told
        for watch in WATCHES:
            watch.note(names, taken)
        return result

    def answer_in(self, message):
        self.take_state(message)
        result, _ = self.read(message, "answer")
        if "error" in message:
            raise self.exception(message["error"])
        return result

    # ------------------------------------------------------------ answering

    def serve(self, message):
        """Answer one question of the other side."""
        arguments = []
        try:
            self.take_state(message)
            arguments = self.read(message, "ask")
            with time_limit(message.get("seconds")) if "seconds" in message else nothing():
                result = self.answer_to(message["ask"], arguments)
            self.send({"answer": self.wire.pack_message([result, arguments])})
        except Broken:
            raise
        except (TimeIsUp, Unsendable) as error:
            if self.side == "j":
                raise
            self.send({"answer": [], "error": self.about(error)})
        except BaseException as error:
            if self.side == "j" and not isinstance(error, Exception):
                raise
            self.send({"answer": self.safely(arguments), "error": self.about(error)})

    def answer_to(self, kind, arguments):
        """Return the answer to a question; the judge is asked only about what it has sent."""
        if self.side == "j" and kind != "gradients":
            name = self.wire.names.get(id(arguments[0]), "")
            if kind not in self.answering or not name.startswith("j"):
                raise AttributeError(f"the check does not answer this: {str(kind)[:20]}")
        return self.answering[kind](*arguments)

    def safely(self, arguments):
        try:
            return self.wire.pack_message([None, arguments])
        except Unsendable:
            return []

    def read(self, message, kind):
        """Return the values that a message holds, as a list."""
        packed = message.get("with" if kind == "ask" else "answer") or ["tuple", [None, None]]
        self.wire.is_answer = kind == "answer"
        try:
            return self.wire.unpack(packed)
        except Unsendable:
            raise
        except Exception as error:
            raise Broken(f"a message cannot be read: {type(error).__name__}: {error}") from error

    # ------------------------------------------------------------ messages

    def send(self, message):
        message["state"] = self.changed_state()
        try:
            self.writer.write(json.dumps(message).encode("ascii") + b"\n")
            self.writer.flush()
        except (OSError, ValueError) as error:
            raise Broken("the process has ended") from error

    def receive(self):
        line = self.reader.readline(MOST_BYTES)
        if not line.endswith(b"\n"):
            raise Broken(
                "the process has ended" if len(line) < MOST_BYTES else "an endless message"
            )
        try:
            message = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise Broken("a message is no JSON") from error
        if not isinstance(message, dict):
            raise Broken("a message is no object")
        return message

    def changed_state(self):
        state = current_state()
        if state == self.state:
            return None
        self.state = state
        return [*state[:3], base64.b64encode(state[3]).decode("ascii")]

    def take_state(self, message):
        if message.get("state") is None:
            return
        grad, inference, threads, numbers = message["state"]
        numbers = base64.b64decode(numbers)
        modes.switch_inference_mode(bool(inference))
        modes.switch_grad_mode(bool(grad))
        if numbers != rng_state():
            given = tensorlab.frombuffer(bytearray(numbers), dtype=tensorlab.uint8)
            tensorlab.set_rng_state(given.clone())
        if threads != tensorlab.get_num_threads():
            tensorlab.set_num_threads(threads)
        self.state = current_state()

    # ------------------------------------------------------------ exceptions

    def about(self, error):
        """Return what the other side hears of an exception."""
        origin = getattr(error, "origin", None)
        if origin is None:
            origin = f"{self.side}{len(self.raised) + 1}"
            self.raised[origin] = error
            error.origin = origin
        return {"kinds": kinds_of(error), "text": str(error), "origin": origin}

    def trace_of(self, origin):
        """Return the student's lines of an exception of this side."""
        error = self.raised[origin]
        return readers_lines(error, with_error=not isinstance(error, TimeIsUp))

    def exception(self, about):
        """Return an exception like the one of the other side, or this side's own that came back."""
        origin, text, kinds = (about.get(key) for key in ("origin", "text", "kinds"))
        own = self.raised.get(origin) if str(origin).startswith(self.side) else None
        if own is None:
            own = like(kinds, text)
            own.origin = origin
        if own.origin.startswith("w"):
            own.trace_of_reader = lambda: str(self.ask("trace", own.origin))
        return own


def current_state():
    """Return grad mode, inference mode, the number of threads and the state of the random numbers."""
    grad, inference = modes.is_grad_enabled(), modes.is_inference_mode_enabled()
    return grad, inference, tensorlab.get_num_threads(), rng_state()


def rng_state():
    return bytes_of(tensorlab.get_rng_state())


def allowed(value, name, side):
    """Return `value` if the other side may ask for this attribute of it."""
    plain = not isinstance(value, (type, Remote)) and not callable(value)
    if side == "j" and (name.startswith("_") or not plain):
        raise AttributeError(f"{name} of an object of the check can't be read")
    return value


def operate(value, name, *others):
    if name not in OPERATORS:
        raise AttributeError(name)
    return getattr(type(value), name)(value, *others)


class nothing:
    def __enter__(self):
        pass

    def __exit__(self, *error):
        pass
