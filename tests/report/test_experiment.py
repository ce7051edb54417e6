"""Reports of experiments, and the Markdown they are made from."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import torelli as tt
from browser import barriers
from torelli._provenance import describe
from torelli.cli import main
from torelli.report import report_page
from torelli.report.experiment import render_markdown
from torelli.webpage import write

PAGE = """# Squares <b>

Section 0.1. Shows `a < b` and **bold `code`**, a [page](https://example.org/?a=1&b=2) and [data](squares.csv)
in two lines.

![the curve](curve.png)

## A chapter

| number | square |
| --- | ---: |
| one | <script>alert(1)</script> |

- first
  goes on
- second

```
torelli <reproduce>
```

## How this was measured

"""
SITTING = {
    "date": "today",
    "command": "torelli reproduce squares --seed 3",
    "cells": 6,
    "cpu": "a processor",
    "cores": 2,
    "python": "3",
    "versions": {"numpy": "2"},
}


@pytest.fixture
def folder(tmp_path):
    """Return the folder of an experiment."""
    (tmp_path / "README.md").write_text(PAGE + describe(SITTING))
    (tmp_path / "curve.png").write_bytes(b"\x89PNG curve")
    (tmp_path / "other.png").write_bytes(b"\x89PNG other")
    (tmp_path / "squares.csv").write_text("number,square\n" + "".join(f"{i},{i * i}\n" for i in range(600)))
    (tmp_path / "run.json").write_text(
        json.dumps({"experiment": "squares", "seed": 3, "sittings": [SITTING]})
    )
    return tmp_path


def test_markdown_becomes_html(folder):
    """Each kind of block and of inline text is what it says; markup of the text is escaped."""
    html = render_markdown(PAGE, folder)
    assert "<h1>Squares &lt;b&gt;</h1>" in html
    assert "<code>a &lt; b</code> and <strong>bold <code>code</code></strong>" in html
    assert (
        '<a href="https://example.org/?a=1&amp;b=2" rel="noreferrer">page</a> and data\nin two lines.' in html
    )
    assert re.search(r'<img src="data:image/png;base64,[^"]+" alt="the curve"', html)
    assert '<th scope="row">one</th><td class="long">&lt;script&gt;alert(1)&lt;/script&gt;</td>' in html
    assert "<ul><li>first\n  goes on\n</li><li>second</li></ul>" in html
    assert "<code>torelli &lt;reproduce&gt;</code>" in html
    assert html.count("<section>") == 3


def test_pictures_come_from_the_folder_alone(folder, tmp_path):
    """A path that leads out of the folder is not followed; a small SVG is taken before the PNG."""
    (tmp_path.parent / "secret.png").write_bytes(b"\x89PNG secret")
    assert "is missing" in render_markdown("![x](../secret.png)", folder)
    (folder / "curve.svg").write_text("<svg/>")
    assert "data:image/svg+xml" in render_markdown("![x](curve.png)", folder)


def test_the_report_of_an_experiment(folder, capsys):
    """Title, page, figures that the page does not show, rows with what is left out, and the command."""
    assert main(["report", str(folder)]) == 0
    assert str(folder / "report.html") in capsys.readouterr().out
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert "<h1>Squares &lt;b&gt;</h1>" in text
    assert text.count("data:image/png") == 2
    assert "The first 500 of 600 rows" in text
    assert "torelli reproduce squares --seed 3" in text
    assert "numpy 2" in text
    assert len(text) < 200_000


def test_an_experiment_without_its_page_is_told(folder, capsys):
    """A run that was stopped before its end says how to go on; an unknown record is refused."""
    (folder / "README.md").unlink()
    assert main(["report", str(folder)]) == 2
    assert "torelli reproduce squares" in capsys.readouterr().err
    (folder / "run.json").write_text("{}")
    with pytest.raises(tt.FormatError, match="neither a classification nor an experiment"):
        tt.report.report_page(folder)


def refused(folder):
    """Return what the report says of a folder that it refuses."""
    with pytest.raises(tt.FormatError) as caught:
        tt.report.report_page(folder)
    assert len(str(caught.value)) < 2_000
    return str(caught.value)


def test_a_page_of_another_sitting_is_refused(folder):
    """A run that was stopped after new cells were measured has the page of the old ones, which is told."""
    record = {"experiment": "squares", "sittings": [SITTING, {**SITTING, "date": "tomorrow"}]}
    (folder / "run.json").write_text(json.dumps(record))
    assert "README.md and run.json are from different runs; run torelli reproduce" in refused(folder)


@pytest.mark.parametrize("name", ["run.json", "README.md", "squares.csv"])
def test_damaged_files_of_an_experiment_are_told(folder, name):
    """Bytes that are no text, an empty file and a missing one are errors that name the file."""
    for content in (b"\xff\xfe\x00\x80", bytes(range(256))):
        (folder / name).write_bytes(content)
        assert name in refused(folder)
    (folder / name).unlink()
    assert name in refused(folder)


def test_a_table_with_blank_lines_and_long_cells(folder):
    """Blank lines are no rows; a cell that no table can hold is an error."""
    (folder / "squares.csv").write_text("number\n\n1\n")
    assert "1 row, rounded to 4 digits; squares.csv has all digits" in tt.report.report_page(folder)
    (folder / "squares.csv").write_text("number\n" + "1" * 10**6 + "\n")
    assert "not valid CSV" in refused(folder)


@pytest.mark.parametrize(
    "change",
    [
        *({"experiment": value} for value in (None, 3, [], "../squares", "x" * 10**6)),
        *({"sittings": value} for value in (None, 3, {}, "x", [3], [{}], [{**SITTING, "versions": 3}])),
        *({"sittings": [{**SITTING, key: value}]} for key in ("date", "cpu") for value in (None, 3, [])),
    ],
)
def test_a_record_of_other_types_is_told(folder, change):
    """Valid JSON that is no record of an experiment is refused as one."""
    record = {"experiment": "squares", "seed": 3, "sittings": [SITTING], **change}
    (folder / "run.json").write_text(json.dumps(record))
    assert "run" in refused(folder)


def test_measurements_are_rounded_and_wide_tables_turned(folder):
    """Cells have four digits, whole numbers and text stay, and a header of many columns stands upright."""
    header = ",".join(f"seconds_{i}" for i in range(25))
    (folder / "squares.csv").write_text(f"{header}\n0.0015653909,12,123456.789\n")
    page = report_page(folder)
    assert '<th scope="row">0.001565</th><td>12</td><td>123457</td>' in page
    assert '<table class="dense turned">' in page
    assert '<th scope="col">seconds_<wbr>24</th>' in page


def test_emphasis_may_go_over_lines():
    """One star is emphasis and two are bold, also around the end of a line; a lone star is a star."""
    html = render_markdown("*one* and **two\nlines**, 2 * 3 * 4", Path())
    assert "<em>one</em> and <strong>two\nlines</strong>, 2 * 3 * 4" in html


def test_no_barriers(folder, pages):
    """axe-core finds no serious barrier on the page of an experiment, with the table of all rows open."""
    (folder / "squares.csv").write_text("number,square\n1,1\n2,4\n")
    write(folder / "report.html", report_page(folder))
    page = pages(folder / "report.html", width=400)
    page.locator("#rows summary").click()
    assert page.locator("#rows tbody tr").count() == 2
    assert barriers(page) == []
