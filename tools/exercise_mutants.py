"""Does a wrong answer pass an exercise's check? Try many.

    python tools/exercise_mutants.py                all exercises
    python tools/exercise_mutants.py 03 18.2        those of chapter 3, and 18.2

For each exercise, answers are made by themselves: small mutants of its solution, functions that return an
argument, a constant or nothing, the stub; for a bug hunt, tests that pass everything, refuse everything, or read
what tells the planted function from the right one instead of calling it. Each that a check accepts is shown. A mutant
may be as right as the solution: such answers are listed in tools/equal_answers.toml with a reason. (A bug hunt's
test has no mutants: with other numbers it is just another good test.)
"""

import argparse
import ast
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(Path(__file__).resolve().parent)]

from mutation import find_mutants  # noqa: E402

from tensorlab.learn.exercise import BugHunt, ExerciseError, all_chapters, find  # noqa: E402
from tensorlab.learn.judge import RIGHT, disguised, judge  # noqa: E402

SECONDS = 5
EQUAL = Path(__file__).with_name("equal_answers.toml")
PEEKS = {  # what a test may read of a function instead of calling it
    "its name": "subject.__name__",
    "its qualified name": "subject.__qualname__",
    "its docstring": "subject.__doc__",
    "its module": "subject.__module__",
    "the name in its code": "subject.__code__.co_name",
    "its line": "subject.__code__.co_firstlineno",
    "its length": "len(subject.__code__.co_code)",
    "its constants": "len(subject.__code__.co_consts)",
    "the docstring in its closure": "subject.__closure__[0].cell_contents.__doc__",
    "the name in its closure": "subject.__closure__[0].cell_contents.__name__",
    "the code's name in its closure": "subject.__closure__[0].cell_contents.__code__.co_name",
}


def answers_to(exercise):
    """Yield (what it is, code) for every answer that is tried."""
    yield "the stub", exercise.stub
    if issubclass(exercise, BugHunt):
        yield "passes everything", "def test(subject):\n    pass"
        yield "refuses everything", "def test(subject):\n    raise AssertionError"
        for name, expression in PEEKS.items():
            try:
                value = eval(expression, {"subject": disguised(exercise.right)})
            except AttributeError:
                continue  # a class has no code
            yield f"reads {name}", f"def test(subject):\n    assert {expression} == {value!r}"
        yield (
            "counts its calls",
            "calls = []\ndef test(subject):\n    calls.append(1)\n    assert len(calls) < 2",
        )
        return
    text = exercise.solution
    for mutant in find_mutants(text, "solution.py"):
        changed = text[: mutant.start] + (mutant.new or "pass") + text[mutant.end :]
        yield f"{mutant.operator}: {mutant.diff()}", changed
    lines = text.splitlines(keepends=True)
    for function in ast.parse(text).body:
        if not isinstance(function, ast.FunctionDef):
            continue
        before, after = lines[: function.body[0].lineno - 1], lines[function.end_lineno :]
        arguments = [argument.arg for argument in function.args.args]
        for value in [*arguments, "None", "True", "0", "1.0", "()", "[]"]:
            code = "".join([*before, f"    return {value}\n", *after])
            yield f"{function.name} returns {value}", code


def accepted(chapter, exercise, code):
    """Say whether the check passes; an answer that is not even Python does not."""
    names = {"__name__": "answer"}
    try:
        exec(compile(f"{chapter.imports}\n\n\n{code}\n", "answer.py", "exec"), names)
    except Exception:
        return False
    return judge(exercise, names, seconds=SECONDS).state == RIGHT


def load_equal(path=EQUAL):
    """Return {(exercise, what was changed)} that are as right as the solution."""
    entries = (
        tomllib.loads(path.read_text(encoding="utf-8")).get("equal", []) if path.exists() else []
    )
    return {(entry["exercise"], change) for entry in entries for change in entry["changes"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "which", nargs="*", help="03 for a chapter, 03.2 for an exercise; all unless given"
    )
    which, equal = parser.parse_args().which, load_equal()
    try:
        chosen = [find(name) for name in which] or [(one, one.exercises) for one in all_chapters()]
    except ExerciseError as error:
        sys.exit(f"exercise_mutants: {error}")
    tried = passed = 0
    for chapter, exercises in chosen:
        for exercise in exercises:
            for what, code in answers_to(exercise):
                tried += 1
                if code.split() == exercise.solution.split() or (exercise.id, what) in equal:
                    continue
                if accepted(chapter, exercise, code):
                    passed += 1
                    print(f"{exercise.id} {exercise.title}: accepted\n      {what}", flush=True)
    print(f"{tried} answers tried; {passed} that are not listed were accepted")
    sys.exit(1 if passed else 0)


if __name__ == "__main__":
    main()
