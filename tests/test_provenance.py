"""What is recorded beside measured figures."""

from __future__ import annotations

import json
import platform

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torelli import _provenance
from torelli._provenance import describe, is_described, machine, three_digits


def test_a_record_survives_the_way_to_disk_and_is_described_in_a_sentence():
    """The record is plain JSON; the sentence has date, processor, cores and versions."""
    record = json.loads(json.dumps(machine()))
    assert is_described(record)
    sentence = describe(record)
    for part in (
        record["date"],
        record["cpu"],
        f"Python {platform.python_version()}",
        f"numpy {np.__version__}",
    ):
        assert part in sentence
    assert record["date"].endswith(" UTC")
    assert sentence.endswith(".")


def test_packages_that_are_not_installed_have_no_version(monkeypatch):
    """A missing package is recorded as missing, and the sentence leaves it out."""
    monkeypatch.setattr(_provenance, "PACKAGES", ("numpy", "no-such-package"))
    record = machine()
    assert record["versions"] == {"numpy": np.__version__, "no-such-package": None}
    assert "no-such-package" not in describe(record)


@pytest.mark.parametrize(
    "change",
    [
        {"date": 3},
        {"cpu": None},
        {"python": ["3.13"]},
        {"versions": [["numpy", "2"]]},
        {"versions": None},
        {"cores": ...},
    ],
)
def test_other_records_are_told_apart(change):
    """A record from a file that lacks what the sentence uses, or has it in another type, is none."""
    record = {**machine(), **change}
    if record["cores"] is ...:
        del record["cores"]
    assert not is_described(record)
    assert not any(map(is_described, (None, [], "record", 3, {})))


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        (0.01234, "0.0123"),
        (12.345, "12.3"),
        (1.0, "1"),
        (999.4, "999"),
        (12345.6, "12,346"),
        (0.0, "0"),
        (-2500.0, "-2,500"),
    ],
)
def test_figures_as_a_person_writes_them(figure, text):
    """Three digits below a thousand, whole numbers with commas from there."""
    assert three_digits(figure) == text


@given(st.floats(1e-4, 1e12))
def test_a_written_figure_is_right_to_half_a_per_cent(figure):
    """What is written can be read back, with an error of half a unit in the third digit at most."""
    assert float(three_digits(figure).replace(",", "")) == pytest.approx(figure, rel=5.1e-3)
