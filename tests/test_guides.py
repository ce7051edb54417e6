"""The code of the guides runs as it is shown, from top to bottom of each page."""

import re
import shlex
from pathlib import Path

import pytest

from torelli.cli import main

DOCS = Path(__file__).parents[1] / "docs"
RUN = ("ten_minutes", "from_grakel", "from_networkx", "from_osmnx", "which_kernel", "measure")
NEEDS = {"from_grakel": "grakel"}

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="docs is not beside the tests")


def blocks(page):
    """Return the kind and the text of each code block of a page."""
    return re.findall(r"^```(python|console)\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.filterwarnings("ignore::torelli.DataWarning")  # pages say what is converted
@pytest.mark.parametrize("name", RUN)
def test_a_page_runs_from_top_to_bottom(name, tmp_path, monkeypatch, capsys):
    """Python blocks share one namespace, and the commands of torelli between them end well."""
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    names: dict[str, object] = {}
    code = blocks(DOCS / f"{name}.md")
    assert code
    for kind, text in code:
        if kind == "python":
            exec(compile(text, f"{name}.md", "exec"), names)  # noqa: S102 (our own pages)
            continue
        for line in re.findall(r"^\$ (.*)$", text, re.MULTILINE):
            program, *arguments = shlex.split(line, comments=True)
            if program == "torelli":
                assert main(arguments) == 0, f"{line}\n{capsys.readouterr().err}"
