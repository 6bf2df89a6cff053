"""What can be said of publishing without doing it: workflows name what there is, and every link has one source."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
try:
    import homepage
    import release
finally:
    sys.path.pop(0)

yaml = pytest.importorskip("yaml", reason="the workflows are YAML, which comes with `make book`")
FORGE = ROOT / ".github"
WORKFLOWS = sorted(FORGE.glob("workflows/*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
ADDRESS = "https://forge.example/someone/tensorlab"


def load(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def jobs():
    return [
        pytest.param(job, id=f"{path.stem}-{name}")
        for path in WORKFLOWS
        for name, job in load(path)["jobs"].items()
    ]


def commands(job):
    return "\n".join(step.get("run", "") for step in job["steps"])


def supported_pythons():
    minors = re.findall(r":: (3\.\d+)$", "\n".join(PROJECT["project"]["classifiers"]), re.MULTILINE)
    return sorted(minors)


# ---------------------------------------------------------------- the workflows
def test_there_are_tests_wheels_the_book_and_what_runs_at_night():
    assert [path.stem for path in WORKFLOWS] == ["book", "nightly", "tests", "wheels"]
    for path in [*WORKFLOWS, *FORGE.glob("*.yml"), *FORGE.glob("ISSUE_TEMPLATE/*.yml")]:
        assert isinstance(load(path), dict), path


@pytest.mark.parametrize("job", jobs())
def test_a_job_runs_targets_and_files_that_there_are(job):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)[1].split()
    said = commands(job)
    assert set(re.findall(r"\bmake ([\w-]+)", said)) <= set(targets)
    files = re.findall(r"(?<![\w/.-])(?:tools|docs|tests|\.ci)/[\w/.-]+", said)
    made = ("docs/_build/",)
    missing = [name for name in files if not name.startswith(made) and not (ROOT / name).exists()]
    assert missing == []


@pytest.mark.parametrize("job", jobs())
def test_a_matrix_has_every_python_that_the_package_says_it_supports(job):
    matrix = job.get("strategy", {}).get("matrix", {})
    if "python" in matrix:
        assert matrix["python"] == supported_pythons()


@pytest.mark.parametrize("job", jobs())
def test_a_job_that_may_write_is_one_that_publishes(job):
    may_write = "write" in job.get("permissions", {}).values()
    text = commands(job) + "".join(step.get("uses", "") for step in job["steps"])
    assert may_write == bool(re.search(r"publish|deploy|push_folder", text))


def test_wheels_are_built_for_the_same_pythons():
    built = PROJECT["tool"]["cibuildwheel"]["build"].split()
    assert built == [f"cp{version.replace('.', '')}-*" for version in supported_pythons()]


def test_the_tests_run_on_linux_macos_windows_and_arm():
    jobs = load(FORGE / "workflows/tests.yml")["jobs"]
    systems = [*jobs["unix"]["strategy"]["matrix"]["os"], jobs["windows"]["runs-on"]]
    for wanted in (
        r"ubuntu-[\d.]+$",
        r"ubuntu-.*-arm$",
        r"macos-\d+$",
        r"macos-.*-intel$",
        "windows",
    ):
        assert any(re.match(wanted, system) for system in systems), wanted


def test_notebooks_on_machines_of_others_get_versions_that_the_package_takes():
    from packaging.requirements import Requirement

    pins = {}
    for line in (ROOT / "docs/hosted/requirements.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            name, _, version = line.partition("==")
            pins[name] = version
    project = PROJECT["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["chapters"]]
    for requirement in map(Requirement, needed):
        assert requirement.specifier.contains(pins.pop(requirement.name)), requirement
    assert pins == {}


# ---------------------------------------------------------------- one setting for every link
def test_a_readme_on_an_index_has_links_that_lead_somewhere():
    text = "[a](docs/architecture.md#a-reading-plan) [b](https://x.org/y) [c](#start) ![d](e.png)"
    assert homepage.with_absolute_links(text, ADDRESS, "0.3.0") == (
        f"[a]({ADDRESS}/blob/v0.3.0/docs/architecture.md#a-reading-plan) [b](https://x.org/y) [c](#start) "
        f"![d]({ADDRESS}/blob/v0.3.0/e.png)"
    )
    assert homepage.with_absolute_links(text, "", "0.3.0") == text


def test_relative_links_of_the_readme_lead_to_files():
    found = homepage.RELATIVE_LINK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert found
    assert [name for name in found if not (ROOT / name).exists()] == []


def test_the_placeholder_is_no_home(monkeypatch):
    project = PROJECT["project"]
    for address, home in [
        ("https://github.com/OWNER/tensorlab", ""),
        (f"{ADDRESS}/", ADDRESS),
    ]:
        changed = {**project, "urls": {"Repository": address}}
        monkeypatch.setattr(homepage, "project", lambda changed=changed: changed)
        assert homepage.repository() == home


def test_no_other_file_says_where_the_project_lives():
    home = PROJECT["project"]["urls"]["Repository"]
    named = [*ROOT.glob("*.md"), *ROOT.glob("*.cff"), *(ROOT / "docs").glob("*.*"), *WORKFLOWS]
    holders = [path.name for path in named if home in path.read_text(encoding="utf-8")]
    assert holders == ([] if not homepage.repository() else ["README.md"])  # its badges


def test_the_badges_of_the_readme_are_those_of_the_project():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert homepage.with_badges(text) == text
    assert "Python 3.11 to 3.14" in homepage.badges("", PROJECT["project"])
    for target in re.findall(r"workflows/(\w+\.yml)", homepage.badges(ADDRESS, PROJECT["project"])):
        assert (FORGE / "workflows" / target).exists()


def test_a_notebook_is_opened_from_the_branch_that_the_book_writes():
    notebook = "03-strides.ipynb"
    assert homepage.binder(ADDRESS, notebook) == (
        "https://mybinder.org/v2/gh/someone/tensorlab/notebooks?urlpath=lab/tree/03-strides.ipynb"
    )
    assert homepage.colab(ADDRESS, notebook) == (
        "https://colab.research.google.com/github/someone/tensorlab/blob/notebooks/03-strides.ipynb"
    )
    pushes = commands(load(FORGE / "workflows/book.yml")["jobs"]["notebooks"])
    assert pushes.split()[-1] == homepage.NOTEBOOKS


# ---------------------------------------------------------------- a release
@pytest.fixture
def copy(tmp_path):
    """A folder with the files that hold the version."""
    for name in [*(name for name, _, _ in release.PLACES), "CHANGELOG.md", "README.md"]:
        target = tmp_path / name
        target.parent.mkdir(exist_ok=True)
        target.write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    return tmp_path


def test_a_release_writes_its_version_everywhere(copy):
    changelog = copy / "CHANGELOG.md"
    changelog.write_text("# Changelog\n\n## Unreleased\n\n- New.\n\n## 0.2.0\n\n- Old.\n", "utf-8")
    release.prepare("1.2.3", copy)
    for name, before, after in release.PLACES:
        assert re.search(f"{before}1.2.3{after}", release.read(name, copy)), name
    assert release.notes("1.2.3", copy) == "- New."
    assert release.notes("0.2.0", copy) == "- Old."
    assert release.notes("0.2", copy) == ""


def test_a_version_that_is_none_is_refused_before_anything_is_written(copy):
    with pytest.raises(SystemExit, match=r"a version looks like 0\.3\.0"):
        release.prepare("v1.2.3", copy)
    assert release.read("pyproject.toml", copy) == release.read("pyproject.toml")


def test_what_keeps_a_release_back_is_said(copy):
    (copy / "CITATION.cff").write_text("version: 0.0.1\n", encoding="utf-8")
    (copy / "CHANGELOG.md").write_text("# Changelog\n", encoding="utf-8")
    found = "\n".join(release.problems("v9.9.9", copy))
    version = PROJECT["project"]["version"]
    assert f"CITATION.cff: does not say {version}" in found
    assert f"CHANGELOG.md: has no section {version}" in found
    assert f"the tag is v9.9.9, and the version is {version}" in found


def test_this_checkout_lacks_nothing_for_a_release_but_what_its_owner_knows():
    found = [problem for problem in release.problems() if "placeholder" not in problem]
    assert found == []
