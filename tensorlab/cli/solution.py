"""tensorlab solution 03.2: print the solution, after a question."""

from .command import add_command, confirm


def add(commands):
    parser = add_command(commands, "solution", run, "print the solution of an exercise")
    parser.add_argument("exercise", help="such as 03.2")
    parser.add_argument("--yes", action="store_true", help="do not ask first")


def run(options):
    from tensorlab.learn.practise import one, solution_text
    from tensorlab.learn.progress import Progress

    exercise = one(options.exercise)
    left = len(exercise.hints) - Progress().of(exercise.id)["hints"]
    more = f" There {'is 1 more hint' if left == 1 else f'are {left} more hints'}." if left else ""
    if not options.yes and not confirm(f"{more} Show the solution of {exercise.id}?".strip()):
        print(f"Not shown. tensorlab solution {exercise.id} --yes shows it without asking.")
        return 1
    print(solution_text(exercise.id))
    return 0
