"""tensorlab explain matmul: print what the book says about an error message."""

import re
import sys
import textwrap

from .command import add_command

WIDTH = 88
SECTION = re.compile(
    r"^\(error-(?P<name>[\w-]+)\)=\n### (?P<title>[^\n]*)\n(?P<body>.*?)(?=^\(error-|^## |\Z)",
    re.MULTILINE | re.DOTALL,
)
PYTORCH = re.compile(r"^In PyTorch: `(.*)`\.$", re.MULTILINE)
CLASS = re.compile(r"^[\w.]*(?:Error|Exception): ")
CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


def add(commands):
    parser = add_command(
        commands,
        "explain",
        run,
        "say what an error message means and what to do",
        with_exercises=False,
    )
    parser.add_argument(
        "words",
        nargs="*",
        help="the name below the message, or some of its words; default: list all",
    )


def run(options):
    known, words = sections(), " ".join(options.words)
    found = find(words, known) if words else list(known)
    if not found:
        print(
            f"tensorlab explain: nothing is known of {words!r}; without words it lists all messages",
            file=sys.stderr,
        )
        return 1
    if len(found) == 1:
        print(shown(*known[found[0]]))
    else:
        width = max(map(len, found))
        print("\n".join(f"{name:{width}}  {known[name][0]}" for name in found))
    return 0


def sections():
    """Return {name: (title, body)} of the book's page about messages."""
    from tensorlab.learn.exercise import chapters_folder

    text = (chapters_folder() / "26-pitfalls/messages.md").read_text(encoding="utf-8")
    return {one["name"]: (one["title"], one["body"].strip()) for one in SECTION.finditer(text)}


def find(words, known):
    """Return names of sections: of this name, of this message, ours or PyTorch's, else those with all of the words."""
    from tensorlab._pitfalls import section_for

    if words in known:
        return [words]
    message = CLASS.sub("", words)
    if name := section_for(message):
        return [name]
    if found := [name for name in known if said_by_pytorch(message, known[name][1])]:
        return found
    wanted = words.lower().split()
    texts = {name: f"{title} {body}".lower() for name, (title, body) in known.items()}
    return [name for name, text in texts.items() if all(word in text for word in wanted)]


def said_by_pytorch(message, body):
    """Say whether a message is what PyTorch says where a section's program fails; numbers may be others.

    >>> said_by_pytorch("Target 7 is out of bounds.", "In PyTorch: `Target 3 is out of bounds`.")
    True
    """
    (theirs,) = PYTORCH.findall(body)
    asked, known = without_numbers(message), without_numbers(theirs)
    return known in asked or (asked in known and len(asked.split()) > 2)


def without_numbers(message):
    return re.sub(r"-?\d+(, -?\d+)*", "0", message.lower())


def shown(title, body):
    """Return a section as text for a terminal: its program, and its prose without marks."""
    from tensorlab.learn.notebook import plain_text

    cells = [without_says(code) for code in CELL.findall(body)]
    prose = plain_text(CELL.sub("", body)).split("\n\n")
    parts = [title, *(textwrap.indent(code.strip(), "    ") for code in cells)]
    return "\n\n".join([*parts, *(textwrap.fill(one, WIDTH) for one in prose)])


def without_says(code):
    """Return the program alone: on the page, `says` prints the message that it raises."""
    code = re.sub(r"^says\(lambda: (.*)\)$", r"\1", code, flags=re.MULTILINE)
    return re.sub(r"^says\(([\w.]+)\)$", r"\1()", code, flags=re.MULTILINE)
