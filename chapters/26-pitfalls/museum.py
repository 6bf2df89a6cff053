"""What every room of the museum in chapter 26 uses: a way to show a symptom and a way to prove a test."""

import textwrap
import warnings

visited = []  # how each exhibit tells you about its mistake: "error", "warning" or "silence"


def show(program):
    """Run an exhibit's program; print what it returns, and its warning or its error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = program()
        except Exception as error:
            visited.append("error")
            tell(f"{type(error).__name__}: {error}")
            return
    if caught:
        visited.append("warning")
        tell(f"{caught[0].category.__name__}: {caught[0].message}")
        tell(f"it returns {result}")
    else:
        visited.append("silence")
        tell(f"no error and no warning; it returns {result}")


def tell(text):
    print(textwrap.fill(text, 76))


def catches(test, broken, fixed):
    """Fail unless the test fails on the broken program and passes on the fixed one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        test(fixed)
        try:
            test(broken)
        except Exception as error:
            why = str(error).strip().split("\n")[0] or type(error).__name__
            why = textwrap.shorten(why, 38, placeholder=" ...")
            print(f"passes on fixed(), fails on broken(): {why}")
        else:
            raise AssertionError("the test passes on the broken program, too")
