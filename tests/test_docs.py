"""README and docs: line lengths, links, names and commands."""

import argparse
import ast
import doctest
import inspect
import re
import shlex
from functools import cache
from pathlib import Path
from pkgutil import resolve_name

import pytest

import torelli as tt
from torelli.cli import build_parser

ROOT = Path(__file__).parents[1]
BUILT = [ROOT / "docs" / name for name in ("_build", "gallery", "generated")]
PAGES = sorted(
    page
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    if not any(folder in page.parents for folder in BUILT)
)
GENERATED = ROOT / "docs" / "results"
WRITTEN = [page for page in PAGES if GENERATED not in page.parents]
LONGEST = 100

pytestmark = pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="docs is not beside the tests")


def name(page):
    return str(page.relative_to(ROOT))


@cache
def split(page):
    """Return the lines of prose with their numbers, and the code blocks as lists of lines."""
    prose, blocks, in_code = [], [], False
    for line_number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("```"):
            in_code = not in_code
            blocks += [[]] if in_code else []
        elif in_code:
            blocks[-1].append(line)
        elif not line.startswith("    "):
            prose.append((line_number, line))
    return prose, blocks


@cache
def anchors(page):
    """Return the anchors that GitHub gives to the headings of a page."""
    headings = [line.lstrip("#").strip() for _, line in split(page)[0] if line.startswith("#")]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", WRITTEN, ids=name)
def test_lines_are_short(page):
    """Lines outside of tables and code have at most 100 characters, link targets not counted."""
    lines = {line_number: re.sub(r"\]\([^)]*\)", "]", line) for line_number, line in split(page)[0]}
    long = [
        line_number for line_number, line in lines.items() if len(line) > LONGEST and not line.startswith("|")
    ]
    assert not long, f"{name(page)}: lines {long} have more than {LONGEST} characters"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page):
    """Every relative link leads to a file, and its anchor to a heading of that file."""
    targets = re.findall(r"\]\(([^)\s]+)\)", "\n".join(line for _, line in split(page)[0]))
    dead = []
    for target in targets:
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        # pages of the gallery are made of scripts when the site is built
        path = re.sub(r"^gallery/index\.rst$", "../examples/README.rst", path)
        path = re.sub(r"^gallery/(plot_\w+)\.rst$", r"../examples/\1.py", path)
        file = page.parent / path if path else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            dead.append(target)
    assert not dead, f"{name(page)}: links to {dead} lead nowhere"


@pytest.mark.parametrize("page", WRITTEN, ids=name)
def test_names_in_prose_exist(page):
    """Every test file and every dotted name of torelli that a page mentions exists."""
    text = "\n".join(line for _, line in split(page)[0])
    missing = [path for path in re.findall(r"\btests/[\w/]+(?:\.py)?", text) if not (ROOT / path).exists()]
    for dotted in re.findall(r"`(torelli(?:\.[A-Za-z]\w*)+)", text):
        try:
            resolve_name(dotted)
        except (ImportError, AttributeError):
            missing.append(dotted)
    assert not missing, f"{name(page)}: {missing} do not exist"


def commands(page):
    """Return the `torelli` commands of the console blocks, as lists of arguments."""
    text = "\n".join(line for block in split(page)[1] for line in block).replace("\\\n", " ")
    lines = [line[2:] for line in text.splitlines() if line.startswith("$ ")]
    words = [shlex.split(part, comments=True) for line in lines for part in line.split(" && ")]
    return [arguments for program, *arguments in words if program == "torelli"]


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=name)
def test_commands_parse(page, capsys):
    """The command line accepts every command that a page shows."""
    parser = build_parser()
    for arguments in commands(page):
        try:
            parser.parse_args(arguments)
        except SystemExit:
            pytest.fail(f"{name(page)}: torelli {shlex.join(arguments)}: {capsys.readouterr().err}")


def subcommands(parser):
    """Return the parsers of the commands of a parser by name."""
    actions = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return {name: choice for action in actions for name, choice in action.choices.items()}


@pytest.mark.parametrize("page", WRITTEN, ids=name)
def test_commands_in_prose_exist(page):
    """A command in the running text has a name that exists, and options that it takes."""
    unknown = []
    for text in re.findall(r"`(torelli [a-z][^`]*)`", " ".join(line for _, line in split(page)[0])):
        parser, (_, *words) = build_parser(), text.split()
        while words and words[0] in subcommands(parser):
            parser = subcommands(parser)[words.pop(0)]
        options = {word.partition("=")[0] for word in words if re.match(r"--?[A-Za-z]", word)}
        if (subcommands(parser) and words and not options) or options - set(parser._option_string_actions):
            unknown.append(text)
    assert not unknown, f"{name(page)}: {unknown} do not exist"


