"""Small mutants of a source file, Python or Cython, and the file that holds many of them behind switches.

Every logical line is parsed with Python's `ast`. For Cython, what Python does not know is blanked out first,
character for character (casts, address-of, the type of a `cdef`), so places in the tree are places in the text.
Lines that still do not parse are left alone, as are comments, docstrings, imports, declarations, decorators,
what a `raise` says, what is done when a small allocation fails, and statements that only wait.

Formulas of ops (`scalar=` in a declaration) and the functions that they call (scalar_functions.h) are C; there,
operators and numbers are changed.

A mutant replaces one span of text. `schemata` writes a file in which each span decides at run time which it is,
as in `(x <= y if tl_mutant_on(17) else x < y)` or `if not tl_mutant_on(18): statement`; so one build serves all
mutants of a file.
"""

import ast
import dataclasses
import re

TOKEN = re.compile(
    r"""(?P<string>[rRbBuUfF]{0,2}(?:\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''
        |"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
    |(?P<comment>\#[^\n]*)|(?P<newline>\n)|(?P<continued>\\\n)|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<name>\w+)|(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
# `<real*>x`, where no operand stands in front: a cast. `&x` there is an address.
CAST = re.compile(
    r"(?<![\w)\]\"'])(?P<space>\s*)"
    r"(?P<cast><\s*(?:const\s+)?(?:unsigned\s+)?[A-Za-z_][\w.]*(?:\s*\[[\w, ]+\])?[\s*]*\??>)"
    r"(?=\s*[\w(&<\"'-])"
)
ADDRESS = re.compile(r"(?<=[(,=])(?P<space>\s*)(?P<sign>&)(?=\s*[A-Za-z_])")
WORDS_BEFORE = ("return", "and", "or", "not", "in", "is", "if", "else", "yield")
CAST_AFTER_WORD = re.compile(
    rf"\b(?:{'|'.join(WORDS_BEFORE)})(?P<space>\s+)(?P<cast><\s*[A-Za-z_][\w.]*[\s*]*\??>)(?=\s*[\w(&])"
)
CYTHON = (".pyx", ".pxd")
C_TYPES = {
    *["float", "double", "int", "long", "bint", "char", "object", "ssize"],
    *[f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)],
}
LEFT_ALONE = {
    *[
        "import",
        "from",
        "cimport",
        "include",
        "ctypedef",
        "class",
        "global",
        "nonlocal",
        "pass",
        "DEF",
        "IF",
    ],
    *["try", "else", "finally", "except", "with", "assert", "async"],
}
BLOCKS_OF_DECLARATIONS = re.compile(
    r"(?:cdef|cpdef|ctypedef)\s+(?:public\s+|packed\s+)*(?:enum|struct|union|fused|extern)\b"
)
CALLS_LEFT_ALONE = {
    *[
        "min",
        "max",
        "fmin",
        "fmax",
        "isinstance",
        "range",
        "getattr",
        "hasattr",
        "setattr",
        "super",
        "zip",
    ],
    "sizeof",
}
CONDITIONS = {  # operators that put a C truth in the place of what may be an object
    "negate the condition",
    "the condition is always true",
    "the condition is never true",
}
BOUNDARY = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
REVERSED = {
    ast.Lt: ">=", ast.LtE: ">", ast.Gt: "<=", ast.GtE: "<", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
OTHER_SIGN = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "+",
    ast.Div: "*",
    ast.FloorDiv: "*",
    ast.Mod: "*",
}
ORDERED = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
# Functions whose first two arguments may change places.
UNORDERED = {
    *["fma", "fmaf", "c_fma", "hypot", "hypotf", "c_hypot", "minimum", "maximum"],
    *["calloc", "check_same_place"],
}
# Statements that change the time only.
WAITS = {"sleep", "usleep", "prefetch", "fetch_early"}
SYMBOLS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}


@dataclasses.dataclass(frozen=True)
class Mutant:
    """One replacement: `text[start:end]` becomes `new`; a statement that is dropped becomes the empty text."""

    file: str
    line: int
    operator: str
    start: int
    end: int
    old: str
    new: str
    source: str  # the line where it starts, without comments: what the list of harmless mutants knows it by

    def diff(self):
        return f"{' '.join(self.old.split())}  ->  {' '.join(self.new.split()) or '(nothing)'}"


@dataclasses.dataclass
class LogicalLine:
    """A statement or the head of a block: where it lies in the text, and its code without comments."""

    start: int
    end: int
    indent: int
    code: str


# ---------------------------------------------------------------- lines
def without_comments(text):
    """The text with comments and continuing backslashes blanked out, of the same length."""
    return "".join(
        re.sub(r"[^\n]", " ", token[0])
        if token.lastgroup == "comment"
        else "  "
        if token.lastgroup == "continued"
        else token[0]
        for token in TOKEN.finditer(text)
    )


def logical_lines(text):
    """The logical lines of a Python or Cython file without comments; empty ones are left out."""
    lines, start, depth, code = [], 0, 0, []
    for token in TOKEN.finditer(text):
        depth += (token.lastgroup == "open") - (token.lastgroup == "close")
        code.append(token[0])
        if token.lastgroup == "newline" and depth == 0:
            add_line(lines, start, "".join(code))
            start, code = token.end(), []
    add_line(lines, start, "".join(code))
    return lines


def add_line(lines, start, code):
    stripped = code.lstrip(" \n")
    if stripped.strip():
        indent = len(code) - len(stripped)
        stripped = stripped.rstrip()
        begin = start + indent
        lines.append(LogicalLine(begin, begin + len(stripped), indent, stripped))


def blank(code, *spans):
    for begin, end in spans:
        code = code[:begin] + " " * (end - begin) + code[end:]
    return code


def without_cython(code):
    """The code with casts and addresses blanked out, of the same length; texts keep theirs."""
    inside = [token.span() for token in TOKEN.finditer(code) if token.lastgroup == "string"]
    while True:
        spans = [match.span("cast") for match in CAST.finditer(code)]
        spans += [match.span("cast") for match in CAST_AFTER_WORD.finditer(code)]
        spans += [match.span("sign") for match in ADDRESS.finditer(code)]
        spans = [s for s in spans if not any(begin <= s[0] < end for begin, end in inside)]
        if not spans:
            return code
        code = blank(code, *spans)


def parse(code, is_cython):
    """Trees for a logical line, each as (tree, where its code begins); none if the line is left alone."""
    word = re.match(r"\w*", code)[0]
    if (
        word in LEFT_ALONE
        or not (word or code[0] in "(*[-")
        or code.startswith(('"', "'", "@"))
        or ";" in code
    ):
        return []
    if is_cython:
        code = without_cython(code)
    if word in ("cdef", "cpdef"):
        return [] if code.endswith(":") else parse_declarations(code)
    if word == "def" and is_cython:
        return []
    if word == "elif":
        code = "  if" + code[4:]
    if code.endswith(":"):
        code += " pass"
    begin = len(code) - len(code.lstrip())
    try:
        (tree,) = ast.parse(code[begin:]).body
    except (SyntaxError, ValueError):
        return []
    return [(tree, begin)]


def parse_declarations(code):
    """The assignments of a `cdef int a = 1, b = n - 1`, each with where it begins."""
    pieces, depth, begin, trees = [], 0, 0, []
    for token in TOKEN.finditer(code):
        depth += (token.lastgroup == "open") - (token.lastgroup == "close")
        if token[0] == "," and depth == 0:
            pieces.append((begin, token.start()))
            begin = token.end()
    for first, end in [*pieces, (begin, len(code))]:
        found = re.search(r"(\w+)\s*=(?!=)", code[first:end])
        if found:
            try:
                trees.append(
                    (ast.parse(code[first + found.start() : end]).body[0], first + found.start())
                )
            except SyntaxError:
                continue
    return [(tree, begin) for tree, begin in trees if isinstance(tree, ast.Assign)]


# ---------------------------------------------------------------- mutants of a line
class Places:
    """Where the nodes of one tree are in the text; a cast in front of a node belongs to it."""

    def __init__(self, text, line, begin, parsed_as):
        self.text, self.origin, self.parsed_as = text, line.start + begin, parsed_as
        body = text[self.origin : line.end]
        self.starts = [0]
        for row in body.split("\n"):
            self.starts.append(self.starts[-1] + len(row) + 1)
        self.rows = body.split("\n")

    def offset(self, row, column):
        return (
            self.origin + self.starts[row - 1] + len(self.rows[row - 1].encode()[:column].decode())
        )

    def span(self, node):
        start = self.offset(node.lineno, node.col_offset)
        while found := re.search(
            r"(?:<[^<>()=]+>|(?<=[(,=\s])&)\s*$", self.text[self.origin : start]
        ):
            if self.parsed_as[found.start() : found.end()].strip():
                break  # a comparison
            start = self.origin + found.start()
        return start, self.offset(node.end_lineno, node.end_col_offset)

    def source(self, node):
        start, end = self.span(node)
        return self.text[start:end]


def is_text(node):
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))
    )


def name_of_call(node):
    return getattr(node.func, "id", getattr(node.func, "attr", ""))


def makes_an_error(node):
    return isinstance(node, ast.Call) and name_of_call(node).endswith(
        ("Error", "Warning", "OutOfRange", "UnsupportedDType")
    )


def asks_for_a_type(node):
    """Is this `real is float`, which Cython decides when it compiles?"""
    names = {
        name.id
        for n in ast.walk(node)
        if isinstance(n, ast.Compare) and isinstance(n.ops[0], (ast.Is, ast.In))
        for name in (n.left, n.comparators[0])
        if isinstance(name, ast.Name)
    }
    return not names.isdisjoint(C_TYPES)


def expressions(tree):
    """The nodes that are mutated: none inside of texts, annotations and what a raise says."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Raise) or is_text(node) or makes_an_error(node):
            continue
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue  # defaults are declarations; a test compares them with PyTorch's
        if isinstance(node, ast.AnnAssign):
            waiting += [node.value] if node.value else []
            continue
        if (
            isinstance(node, ast.For)
            and isinstance(node.iter, ast.Call)
            and getattr(node.iter.func, "id", "") == "prange"
        ):
            continue
        if (
            isinstance(node, ast.Call)
            and getattr(node.func, "id", "") == "range"
            and len(node.args) == 3
        ):
            waiting += node.args[:2]  # C loops need to know which way they go
            continue
        if isinstance(node, ast.keyword) and node.arg == "strict":
            continue  # of zip: a check that fails in no program
        yield node
        waiting += ast.iter_child_nodes(node)


def replacements(node, places, is_cython):
    """(operator, node that is replaced, new text) for everything that can be done to one node."""
    source = places.source
    if (
        isinstance(node, ast.Compare)
        and len(node.ops) == 1
        and not (is_cython and asks_for_a_type(node))
    ):
        left, right, kind = source(node.left), source(node.comparators[0]), type(node.ops[0])
        for operator, table in (("shift the bound", BOUNDARY), ("turn the comparison", REVERSED)):
            if kind in table:
                yield operator, node, f"{left} {table[kind]} {right}"
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield "turn the flag", node, str(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        cast, number = re.match(r"((?:<[^<>]+>)?)\s*(.*)", source(node), re.DOTALL).groups()
        for change in ("+ 1", "- 1")[: 1 + (node.value != 0)]:
            changed = f"{number} {change}"  # of the same C type: it may choose a loop
            yield "shift the constant", node, f"{cast}({changed})" if cast else changed
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "drop the sign", node, source(node.operand)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "negate the condition", node, source(node.operand)
    elif (
        isinstance(node, ast.BinOp)
        and type(node.op) in SYMBOLS
        and not is_text(node.left)
        and not is_text(node.right)
    ):
        left, right = source(node.left), source(node.right)
        left, right = (f"({part})" if isinstance(one, ast.BinOp) else part
                       for one, part in ((node.left, left), (node.right, right)))  # fmt: skip
        if type(node.op) in OTHER_SIGN:
            yield "turn the operator", node, f"{left} {OTHER_SIGN[type(node.op)]} {right}"
        if isinstance(node.op, ORDERED):
            yield "swap the operands", node, f"{right} {SYMBOLS[type(node.op)]} {left}"
        yield "ignore an operand", node, left
        yield "ignore an operand", node, right
    elif isinstance(node, ast.BoolOp) and not (is_cython and asks_for_a_type(node)):
        parts = [f"({source(one)})" for one in node.values]
        yield (
            "turn and into or",
            node,
            (" or " if isinstance(node.op, ast.And) else " and ").join(parts),
        )
        for i in range(len(parts)):
            word = " and " if isinstance(node.op, ast.And) else " or "
            yield "ignore a condition", node, word.join(parts[:i] + parts[i + 1 :])
    elif isinstance(node, (ast.If, ast.While, ast.IfExp)) and not (
        is_cython and asks_for_a_type(node.test)
    ):
        if not isinstance(node.test, (ast.Compare, ast.UnaryOp, ast.Constant)):
            yield "negate the condition", node.test, f"not ({source(node.test)})"
        if isinstance(node, ast.If):
            yield "the condition is always true", node.test, "True"
            yield "the condition is never true", node.test, "False"
    elif isinstance(node, ast.Call):
        yield from replaced_calls(node, places)


def replaced_calls(node, places):
    """The same call with an argument left out, or the first two swapped."""
    parts = [*node.args, *[keyword.value for keyword in node.keywords]]
    if (
        any(isinstance(one, (ast.Starred, ast.GeneratorExp)) for one in parts)
        or name_of_call(node) in CALLS_LEFT_ALONE
    ):
        return
    given = [places.source(one) for one in node.args]
    named = [
        f"{'**' if one.arg is None else one.arg + '='}{places.source(one.value)}"
        for one in node.keywords
    ]
    function = places.source(node.func)
    for i in range(len(named)):
        rest = [*given, *named[:i], *named[i + 1 :]]
        yield "ignore an argument", node, f"{function}({', '.join(rest)})"
    if len(given) > 1:
        yield "ignore an argument", node, f"{function}({', '.join([*given[:-1], *named])})"
        may_swap = name_of_call(node) not in UNORDERED
        if may_swap and not is_text(node.args[0]) and not is_text(node.args[1]):
            yield (
                "swap the arguments",
                node,
                f"{function}({', '.join([given[1], given[0], *given[2:], *named])})",
            )


def is_droppable(tree, known):
    """Is this a statement that leaves a program which still runs? Not the first that gives a name its value."""
    if isinstance(tree, ast.Expr):
        return isinstance(tree.value, ast.Call)
    if isinstance(tree, ast.Assign):
        names = {
            n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
        return names <= known
    return isinstance(tree, (ast.AugAssign, ast.Raise, ast.Continue, ast.Break, ast.Delete))


# ---------------------------------------------------------------- mutants of formulas, which are C
FORMULA = "change the formula"
C_TOKEN = re.compile(
    r"(?P<number>(?<![\w.])\d[\w.]*(?:(?<=e)[-+]\d+)?)|(?P<word>[\w@#.]+)"
    r"|(?P<operator><<|>>|[<>=!]=|&&|\|\||[-+*/%<>&|^])|(?P<other>\S)"
)
C_CAST = re.compile(r"\((?:T|float|double|int|u?int\d+_t)\)$")
C_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
C_VALUE = re.compile(r"\breturn\b|(?<![-+*/%<>&|^=!])=(?!=)")
OTHER_OPERATORS = {
    "+": ["-"],
    "-": ["+"],
    "*": ["+"],
    "/": ["*"],
    "%": ["*"],
    "^": ["&"],
    "<": ["<=", ">="],
    "<=": ["<", ">"],
    ">": [">=", "<="],
    ">=": [">", "<"],
    "==": ["!="],
    "!=": ["=="],
    "&": ["|"],
    "|": ["&"],
    "&&": ["||"],
    "||": ["&&"],
    "<<": [">>"],
    ">>": ["<<"],
}


def formula_mutants(written, text, file):
    """Every mutant of the C in a file; of each, the whole formula is replaced."""
    spans = values_of_c(text) if file.endswith(".h") else formulas_of_ops(text)
    for start, end in spans:
        for new in changed_formulas(text[start:end]):
            yield make(written, text, file, FORMULA, start, end, new)


def changed_formulas(formula):
    """The formula with one operator or one number changed."""
    for token in C_TOKEN.finditer(formula):
        before, after = formula[: token.start()], formula[token.end() :]
        if token["number"]:
            yield f"{before}({token[0]} + 1){after}"
        left = before.rstrip()
        is_unary = not re.search(r"[\w)\]]$", left) or C_CAST.search(left)
        if token["operator"] and not is_unary:
            yield from (f"{before}{other}{after}" for other in OTHER_OPERATORS[token[0]])


def formulas_of_ops(text):
    """Where the texts in `scalar=` are that declarations of ops have."""
    for line in logical_lines(text):
        if line.indent or not re.match(r"cdef Op \w+ = Op\(", line.code):
            continue
        begin = line.code.index("Op(")
        tree = ast.parse(line.code[begin:], mode="eval").body
        places = Places(text, line, begin, line.code[begin:])
        for keyword in tree.keywords:
            keys = [
                id(key)
                for node in ast.walk(keyword)
                if isinstance(node, ast.Dict)
                for key in node.keys
            ]
            for node in ast.walk(keyword.value) if keyword.arg == "scalar" else ():
                if is_text(node) and id(node) not in keys:
                    start, end = places.span(node)
                    yield start + 1, end - 1


def values_of_c(text):
    """Where the values are that C code returns or assigns."""
    for found in C_VALUE.finditer(text):
        depth, end = 0, found.end()
        while depth or text[end] not in ",;":
            depth += (text[end] in "([{") - (text[end] in ")]}")
            end += 1
        if not text[found.end() : end].strip().startswith("{"):
            yield found.end() + 1, end


# ---------------------------------------------------------------- mutants of a file
def find_mutants(text, file):
    """Every mutant of a file; `file` is its name, and ends in .pyx or .pxd for Cython, in .h for C."""
    if file.endswith(".h"):
        code = C_COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
        return list(formula_mutants(text, code, file))
    is_cython = file.endswith(CYTHON)
    found, known, declarations = [], set(), None
    written, text = text, without_comments(text)
    lines = logical_lines(text)
    idle = idle_returns(lines) if is_cython else set()
    starving = without_memory(lines)
    for line in lines:
        if line.start in idle or line.start in starving:
            continue
        if declarations is not None and line.indent > declarations:
            continue
        declarations = line.indent if BLOCKS_OF_DECLARATIONS.match(line.code) else None
        if re.match(r"(?:async\s+)?(?:def|class)\b|(?:cdef|cpdef)\b.*:$", line.code, re.DOTALL):
            known = set(re.findall(r"(\w+)\s*[,)=]", line.code))
        if line.indent == 0:
            continue  # what runs at import declares ops and fills tables
        for tree, begin in parse(line.code, is_cython):
            if (
                isinstance(tree, ast.Expr)
                and isinstance(tree.value, ast.Call)
                and name_of_call(tree.value) in WAITS
            ):
                continue
            masked = without_cython(line.code)[begin:] if is_cython else line.code[begin:]
            places = Places(text, line, begin, masked)
            is_first = tree.lineno == 1 and tree.col_offset == 0 and begin == 0
            for operator, start, end, new in line_mutants(tree, places, is_cython, known, is_first):
                found.append(make(written, text, file, operator, start, end, new))
            known |= {
                n.id
                for n in ast.walk(tree)
                if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
            }
    if file.endswith(".pyx"):
        found += formula_mutants(written, text, file)
    unique = {
        (one.start, one.end, "".join(one.new.split())): one
        for one in found
        if one.old.split() != one.new.split()
    }
    return list(unique.values())


def idle_returns(lines):
    """Where functions return 0 only to say that they have not raised."""
    idle = set()
    for i, head in enumerate(lines):
        if re.match(r"(?:cdef|cpdef)\b.*except -1.*:$", head.code, re.DOTALL):
            rest = lines[i + 1 :]
            after = next((n for n, one in enumerate(rest) if one.indent <= head.indent), len(rest))
            returns = [one for one in rest[:after] if re.match(r"return\b", one.code)]
            if all(one.code == "return 0" for one in returns):
                idle |= {one.start for one in returns}
    return idle


def without_memory(lines):
    """Where blocks raise a MemoryError without a text, heads included: no test can make a small allocation fail."""
    starving = set()
    for i, line in enumerate(lines):
        if line.code == "raise MemoryError()":
            head = next(n for n in range(i, -1, -1) if lines[n].indent < line.indent)
            starving |= {one.start for one in lines[head : i + 1]}
    return starving


def line_mutants(tree, places, is_cython, known, is_first):
    """(operator, start, end, new text) for one parsed line."""
    if (
        is_first
        and is_droppable(tree, known)
        and not places.text[: places.origin].rstrip(" ").endswith(":")
    ):
        yield "drop the statement", *places.span(tree), ""
    if (
        isinstance(tree, ast.AugAssign)
        and isinstance(tree.op, (ast.Add, ast.Sub))
        and not is_text(tree.value)
    ):
        yield "flip the sign", *places.span(tree.value), f"-({places.source(tree.value)})"
    for node in expressions(tree):
        for operator, where, new in replacements(node, places, is_cython):
            yield operator, *places.span(where), new


def make(text, code, file, operator, start, end, new):
    """A mutant of the text; `code` is the text without comments, so a comment may change without consequence."""
    line_start = code.rfind("\n", 0, start) + 1
    line_end = code.find("\n", start)
    source = code[line_start : len(code) if line_end < 0 else line_end].strip()
    line, new = text.count("\n", 0, start) + 1, " ".join(new.split("\n"))
    return Mutant(file, line, operator, start, end, text[start:end], new, source)


# ---------------------------------------------------------------- the file with switches
def schemata(text, mutants, is_cython):
    """The file with every mutant behind its number; `mutants` maps numbers to mutants. No line moves."""
    ask = "tl_mutant_on({})" if is_cython else '__import__("tl_mutants").on({})'
    ordered = sorted(
        mutants.items(), key=lambda item: (item[1].start, -item[1].end, item[1].new == "")
    )
    return splice(text, 0, len(text), ordered, ask)


def splice(text, start, end, ordered, ask):
    """text[start:end] with the switches of the mutants that lie in it."""
    out, at = [], start
    while ordered:
        first = ordered[0][1]
        same = [(n, one) for n, one in ordered if (one.start, one.end) == (first.start, first.end)]
        inner = [
            (n, one)
            for n, one in ordered
            if first.start <= one.start and one.end <= first.end and (n, one) not in same
        ]
        taken = {n for n, _ in [*same, *inner]}
        out += [
            text[at : first.start],
            switch(same, splice(text, first.start, first.end, inner, ask), ask),
        ]
        at = first.end
        ordered = [(n, one) for n, one in ordered if n not in taken]
    return "".join([*out, text[at:end]])


def switch(same, original, ask):
    """The original text, or that of the mutant which is on."""
    for number, mutant in same:
        if mutant.operator == FORMULA:
            original = f"(tl_mutant_on({number}) ? ({mutant.new}) : ({original}))"
            continue
        if mutant.operator == "drop the statement":
            continue
        if mutant.operator in CONDITIONS:  # Cython mistakes the type of `True if c else (x and y)`
            original = f"not not ({original})"
        original = f"(({mutant.new}) if {ask.format(number)} else ({original}))"
    for number, mutant in same:
        if mutant.operator == "drop the statement":
            original = f"if not {ask.format(number)}: {original}"
    return original
