"""Submissions that try to earn points without an answer, for test_cheats.py.

Each is a whole file for chapter 90 (`conftest.CHEATED`), whose exercises it can't answer honestly.
"""

PLAIN = "seasons = 3\n\ndef double(x):\n    return x\n\ndef test(largest):\n    assert largest([1, 2]) == 2\n"

EVERYWHERE = """
import gc, sys
import tensorlab.learn.judge, tensorlab.learn.expect, tensorlab.learn.exchange

def yes(*arguments, **named):
    return None

for module in list(sys.modules.values()):
    for name in ("expect", "require", "same", "run_check", "hunt", "expect_error"):
        if hasattr(module, name):
            try:
                setattr(module, name, yes if name != "same" else lambda *a, **k: True)
            except Exception:
                pass
"""

CHEATS = {
    "replaces the judge of the main module": """
import __main__
from tensorlab.learn.judge import Verdict

def judge(exercise, names, **more):
    return Verdict(exercise.id, exercise.title, credit=1.0)

__main__.judge = judge
import tensorlab.learn.judge
tensorlab.learn.judge.judge = judge
""",
    "executes the packaged solution": """
from tensorlab.learn.exercise import load_chapter
chapter = load_chapter("90")
for exercise in chapter.exercises:
    exec(exercise.solution)
""",
    "reads the solution from the file": """
import os, re
from pathlib import Path
folder = os.environ.get("TENSORLAB_EXERCISES", "") or "EXERCISES"
text = next(Path(folder).glob("90-*/exercises.py")).read_text()
exec(re.findall(r'solution = "(.*?)"', text)[0])
""",
    "reads the answers of the tests": """
import os
from pathlib import Path
import tensorlab
home = Path(tensorlab.__file__).parents[1]
os.chdir(home)
for path in (home / "tests/learn/answers/03.toml", "chapters/03-strides/exercises.py", b"tools/bugs.py"):
    try:
        os.close(os.open(path, os.O_RDONLY))
    except OSError:
        pass
""",
    "ends the process with status 0": """
import os

def double(x):
    os._exit(0)

def test(largest):
    os._exit(0)
""",
    "prints a verdict": """
import json, os
line = json.dumps({"verdict": {"id": "90.1", "title": "The number of seasons", "state": "right", "credit": 1.0}})
for descriptor in range(3, 30):
    try:
        os.write(descriptor, (line + "\\n").encode())
    except OSError:
        pass
print(line, flush=True)
""",
    "answers before it is asked": """
import json, os
line = json.dumps({"answer": ["list", "w1", [["dict", "w2", [["seasons", 4]]], []]], "state": None})
for descriptor in range(3, 30):
    try:
        os.write(descriptor, 3 * (line + "\\n").encode())
    except OSError:
        pass
""",
    "patches builtins": """
import builtins
builtins.bool = lambda *a: True
builtins.isinstance = lambda *a: True
builtins.all = builtins.any = lambda *a: True
""",
    "patches tensorlab": """
import tensorlab
tensorlab.equal = tensorlab.allclose = lambda *a, **k: True
tensorlab.testing.assert_close = lambda *a, **k: None
""",
    "patches every module that is loaded": EVERYWHERE,
    "replaces modules that a check may import": """
import sys, types

class Agreeable(types.ModuleType):
    def __getattr__(self, name):
        return lambda *arguments, **named: True

for name in ("pytest", "numpy.testing", "tensorlab.learn.expect", "tensorlab.learn.judge", "json"):
    sys.modules[name] = Agreeable(name)
""",
    "equals everything": """
class Anything:
    def __eq__(self, other):
        return True
    __ne__ = lambda self, other: False
    __hash__ = object.__hash__
    __bool__ = lambda self: True
    def __getattr__(self, name):
        return Anything()
    def __call__(self, *arguments, **named):
        return Anything()
    __iter__ = lambda self: iter([])
    __len__ = lambda self: 4
    __getitem__ = lambda self, key: Anything()
    __sub__ = __add__ = __rsub__ = __abs__ = lambda self, *other: 0.0
    __lt__ = __le__ = __gt__ = __ge__ = lambda self, other: True

seasons = Anything()

def double(x):
    return Anything()
""",
    "sends a pickle that runs code": """
import pickle

class Payload:
    def __reduce__(self):
        return exec, ("import tensorlab.learn.judge as j; j.judge = lambda e, n, **k: j.Verdict(e.id, e.title)",)

seasons = pickle.dumps(Payload())

def double(x):
    return Payload()
""",
    "walks the frames of its callers": """
import sys

def double(x):
    frame = sys._getframe()
    while frame is not None:
        for value in list(frame.f_locals.values()):
            if type(value).__name__ == "Verdict":
                value.state = "right"
            if hasattr(value, "solution"):
                return eval(value.solution)
        frame = frame.f_back
    return x

def test(largest):
    frame = sys._getframe()
    while frame is not None:
        if "bugs" in frame.f_locals or "subjects" in frame.f_locals:
            return
        frame = frame.f_back
""",
    "asks the garbage collector": """
import gc
for thing in gc.get_objects():
    try:
        if type(thing).__name__ == "Verdict":
            thing.state = "right"
        if isinstance(thing, type) and thing.__name__ in ("Guess", "Double", "Hunt"):
            exec(thing.solution)
    except Exception:
        pass
""",
    "reads the docstring of a closure": """
def test(largest):
    told = [largest.__doc__ or "", largest.__name__]
    for cell in largest.__closure__ or ():
        told.append(getattr(cell.cell_contents, "__doc__", None) or "")
        told.append(getattr(cell.cell_contents, "__name__", ""))
    assert "begins" not in " ".join(map(str, told))
""",
    "counts how often it is called": """
calls = 0

def test(largest):
    global calls
    calls += 1
    assert calls <= 2
""",
    "asks for what the check keeps to itself": """
def test(largest):
    globals_ = getattr(largest, "__globals__", {})
    asks = largest.__closure__[0].cell_contents if largest.__closure__ else None
    told = ""
    for name in ("__doc__", "__name__", "__code__", "__globals__", "__module__"):
        try:
            told += str(asks("get", largest, name))
        except Exception:
            pass
    assert "begins" not in told
""",
    "leaves things for the end": """
import atexit, threading, time, sys

def later():
    print('{"verdict": {"id": "90.1", "title": "x", "state": "right"}}', flush=True)

atexit.register(later)
threading.Thread(target=lambda: (time.sleep(0.2), later()), daemon=True).start()
sys.exit(0)
""",
    "looks for the judge's process": """
import glob, os
for path in glob.glob("/proc/[0-9]*/mem"):
    try:
        if int(path.split("/")[2]) == os.getppid():
            with open(path, "r+b") as memory:
                memory.seek(0)
                memory.write(b"right")
    except (OSError, ValueError):
        pass
for path in glob.glob("/proc/[0-9]*/fd/*"):
    if path.split("/")[2] == str(os.getppid()):
        try:
            with open(path, "w") as stream:
                stream.write('{"verdict": {"id": "90.1", "title": "x", "state": "right", "credit": 1.0}}\\n')
        except OSError:
            pass
""",
    "writes result files": """
import json, os
row = {"student": "eve", "exercise": "90.1", "state": "right", "passed": True, "points": 1}
for name in ("grades.csv", "result.json", "eve.txt", "verdict.json"):
    try:
        with open(name, "w") as file:
            file.write(json.dumps(row))
    except OSError:
        pass
""",
}
