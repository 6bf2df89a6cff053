"""The directive that shows an exercise of the chapter:

    ```{exercise} 03.2
    ```

Text, stub, hints, solution and common wrong answers come from `exercises.py` beside the chapter,
where `tensorlab.learn.exercise` describes their form.  Hints and solution are HTML's own <details>:
they open by a click or a key, without a script, and stay shut on paper.
"""

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList

from tensorlab.learn.exercise import BugHunt, ExerciseError, exercise_files, find


class ExerciseDirective(Directive):
    required_arguments = 1

    def run(self):
        environment = self.state.document.settings.env
        try:
            chapter, exercises = find(self.arguments[0])
        except ExerciseError as error:
            raise self.error(f"exercise: {error}") from error
        environment.note_dependency(str(exercise_files()[chapter.number]))
        if chapter.folder.name not in environment.docname:
            raise self.error(f"exercise: {self.arguments[0]} belongs to {chapter.folder.name}")
        return [self.box(exercise) for exercise in exercises]

    def box(self, exercise):
        box = nodes.container(classes=["exercise"], ids=[anchor(exercise)])
        title = nodes.rubric(classes=["exercise-title"])
        title["level"] = 3  # what MyST asks a rubric for
        title += nodes.Text(f"{exercise.id} {exercise.title} ")
        title += nodes.inline("", exercise.kind, classes=["exercise-kind"])
        box += title
        box += self.parsed(exercise.text)
        box += code_block(exercise.stub)
        box += command_line(exercise)
        for number, hint in enumerate(exercise.hints, start=1):
            box += details(f"Hint {number}", "hint", self.parsed(hint))
        box += details("Solution", "solution", self.solution(exercise))
        return box

    def solution(self, exercise):
        parts = [code_block(exercise.solution), *self.parsed(exercise.reason)]
        if issubclass(exercise, BugHunt):
            planted = nodes.bullet_list()
            for bug in exercise.planted:
                planted += nodes.list_item("", *self.parsed(bug))
            parts += [nodes.paragraph("", "What was planted:"), planted]
        for wrong in exercise.wrong:
            label = nodes.strong("", "A common wrong answer. ")
            why = self.parsed(wrong.why)
            why[0].insert(0, label)
            parts += [*why, code_block(wrong.code)]
        return parts

    def parsed(self, text):
        """Return the nodes of a piece of Markdown."""
        parent = nodes.container()
        self.state.nested_parse(StringList(text.split("\n"), source="exercises.py"), 0, parent)
        return list(parent.children)


def anchor(exercise):
    return f"exercise-{exercise.id.replace('.', '-')}"


def code_block(code):
    block = nodes.literal_block(code, code)
    block["language"] = "python"
    return block


def command_line(exercise):
    """Return how to check an answer, in a terminal and in a notebook."""
    line = nodes.paragraph(classes=["exercise-check"])
    line += nodes.Text("Check it: ")
    line += nodes.literal("", f"tensorlab check {exercise.id}")
    line += nodes.Text(" in a terminal, ")
    line += nodes.literal("", f'check("{exercise.id}")')
    line += nodes.Text(" in a notebook.")
    return line


def details(summary, name, children):
    """Return what is shut until the reader opens it."""
    opening = f'<details class="exercise-{name}"><summary>{summary}</summary>\n'
    box = nodes.container(classes=["exercise-details"])
    box += nodes.raw("", opening, format="html")
    box += children
    box += nodes.raw("", "</details>", format="html")
    return box


def setup(app):
    app.add_directive("exercise", ExerciseDirective)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
