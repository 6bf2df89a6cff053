"""tensorlab hint 03.2: print the next hint."""

from .command import add_command


def add(commands):
    parser = add_command(commands, "hint", run, "print the next hint of an exercise")
    parser.add_argument("exercise", help="such as 03.2")


def run(options):
    from tensorlab.learn.practise import hint_text

    print(hint_text(options.exercise))
    return 0