def test_commands_are_found():
    """README shows commands of torelli, so that the test above has something to check."""
    assert len(commands(ROOT / "README.md")) > 3


API = (ROOT / "docs" / "api.md").read_text(encoding="utf-8") if (ROOT / "docs").is_dir() else ""
ENTRIES = set(re.findall(r"^(?:   |\.\. data:: )([A-Za-z][\w.]*)$", API, re.MULTILINE))
PUBLIC = sorted(
    {
        *(set(tt.__all__) - {"__version__", "datasets", "plot"}),
        *(f"datasets.{name}" for name in tt.datasets.__all__),
        *(f"plot.{name}" for name in tt.plot.__all__),
    }
)


def test_every_public_name_is_in_the_reference():
    """Every name in __all__ has an entry in the reference, and every entry names something."""
    assert [entry for entry in PUBLIC if entry not in ENTRIES] == []
    for entry in ENTRIES:
        resolve_name(f"torelli.{entry}")


@pytest.mark.parametrize("entry", sorted(ENTRIES))
def test_every_page_of_the_reference_has_an_example(entry):
    """Functions and classes of the reference show a call that runs; exceptions and warnings are raised.

    The suite runs the examples as doctests. Only those of loaders, whose data are downloaded, are skipped.
    """
    thing = resolve_name(f"torelli.{entry}")
    if not callable(thing) or (isinstance(thing, type) and issubclass(thing, Exception)):
        return
    lines = [line for line in (inspect.getdoc(thing) or "").splitlines() if line.startswith(">>>")]
    if entry.startswith("datasets.load_"):
        assert lines, f"torelli.{entry} has no example"
    else:
        assert [line for line in lines if "+SKIP" not in line and "import" not in line], (
            f"torelli.{entry} has no example that runs"
        )


def test_the_examples_of_the_reference_run():
    """What the reference shows of constants is what they are."""
    outcome = doctest.testfile(str(ROOT / "docs" / "api.md"), module_relative=False)
    assert outcome.attempted > 5
    assert outcome.failed == 0


def test_the_gallery_has_a_page_for_each_script():
    """Scripts of the gallery have a title and a first paragraph, and say where real data come from."""
    scripts = sorted((ROOT / "examples").glob("plot_*.py"))
    assert len(scripts) >= 13
    for script in scripts:
        lines = (ast.get_docstring(ast.parse(script.read_text("utf-8"))) or "").splitlines()
        assert len(lines) > 3
        assert lines[1] == "=" * len(lines[0]), script.name
        if "DataNotFoundError" in script.read_text("utf-8"):
            assert "ithout" in "\n".join(lines), f"{script.name} does not say what it does without the data"


