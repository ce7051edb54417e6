"""Whatever is in a file, `read` gives graphs or an error of this package, never another's traceback.

Valid files are mutated at random. A short run is part of the suite; TORELLI_FUZZ_SECONDS=600 gives
each format its share of ten minutes.
"""

from __future__ import annotations

import os
import random
import re
import time
import warnings
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import samples
import torelli as tt

if TYPE_CHECKING:
    from pathlib import Path

FORMATS = samples.names()
MUTATIONS = ("flip", "cut", "double", "insert", "number", "drop")
NUMBERS = (
    b"nan",
    b"-1",
    b"0",
    b"1e999",
    b"99999999999999999999",
    b"",
    b"[]",
    b"null",
    b"\xff",
    b"&lt;",
    b'"',
)


@pytest.fixture(scope="module")
def valid(tmp_path_factory) -> dict[str, dict[str, bytes]]:
    """Return a valid file of each format: the name of each of its parts with the content."""
    folder = tmp_path_factory.mktemp("valid")
    samples.write(folder)
    parts = {name: [name] for name in FORMATS}
    parts["a.shp"] += ["a.shx", "a.dbf", "a.prj"]
    return {name: {part: (folder / part).read_bytes() for part in parts[name]} for name in FORMATS}


def mutate(content: bytes, mutations) -> bytes:
    """Apply mutations (kind, place, value) one after another."""
    for kind, place, value in mutations:
        start = place % (len(content) + 1)
        if kind == "flip" and start < len(content):
            content = content[:start] + bytes([content[start] ^ (1 << value % 8)]) + content[start + 1 :]
        elif kind == "cut":
            content = content[:start]
        elif kind == "double":
            content = content[:start] + content[start : start + value] * 2 + content[start + value :]
        elif kind == "insert":
            content = content[:start] + bytes([value]) + content[start:]
        elif kind == "number":
            content = content[:start] + NUMBERS[value % len(NUMBERS)] + content[start + 1 + value % 4 :]
        elif kind == "drop":
            content = content[:start] + content[start + 1 + value % 16 :]
    return content


def check_survival(folder: Path, name: str, parts: dict[str, bytes], victim: int, mutations) -> None:
    """Write a mutated file and read it."""
    for i, (part, content) in enumerate(parts.items()):
        (folder / part).write_bytes(mutate(content, mutations) if i == victim % len(parts) else content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tt.DataWarning)
        for options in ({}, {"split": True, "zero": "contract"}):
            try:
                graphs = tt.read(folder / name, max_bytes=2**26, **options)
            except tt.TorelliError as error:
                assert name in str(error)  # noqa: PT017  (either outcome is right)
            else:
                assert graphs
                assert all(isinstance(graph, tt.MetricGraph) for graph in graphs)


mutation_lists = st.lists(
    st.tuples(st.sampled_from(MUTATIONS), st.integers(0, 2**17), st.integers(0, 255)), min_size=1, max_size=5
)


@pytest.mark.filterwarnings("ignore::torelli.DataWarning")
@pytest.mark.parametrize("name", FORMATS)
def test_valid_files_are_read(valid, tmp_path, name) -> None:
    """The files that are mutated below are valid."""
    for part, content in valid[name].items():
        (tmp_path / part).write_bytes(content)
    assert tt.read(tmp_path / name)[0].n_edges


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(victim=st.integers(0, 3), mutations=mutation_lists)
def test_mutated_files_are_read_or_refused(valid, tmp_path, name, victim, mutations) -> None:
    """Flipped, cut, doubled and replaced bytes give graphs or an error that names the file."""
    check_survival(tmp_path, name, valid[name], victim, mutations)


def in_quotes(content: bytes) -> bytes:
    """Return JSON with its numbers as strings, which may be replaced by anything."""
    return re.sub(rb"(?<=[\[ ])(\d[\d.]*)", rb'"\1"', content)


def replace_words(content: bytes, places, filler: bytes, *, everywhere: bool) -> bytes:
    """Put a filler in place of some words, and of the other places of the same word if asked."""
    words = re.findall(rb"\w+|\W+", content)
    chosen = {[start for start, word in enumerate(words) if word[:1].isalnum()][place] for place in places}
    values = {words[start] for start in chosen} if everywhere else set()
    return b"".join(filler if start in chosen or word in values else word for start, word in enumerate(words))


@pytest.mark.parametrize("name", [*samples.texts(), "a.geojson"])
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    places=st.lists(st.integers(-30, 30), min_size=1, max_size=3),
    letter=st.sampled_from("a9é\u202e"),
    size=st.sampled_from([4_000, 100_000, 1_000_000]),
    everywhere=st.booleans(),
)
def test_messages_about_long_words_are_short(valid, tmp_path, name, places, letter, size, everywhere) -> None:
    """Ids, names, numbers and attributes of a megabyte are quoted in a line, in errors and in warnings."""
    filler = (letter * size).encode()
    content = in_quotes(valid[name][name]) if "json" in name else valid[name][name]
    n_words = len(re.findall(rb"\b\w+", content))
    places = [max(-n_words, min(place, n_words - 1)) for place in places]
    (tmp_path / name).write_bytes(replace_words(content, places, filler, everywhere=everywhere))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            tt.read(tmp_path / name)
        except tt.TorelliError as error:
            assert len(str(error)) < 2_000  # noqa: PT017  (either outcome is right)
    assert all(len(str(warning.message)) < 2_000 for warning in caught)


@pytest.mark.skipif(
    "TORELLI_FUZZ_SECONDS" not in os.environ, reason="set TORELLI_FUZZ_SECONDS for a long run"
)
@pytest.mark.parametrize("name", FORMATS)
def test_mutated_files_for_long(valid, tmp_path, name) -> None:
    """The same for as long as asked, from a seed that is shown where it fails."""
    stop = time.monotonic() + float(os.environ["TORELLI_FUZZ_SECONDS"]) / len(FORMATS)
    seed = time.time_ns()
    while time.monotonic() < stop:
        seed += 1
        rng = random.Random(seed)  # noqa: S311  (not for secrets)
        mutations = [
            (rng.choice(MUTATIONS), rng.randrange(2**17), rng.randrange(256))
            for _ in range(rng.randint(1, 6))
        ]
        victim = rng.randrange(4)
        try:
            check_survival(tmp_path, name, valid[name], victim, mutations)
        except Exception as error:
            raise AssertionError(f"{name}: part {victim}, mutations {mutations}") from error
