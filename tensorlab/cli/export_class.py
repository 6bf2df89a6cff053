"""tensorlab export-class --chapters 01,03 FOLDER: write the stubs that a class gets."""

from pathlib import Path

from .command import add_command


def add(commands):
    about = "for teachers: write the stubs of some chapters into an empty folder"
    parser = add_command(commands, "export-class", run, about)
    parser.add_argument("--chapters", required=True, help="numbers with commas: 01,03,18")
    parser.add_argument(
        "--without-solutions",
        action="store_true",
        help="also write a package and exercises that tell no solutions",
    )
    parser.add_argument("folder", type=Path)


def run(options):
    from tensorlab.learn.exercise import ExerciseError
    from tensorlab.learn.handout import export

    numbers = [number for number in options.chapters.replace(" ", "").split(",") if number]
    if not numbers:
        raise ExerciseError("--chapters is empty; name some, as in --chapters 01,03")
    try:
        written = export(numbers, options.folder, without_solutions=options.without_solutions)
    except OSError as error:
        raise ExerciseError(str(error)) from error
    for path in written:
        print(path)
    return 0
