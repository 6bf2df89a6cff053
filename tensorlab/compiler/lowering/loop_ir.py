"""The loop IR: what a kernel does, as a few kinds of statement that print as C99.

    Declare     const float x0 = in0[i];    a value: an element that is loaded, what an op computes
    Assign      total_1 += mul_2;           an accumulator's next value
    Store       out0[i] = mul_2;
    Loop        for (int64_t i = begin; i < end; i++) { ... }
    If          if (is_unusual) { ... }
    Function    the kernel, with the ABI of plan.pyx

Expressions are C text: they are built once, from those that the ops declare, and nothing takes them
apart again.
"""

from dataclasses import dataclass

SIGNATURE = "void {name}(void *const *tensors, const int64_t *numbers, int64_t begin, int64_t end)"


@dataclass(frozen=True)
class Declare:
    """A new variable and its value; `comment` says which op it comes from."""

    kind: str
    name: str
    value: str
    comment: str = ""

    def lines(self):
        note = f"  /* {self.comment} */" if self.comment else ""
        value = f" = {self.value}" if self.value else ""  # an array has none
        return [f"{self.kind} {self.name}{value};{note}"]


@dataclass(frozen=True)
class Load:
    """A new variable for the element of load number `access`; where that is, is known when the loops are."""

    kind: str
    name: str
    access: int


@dataclass(frozen=True)
class Kept:
    """A new variable for what an earlier loop has put into a buffer."""

    kind: str
    name: str
    buffer: str


@dataclass(frozen=True)
class Assign:
    """A variable that changes: an accumulator or an index."""

    name: str
    value: str
    operator: str = "="

    def lines(self):
        return [f"{self.name} {self.operator} {self.value};"]


@dataclass(frozen=True)
class Store:
    """An element of an output is written."""

    place: str
    value: str

    def lines(self):
        return [f"{self.place} = {self.value};"]


@dataclass(frozen=True)
class Loop:
    """`for (variable = first; variable < last; variable += step)`

    No iteration of an innermost loop reads what another one stores. Its pragma says so: `restrict`
    does not hold for gcc's vectorizer, which compares all pointers when the loop begins, and from
    five operands on leaves it scalar: tanh(x) * sigmoid(x) + x, done twice, took 9 times as long.
    """

    variable: str
    first: str
    last: str
    body: list
    step: str = "1"
    is_innermost: bool = False

    def lines(self):
        return [*(["#pragma GCC ivdep"] if self.is_innermost else []), *self.statement()]

    def statement(self):
        advance = f"{self.variable}++" if self.step == "1" else f"{self.variable} += {self.step}"
        advance = advance if self.step else ""  # the body moves it
        head = f"int64_t {self.variable} = {self.first}; {self.variable} < {self.last}; {advance}"
        return block(f"for ({head.rstrip()})", self.body)


@dataclass(frozen=True)
class If:
    condition: str
    body: list

    def lines(self):
        return block(f"if ({self.condition})", self.body)


@dataclass
class Function:
    """A kernel. It is handed pointers and numbers, and does the indices from `begin` to before `end`."""

    name: str
    comment: list
    body: list

    def text(self):
        remark = ["/* " + "\n   ".join(self.comment) + " */"] if self.comment else []
        return "\n".join([*remark, *block(SIGNATURE.format(name=self.name), self.body)]) + "\n"


def block(head, body):
    """Print statements between braces."""
    inner = [f"    {line}" for statement in body for line in statement.lines()]
    return [f"{head} {{", *inner, "}"]
