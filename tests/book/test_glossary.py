"""The glossary's table of internal terms: each is where the table says."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (.+?) \| (.+?) \| `([\w/.]+)` `(\w+)` \|$", GLOSSARY, re.MULTILINE)


def test_every_line_of_the_table_is_read():
    table = GLOSSARY.partition("| ours |")[2].splitlines()[2:]
    assert len(ROWS) == len([line for line in table if line.startswith("|")]) > 40


@pytest.mark.parametrize(("term", "path", "name"), [(row[0], row[2], row[3]) for row in ROWS])
def test_a_term_is_where_the_table_says(term, path, name):
    text = (ROOT / path).read_text(encoding="utf-8")
    code = re.sub(r"(?s)\"\"\".*?\"\"\"", "", text)
    code = "\n".join(line.partition("#")[0] for line in code.splitlines())
    assert re.search(rf"\b{name}\b", code), f"{term}: {name} is not in {path}"