def listed_pages():
    """Return the pages that the contents of the site list, with `*` in their places."""
    contents = [ROOT / "docs" / f"{name}.md" for name in ("index", "guides", "evidence")]
    text = "\n".join(page.read_text("utf-8") for page in contents)
    blocks = re.findall(r"^```\{toctree\}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line and not line.startswith(":")]


def test_every_page_is_in_the_contents_of_the_site():
    """A page that no list names is an error of the site, and one named like a page of Sphinx is lost."""
    docs = ROOT / "docs"
    listed = {path for entry in listed_pages() for path in docs.glob(f"{entry}.md")} | {docs / "index.md"}
    pages = {page for page in PAGES if docs in page.parents}
    assert sorted(name(page) for page in pages - listed) == []
    assert not {"search", "genindex", "py-modindex"} & {page.stem for page in docs.glob("*.md")}


def text_of(page):
    return page.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", WRITTEN, ids=name)
def test_scripts_and_targets_exist(page):
    """What a page calls with make or python is a target of the Makefile, a script or a module."""
    targets = set(re.findall(r"^([a-z][a-z-]*):", text_of(ROOT / "Makefile"), re.MULTILINE))
    missing = set(re.findall(r"(?:^\$ |`)make ([a-z][a-z-]*)", text_of(page), re.MULTILINE)) - targets
    scripts = re.findall(r"\bpython ((?:docs|examples|tests)/\w+\.py)", text_of(page))
    modules = re.findall(r"\bpython -m (benchmarks(?:\.\w+)?)", text_of(page))
    missing |= {script for script in scripts if not (ROOT / script).exists()}
    missing |= {module for module in modules if not list(ROOT.glob(module.replace(".", "/") + "*"))}
    assert not missing, f"{name(page)}: {missing} do not exist"


def test_the_cases_of_the_benchmarks_exist():
    """Every case that a page names is one that `make bench` runs."""
    named = {
        case for page in PAGES for match in re.findall(r"CASES=\"?([\w -]+)", text_of(page))
        for case in match.split()
    }  # fmt: skip
    known = set(
        re.findall(r'^    "([a-z-]+)": \w+,$', text_of(ROOT / "benchmarks" / "cases.py"), re.MULTILINE)
    )
    assert named
    assert sorted(named - known) == []


def test_every_picture_is_shown_and_a_script_makes_it():
    """No picture without the command that makes it, and none that no page shows."""
    shown = "\n".join(text_of(page) for page in WRITTEN)
    scripts = "\n".join(text_of(source) for source in (ROOT / "docs").glob("make_*.py"))
    pictures = sorted((ROOT / "docs" / "images").rglob("*.png"))
    assert [picture.name for picture in pictures if picture.name not in shown] == []
    makes = {picture: all(part in scripts for part in picture.stem.split("-")) for picture in pictures}
    assert [picture.name for picture, is_made in makes.items() if not is_made] == []


WHICH = "docs/which_kernel.md"
# a figure on a page, and where it was measured
CLAIMS = [
    (WHICH, r"other method on (\d+) of 7 sets", "collections", r"other method: TTM on (\d+) of 7"),
    ("README.md", r"tuned TTM on (\d+) of the paper's 8 sets", "urn", r"\| TTM, tuned \|[^|]*\| (\d+) of 8"),
    ("README.md", r"8 sets \((\d+) with its defaults\)", "urn", r"\| TTM \|[^|]*\| (\d+) of 8"),
    ("README.md", r"p = ([\d.]+) over blocks", "urn", r"\| URN2-2S \| SP \|.*\| ([\d.]+) \|"),
    (WHICH, r"p = ([\d.]+) on the set", "urn", r"\| URN2-2S \| SP \|.*\| ([\d.]+) \|"),
    ("README.md", r"TTM alone on (\d+) of 23 sets", "benchmark", r"\| TTM \| (\d+) of 23"),
    ("README.md", r"p < 0.05 on (\d+);", "benchmark", r"\| TTM \|[^|]*\| (\d+), "),
    ("README.md", r"most ([\d.]+) points behind WL", "benchmark", r"\| TTM \|[^|]*\|[^|]*\| ([\d.]+) \("),
    (WHICH, r"(\d+) of 960 matrices", "definiteness", r"median rule \| 0 of 960 \| (\d+) of 960"),
    (
        WHICH,
        r"tuned TTM beats .* on (\d+) of the paper's",
        "urn",
        r"\| TTM, tuned \|[^|]*\| (\d+) of 8",
    ),
    (WHICH, r"every other kernel on (\d+) of 23", "benchmark", r"\| TTM \| (\d+) of 23"),
    (WHICH, r"all of ours together on (\d+) of 23", "benchmark", r"all of ours \| (\d+) of 23"),
    (WHICH, r"IMDB-MULTI: WL ([\d.]+) %", "benchmark", r"\| IMDB-MULTI \|(?:[^|]*\|){4} ([\d.]+) \| T \| 42"),
    (WHICH, r"and statistics on (\d+) of 18 sets", "peers", r"statistics: TTM on (\d+) of 18"),
]


@pytest.mark.parametrize(("page", "claim", "experiment", "source"), CLAIMS)
def test_figures_are_those_of_the_results(page, claim, experiment, source):
    """A figure that a page takes from a result is the one that the result has now."""
    said = re.search(claim, " ".join(text_of(ROOT / page).split()))
    results = [ROOT / "docs" / "results" / experiment / "README.md", ROOT / "docs" / "results" / "README.md"]
    measured = re.search(source, "\n".join(text_of(result) for result in results))
    assert said, f"{page} no longer says {claim}"
    assert measured, f"the page of {experiment} no longer has {source}"
    assert float(said[1]) == pytest.approx(float(measured[1]), abs=0.5 if "." not in said[1] else 0.05)
