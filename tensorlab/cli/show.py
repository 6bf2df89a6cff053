"""tensorlab show 03.2: print an exercise's text and stub again."""

from .command import add_command


def add(commands):
    parser = add_command(commands, "show", run, "print the text and the stub of an exercise")
    parser.add_argument("exercise", help="03 for all of a chapter, 03.2 for one")


def run(options):
    from tensorlab.learn.report import show_text

    print(show_text(options.exercise))
    return 0
