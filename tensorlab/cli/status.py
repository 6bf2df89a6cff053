"""tensorlab status: how far the reader is."""

from .command import add_command


def add(commands):
    add_command(commands, "status", run, "say what you have solved, and where that is kept")


def run(options):
    from tensorlab.learn import progress
    from tensorlab.learn.practise import status_text

    print(status_text())
    print(f"\nKept in {progress.path()}")
    return 0
