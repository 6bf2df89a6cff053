"""Which answers of a class are alike, more than answers to the same question have to be?

An answer is cut into tokens; comments, layout, names and constants don't count, so that renaming
hides nothing.  Runs of RUN tokens that the stub has are left out, and so are those of more than half
of a larger class: what everyone writes tells nothing.  Two answers are as similar as the share of
their runs that both have.

Source: Schleimer, Wilkerson and Aiken, "Winnowing: Local Algorithms for Document Fingerprinting",
2003; small programs need no winnowing, so all runs are kept.
"""

import builtins
import io
import keyword
import tokenize
from dataclasses import dataclass
from itertools import combinations

RUN = 6  # tokens
FEWEST = 12  # runs of its own that an answer needs to be compared
CLASS = 6  # answers from which on what half of them have is left out
LEFT_OUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


@dataclass(frozen=True)
class Pair:
    """Two answers that are alike.

    Attributes
    ----------
    exercise : str, "03.2"
    one, other : str, the students
    similarity : float, from 0 to 1
    runs : int, how many runs both answers have
    """

    exercise: str
    one: str
    other: str
    similarity: float
    runs: int


def similar(answers, stub="", least=0.8):
    """Yield a Pair for every two answers to one exercise that are alike, the most similar first.

    Parameters
    ----------
    answers : dict from (exercise, student) to code
    stub : str, what every answer begins with
    least : float, from 0 to 1, the similarity from which on a pair is reported
    """
    known = runs(stub)
    found = {key: runs(code) - known for key, code in answers.items()}
    common = {run for run in set().union(*found.values()) if is_common(run, found)}
    found = {key: own - common for key, own in found.items()}
    pairs = []
    for (one, first), (other, second) in combinations(found.items(), 2):
        if min(len(first), len(second)) < FEWEST:
            continue
        share = len(first & second) / len(first | second)
        if share >= least:
            pairs.append(Pair(one[0], one[1], other[1], share, len(first & second)))
    yield from sorted(pairs, key=lambda pair: -pair.similarity)


def is_common(run, found):
    return len(found) >= CLASS and 2 * sum(run in own for own in found.values()) > len(found)


def runs(code):
    """Return the set of all runs of tokens in a program."""
    tokens = list(plain_tokens(code))
    return {tuple(tokens[i : i + RUN]) for i in range(len(tokens) - RUN + 1)}


def plain_tokens(code):
    """Yield the tokens of a program; a name is "name" unless Python or a library has given it."""
    before = ""
    try:
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            if token.type in LEFT_OUT:
                continue
            if token.type == tokenize.STRING:
                text = "text"
            elif token.type == tokenize.NUMBER:
                text = "number"
            elif token.type == tokenize.NAME and is_own_name(token.string, before):
                text = "name"
            else:
                text = token.string
            before = token.string
            yield text
    except (tokenize.TokenError, SyntaxError):
        return


def is_own_name(name, before):
    return not (keyword.iskeyword(name) or hasattr(builtins, name) or before == ".")
