"""The registry of readers: what one entry gives."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import samples
import torelli as tt
from torelli.cli import main
from torelli.io import files
from torelli.io.readers import READERS, Option, Reader, Record, register


def read_toy(file, *, toy_option):
    """Return a ring of as many edges as a line of the file says, times the option."""
    rings = []
    for text in file.path.read_text().splitlines():
        n = int(text) * toy_option
        ring = tt.MetricGraph(range(n), [*range(1, n), 0], [1.0] * n, **file.about())
        rings.append(Record(ring, {"label": text}))
    return rings


TOY = Reader(
    "toy",
    (".toy",),
    read_toy,
    options=(Option("toy_option", "times as many edges", type=int, default=1, metavar="N"),),
    several=True,
    example="3\n4\n",
)


@pytest.fixture
def toy(tmp_path):
    """Register a toy reader, and return a file of its format."""
    register(TOY)
    path = tmp_path / "x.toy"
    path.write_text(TOY.example)
    yield path
    del READERS["toy"]


def test_a_registered_reader_is_in_read(toy):
    """`read` finds the reader by the file name, with its default and with its option."""
    assert [graph.n_edges for graph in tt.read(toy)] == [3, 4]
    assert [graph.n_edges for graph in tt.read(toy, toy_option=2)] == [6, 8]
    assert tt.read(toy.parent)[0].name == "x"


def test_a_registered_reader_is_in_read_records(toy):
    """Other fields of the file come with the graphs."""
    records = tt.read_records(toy, toy_option=3)
    assert [(record.graph.n_edges, record.fields) for record in records] == [
        (9, {"label": "3"}),
        (12, {"label": "4"}),
    ]


def test_a_registered_reader_is_on_the_command_line(toy, capsys):
    """The option is one of the commands that read files, and stands in their help."""
    assert main(["info", str(toy), "--toy-option", "3", "--each", "--json"]) == 0
    assert '"edges": 9' in capsys.readouterr().out
    for command in ("info", "classify", "explore"):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        assert "--toy-option N" in capsys.readouterr().out


def fuzzed() -> set[str]:
    """Return the names of the readers that read a file which the fuzz tests mutate."""
    files = [Path(name) for name in samples.names()]
    return {reader.name for reader in READERS.values() if any(map(reader.matches, files))}


def test_every_reader_is_fuzzed(toy):
    """Each registered reader, the toy too, has a valid file that the fuzz tests mutate."""
    assert fuzzed() == set(READERS)
    assert "a.toy" in samples.names()


def test_an_option_that_no_reader_has_is_refused_with_the_nearest(toy):
    """The error names the option that was meant, or those that there are."""
    with pytest.raises(tt.InvalidOptionError, match=r"'toy_optoin': did you mean 'toy_option'\?"):
        tt.read(toy, toy_optoin=2)
    with pytest.raises(tt.InvalidOptionError, match="'lenght': did you mean 'length'"):
        tt.read(toy, lenght="km")
    with pytest.raises(tt.InvalidOptionError, match=r"readers have .*layer, .*network_type, .*tolerance"):
        tt.read(toy, zzz=1)
    with pytest.raises(tt.InvalidOptionError, match="unknown network_type 'fly'"):
        tt.read(toy, network_type="fly")


def test_readers_and_options_have_names_of_their_own(toy):
    """A second reader of a name, and an option that means two things, are refused."""
    with pytest.raises(tt.InvalidOptionError, match="a reader 'toy' already"):
        register(TOY)
    for name in ("toy_option", "layer", "unit"):
        other = Reader("other", (".other",), read_toy, options=(Option(name, "something else"),))
        with pytest.raises(tt.InvalidOptionError, match=f"another option is called '{name}'"):
            register(other)


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_options_are_documented_in_read(reader):
    """Each option of a reader is in the signature and in the docstring of `read` and `read_records`."""
    for option in reader.options:
        for function in (tt.read, tt.read_records):
            assert option.name in inspect.signature(function).parameters
            assert f"\n{option.name}\n    Of " in function.__doc__


# a zip of lines is told by its members, and then read as the file in it
@pytest.mark.parametrize("reader", [r for r in READERS.values() if r.extra and r.suffixes != (".zip",)])
def test_a_format_without_its_package_names_the_extra(tmp_path, monkeypatch, reader):
    """Where a package is not installed, the error says which extra brings it."""

    def missing(module):
        raise ImportError(module)

    monkeypatch.setattr(files, "import_module", missing)
    path = tmp_path / f"a{reader.suffixes[0]}"
    path.write_text(reader.example or "x")
    with pytest.raises(tt.MissingExtraError, match=rf"pip install 'torelli\[{reader.extra}\]'"):
        tt.read(path)
