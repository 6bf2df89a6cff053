"""tensorlab exercises: list the chapters that have exercises, or verify how they are written."""

from .command import add_command


def add(commands):
    about = "for teachers: list the exercises there are, or verify those that you have written"
    parser = add_command(commands, "exercises", run, about)
    parser.add_argument("action", choices=("list", "verify"))
    parser.add_argument(
        "chapter", nargs="*", help="03 for a chapter, 03.2 for one; default: those of packs"
    )


def run(options):
    return list_all() if options.action == "list" else verify(options.chapter)


def list_all():
    from tensorlab.learn.exercise import all_chapters

    for chapter in all_chapters():
        count = len(chapter.exercises)
        print(f"{chapter.number} {chapter.title}: {count} exercises, in {chapter.folder}")
    return 0


def verify(identities):
    from tensorlab.learn.exercise import ExerciseError, all_chapters, chapters_folder, find
    from tensorlab.learn.verify import complaints

    book = chapters_folder()
    chosen = [find(identity) for identity in identities] or [
        (chapter, chapter.exercises) for chapter in all_chapters() if chapter.folder.parent != book
    ]
    if not chosen:
        raise ExerciseError("there is no course pack; name one with --exercises, or a chapter")
    bad = 0
    for chapter, exercises in chosen:
        for exercise in exercises:
            found = list(complaints(chapter, exercise))
            bad += bool(found)
            print(f"{exercise.id} {exercise.title}: {'; '.join(found) or 'ok'}", flush=True)
    return 1 if bad else 0
