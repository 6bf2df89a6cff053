"""What every room of the museum in chapter 26 uses: a way to show a symptom and a way to prove a test."""

import textwrap

visited = []  # of each exhibit: does its symptom come with an error ("loud") or without ("silent")?


def show(program):
    """Run an exhibit's program; print what it returns, or its error."""
    try:
        result = program()
    except Exception as error:
        visited.append("loud")
        print(textwrap.fill(f"{type(error).__name__}: {error}", 76))
    else:
        visited.append("silent")
        print(textwrap.fill(f"no error; it returns {result}", 76))


def catches(test, broken, mended):
    """Fail unless the test fails on the broken program and passes on the mended one."""
    test(mended)
    try:
        test(broken)
    except Exception as error:
        why = str(error).strip().split("\n")[0] or type(error).__name__
        print("passes on mended; fails on broken:", textwrap.shorten(why, 44, placeholder=" ..."))
    else:
        raise AssertionError("the test passes on the broken program, too")
