"""Find the turns of phrase that docs/wording.toml lists; exit with 1 if there is one.

Usage: python docs/check_wording.py [--count] [FILE ...]

Without files: everything that is written here, the texts of the book and the comments, docstrings and
messages of the package.  --count: how often each turn occurs.
"""

import argparse
import re
import sys
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = [
    "*.md",
    "chapters/*/*.md",
    "chapters/*/*.py",
    "docs/*.md",
    "docs/*/*.md",
    "docs/*.py",
    "docs/_ext/*.py",
]
SOURCES += [f"tensorlab/**/*.{suffix}" for suffix in ("py", "pyx", "pxd", "h")]
SKIPPED = {"_build", "__pycache__", "notebooks"}


def load_tics(path=ROOT / "docs/wording.toml"):
    """Return [(pattern, what to write instead)]."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["tic"]
    over_lines = r"\s+(?:#\s+)?"  # a space may be the end of a line, of a comment too
    return [
        (re.compile(entry["pattern"].replace(" ", over_lines), re.IGNORECASE), entry["instead"])
        for entry in entries
    ]


def written_files(root=ROOT):
    found = {path for pattern in SOURCES for path in root.glob(pattern) if path.is_file()}
    return sorted(path for path in found if not SKIPPED.intersection(path.relative_to(root).parts))


def find_tics(text, tics):
    """Yield (line number, what is written, what to write instead)."""
    for pattern, instead in tics:
        for match in pattern.finditer(text):
            yield text.count("\n", 0, match.start()) + 1, " ".join(match[0].split()), instead


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--count", action="store_true", help="only count")
    arguments = parser.parse_args()
    tics, counts = load_tics(), Counter()
    for path in arguments.files or written_files():
        for line, words, instead in sorted(find_tics(path.read_text(encoding="utf-8"), tics)):
            counts[words.lower()] += 1
            if not arguments.count:
                place = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
                print(f"{place}:{line}: “{words}”; write: {instead}")
    if arguments.count:
        for words, count in counts.most_common():
            print(f"{count:5}  {words}")
    print(f"{counts.total()} found")
    sys.exit(1 if counts else 0)


if __name__ == "__main__":
    main()
