"""What a release needs, so that one person can make one: RELEASING.md has the steps.

python tools/release.py prepare 0.3.0        writes the version everywhere it stands
python tools/release.py check [--tag v0.3.0] says what is still missing, and ends with 1 if anything is
python tools/release.py notes                prints what the changelog says of this version
"""

import argparse
import re
import sys

import homepage
from homepage import ROOT

VERSION = r"\d+\.\d+\.\d+(?:rc\d+)?"
# (file, what stands before the version and after it)
PLACES = [
    ("pyproject.toml", r'(?m)(^version = ")', r'(")'),
    ("tensorlab/version.py", r'(?m)(^__version__ = ")', r'(")'),
    ("CITATION.cff", r"(?m)(^version: )", r"($)"),
]


def read(name, root=ROOT):
    return (root / name).read_text(encoding="utf-8")


def prepare(version, root=ROOT):
    """Write the version where it stands, and give what is unreleased in the changelog its name."""
    if not re.fullmatch(VERSION, version):
        sys.exit(f"a version looks like 0.3.0 or 0.3.0rc1, and not {version!r}")
    for name, before, after in PLACES:
        text, count = re.subn(
            f"{before}{VERSION}{after}", rf"\g<1>{version}\g<2>", read(name, root)
        )
        if count != 1:
            sys.exit(f"{name}: the version was found {count} times")
        (root / name).write_text(text, encoding="utf-8")
    changelog = read("CHANGELOG.md", root).replace("## Unreleased\n", f"## {version}\n", 1)
    (root / "CHANGELOG.md").write_text(changelog, encoding="utf-8")


def notes(version, root=ROOT):
    """Return the section of the changelog about a version, "" if there is none."""
    found = re.search(
        rf"^## {re.escape(version)}(?![\w.])[^\n]*\n(.*?)(?=^## |\Z)",
        read("CHANGELOG.md", root),
        re.MULTILINE | re.DOTALL,
    )
    return found[1].strip() if found else ""


def problems(tag=None, root=ROOT):
    """Yield a sentence for everything that keeps this checkout from being released."""
    project = homepage.project()
    version = project["version"]
    if homepage.PLACEHOLDER in project["urls"]["Repository"]:
        yield "pyproject.toml: Repository in [project.urls] is a placeholder; write the address of yours"
    if any(author.get("email", "").endswith(".invalid") for author in project["authors"]):
        yield "pyproject.toml: the address in authors is a placeholder; write one that is read"
    for name, before, after in PLACES:
        found = re.search(f"{before}({VERSION}){after}", read(name, root))
        if not found or found[2] != version:
            yield f"{name}: does not say {version}; run python tools/release.py prepare {version}"
    if not notes(version, root):
        yield f"CHANGELOG.md: has no section {version}"
    if not (root / "tests/serialization/files" / version).is_dir():
        yield f"tests/serialization/files/{version}: missing; run python -m tests.serialization.old_files"
    readme = read("README.md", root)
    if homepage.with_badges(readme) != readme:
        yield "README.md: its badges are old; run python tools/homepage.py --write"
    if tag is not None and tag != f"v{version}":
        yield f"the tag is {tag}, and the version is {version}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("prepare").add_argument("version")
    commands.add_parser("check").add_argument("--tag")
    commands.add_parser("notes")
    options = parser.parse_args()
    if options.command == "prepare":
        prepare(options.version)
    elif options.command == "notes":
        print(notes(homepage.project()["version"]))
    else:
        found = list(problems(options.tag))
        print("\n".join(found) or "ready")
        sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
