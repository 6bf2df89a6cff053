"""tensorlab reset 03: forget the progress of a chapter or an exercise, or of all."""

import os

from .command import add_command, confirm


def add(commands):
    parser = add_command(commands, "reset", run, "forget the progress of a chapter or an exercise")
    parser.add_argument("exercise", help="03, 03.2 or all")
    parser.add_argument(
        "--file", action="store_true", help="also put your file of the chapter aside, for a new one"
    )
    parser.add_argument("--yes", action="store_true", help="do not ask first")


def run(options):
    from tensorlab.learn import workbook
    from tensorlab.learn.exercise import ExerciseError, all_chapters, find
    from tensorlab.learn.progress import Progress

    if options.exercise == "all":
        chapters = all_chapters()
        exercises = [exercise for chapter in chapters for exercise in chapter.exercises]
    else:
        chapter, exercises = find(options.exercise)
        chapters = [chapter]
    if options.file and (options.exercise == "all" or "." in options.exercise):
        raise ExerciseError("--file wants one whole chapter, such as 03")
    if not options.yes and not confirm(f"Forget the progress of {options.exercise}?"):
        print("Nothing is changed.")
        return 1
    progress = Progress()
    progress.forget(exercise.id for exercise in exercises)
    note = progress.save()
    print(note or f"The progress of {options.exercise} is forgotten.")
    if options.file:
        (chapter,) = chapters
        path = workbook.place(chapter.number)
        if path.is_file():
            print(f"Your file is now {os.path.relpath(workbook.set_aside(path))}.")
        workbook.start(chapter.number)
        print(f"{os.path.relpath(path)} has the stubs again.")
    return 0
