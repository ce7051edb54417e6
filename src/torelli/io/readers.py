"""What a reader of files is: its entry in the registry, the file it is given, and the records it returns.

A format is one module with a function that takes a `SourceFile` and the reader's own options, and one
`Reader` that describes it. `torelli.read`, `torelli.read_records`, the options of the command line and
the tests that apply to every reader follow from that entry.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from torelli._errors import InvalidOptionError, quoted, unknown_option
from torelli.io.files import COMPRESSIONS, Budget, json_bytes, parse_json, read_text
from torelli.io.values import EdgeValues

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torelli._types import Json
    from torelli.graph import MetricGraph
    from torelli.io.directed import Directions

COMMON_OPTIONS = ("length", "unit", "values", "direction_tolerance", "zero", "max_bytes")
"""Options of `torelli.read` that do not belong to one reader."""


class Record(NamedTuple):
    """A graph of a file, and what else the file says of it.

    Attributes
    ----------
    graph
        The graph.
    fields
        The other fields, such as ``label`` or ``group``, as the file has them.
    """

    graph: MetricGraph
    fields: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Option:
    """An option of a reader: a keyword of `torelli.read`, and an option of the command line.

    Attributes
    ----------
    name
        The keyword; on the command line ``network_type`` is ``--network-type``.
    help
        What it does, in a line.
    type
        Converts the text of the command line.
    default
        Value if it is not given; False makes it a flag on the command line.
    choices
        The possible values, if there are few; None is ``none`` on the command line.
    metavar
        What the help of the command line shows for the value.
    """

    name: str
    help: str
    type: Callable[[str], Any] = str
    default: Any = None
    choices: tuple[Any, ...] | None = None
    metavar: str | None = None

    @property
    def flag(self) -> str:
        """The option of the command line."""
        return "--" + self.name.replace("_", "-")

    def check(self, value: object) -> None:
        """Raise unless a value is one of the choices."""
        if self.choices is not None and value not in self.choices:
            raise unknown_option(self.name, value, self.choices)


@dataclass(frozen=True)
class Reader:
    """A file format.

    Attributes
    ----------
    name
        Short name, for messages and tests.
    suffixes
        Endings of file names, in lower case, without the suffix of a compression.
    read
        Reads a `SourceFile`, with the reader's own options as keywords. It returns a graph, or with
        `several` a list of `Record`.
    options
        The reader's own options; readers with an option in common use the same object.
    several
        Whether a file may hold several graphs.
    is_compressible
        Whether files may also be compressed (.gz, .bz2).
    content
        What the content looks like, for the error if none of several readers recognises it.
    recognises
        Returns whether the content is of this format; called if several readers have the suffix.
    is_folder
        Whether a folder as a whole is one input of this format.
    extra
        The extra of this package that the format needs.
    example
        A small valid file, for the tests; formats that are not text have theirs in the tests.
    """

    name: str
    suffixes: tuple[str, ...]
    read: Callable[..., Any]
    options: tuple[Option, ...] = ()
    several: bool = False
    is_compressible: bool = True
    content: str = ""
    recognises: Callable[[SourceFile], bool] | None = None
    is_folder: Callable[[Path], bool] | None = None
    extra: str | None = None
    example: str = ""

    def matches(self, path: Path) -> bool:
        """Whether a file has a name of this format."""
        name = path.name.lower()
        endings = ("", *COMPRESSIONS) if self.is_compressible else ("",)
        return name.endswith(tuple(suffix + ending for suffix in self.suffixes for ending in endings))

    def records(self, file: SourceFile, options: Mapping[str, Any]) -> list[Record]:
        """Return what a file holds; of the options, the reader is given its own."""
        own = {option.name: options.get(option.name, option.default) for option in self.options}
        content = self.read(file, **own)
        return content if self.several else [Record(content)]


@dataclass
class SourceFile:
    """A file to read, and what is asked of every reader.

    Attributes
    ----------
    path
        The file.
    length
        Name of the attribute or column with the edge lengths, or the length of every edge.
    unit
        Unit of the lengths where the file states none.
    directions
        The rule for merging the two directions of a street in directed graphs.
    max_bytes
        Largest amount of memory to use for reading the file, in bytes.
    values
        Which values on edges to keep: all, none, or those with the given names.
    budget
        Counts that memory.
    """

    path: Path
    length: str | float
    unit: str | None
    directions: Directions
    max_bytes: int | None = None
    values: bool | tuple[str, ...] = True
    budget: Budget = field(init=False)
    _json: Any = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.budget = Budget(self.path, self.max_bytes)

    @property
    def name(self) -> str:
        """The file name."""
        return self.path.name

    def about(self) -> dict[str, Any]:
        """Return what a graph of the file is given if the file does not say more: name, source and unit."""
        path = self.path
        name = path.name.removesuffix(path.suffix) if path.suffix.lower() in COMPRESSIONS else path.name
        stem = Path(name).stem.removesuffix(".osm") or path.name
        return {"name": stem, "source": path.name, "unit": self.unit}

    def edge_values(self, *, measured: bool = False) -> EdgeValues:
        """Return which values on edges are kept, and what makes arrays of them.

        Where lengths are measured, the attribute with lengths is a value like others.
        """
        length = None if measured else self.length
        return EdgeValues(wanted=self.values, length=length, take=self.budget.take, file=self.name)

    def json(self) -> Json:
        """Return the content as JSON, which is parsed once and counted as taken."""
        if self._json is None:
            text = read_text(self.path, self.budget)
            self._json = parse_json(text, self.name, self.budget)
            self.budget.take(json_bytes(text, self.budget))
        return self._json

    def forget(self) -> None:
        """Give up what was parsed, and its memory, for a reader that opens the file itself."""
        self._json = None
        self.budget = Budget(self.path, self.max_bytes)


READERS: dict[str, Reader] = {}
"""The registered readers by name, in the order in which they are asked."""


def register(reader: Reader) -> None:
    """Add a reader; its options are then those of `torelli.read` and of the command line too."""
    known = own_options()
    for option in reader.options:
        if option.name in COMMON_OPTIONS or known.get(option.name, option) != option:
            raise InvalidOptionError(f"reader {reader.name!r}: another option is called {option.name!r}")
    if reader.name in READERS:
        raise InvalidOptionError(f"there is a reader {reader.name!r} already")
    READERS[reader.name] = reader


def own_options() -> dict[str, Option]:
    """Return the options of all readers by name."""
    return {option.name: option for reader in READERS.values() for option in reader.options}


def check_options(given: Mapping[str, object]) -> None:
    """Raise an error for an option that no reader has, or that has an impossible value."""
    known = own_options()
    for name, value in given.items():
        if name not in known:
            near = get_close_matches(name, [*COMMON_OPTIONS, *known], n=1)
            remedy = f"did you mean {near[0]!r}?" if near else f"readers have {', '.join(sorted(known))}"
            raise InvalidOptionError(f"no reader has an option {quoted(name)}: {remedy}")
        known[name].check(value)
