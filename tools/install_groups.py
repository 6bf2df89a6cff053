"""Install dependency groups of pyproject.toml with pip, and say on one line how far it is.

Usage: python tools/install_groups.py GROUP [GROUP ...]

It runs before anything is installed, so it needs nothing but Python.  How long it takes depends on the
connection; the sizes are those of the files that pip fetches (2026, Linux).
"""

import re
import subprocess
import sys
import time

# what people wait for: megabytes of the files, and what the group is for
GROUPS = {
    "dev": (190, "what building and testing need"),
    "lint": (30, "what `make lint` and `make stubs` need"),
    "book": (130, "what making the book needs"),
    "oracle": (190, "PyTorch, which the tests compare with"),
}
FOUND = re.compile(
    r"^(?:Collecting ([\w.-]+)|\s*(?:Downloading|Using cached) \S+ \(([\d.]+) (kB|MB))"
)


def install(groups):
    """Run pip; return its status."""
    megabytes = sum(GROUPS[name][0] for name in groups)
    purpose = ", ".join(GROUPS[name][1] for name in groups)
    print(f"Installing {purpose}: about {megabytes} MB, one to three minutes", flush=True)
    options = [option for name in groups for option in ("--group", name)]
    command = [sys.executable, "-m", "pip", "install", "--progress-bar", "off", *options]
    pip = subprocess.Popen(
        command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace"
    )
    output, packages, fetched, shown, name = [], 0, 0.0, 0.0, ""
    for line in pip.stdout:
        output.append(line)
        if found := FOUND.match(line):
            if found[1]:
                packages += 1
                name = found[1]
            else:
                fetched += float(found[2]) / (1000 if found[3] == "kB" else 1)
            if sys.stdout.isatty() or time.monotonic() > shown + 5:
                shown = time.monotonic()
                say(f"  {packages} packages, {fetched:.0f} of {megabytes} MB: {name}")
        elif line.startswith("Installing collected packages"):
            say(f"  {line.count(',') + 1} packages are being unpacked")
    if sys.stdout.isatty():
        print()
    if pip.wait():
        print("".join(output), file=sys.stderr)
    return pip.returncode


def say(text):
    """Write a line over the last one, or below it where the output is a file."""
    print(f"\r{text:<76}" if sys.stdout.isatty() else text, end="" if sys.stdout.isatty() else "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    if len(sys.argv) < 2 or not set(sys.argv[1:]) <= set(GROUPS):
        sys.exit(f"{__doc__}\nGROUP is one of {', '.join(GROUPS)}")
    sys.exit(install(sys.argv[1:]))
