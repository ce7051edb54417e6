"""GML: nested lists of keys and values in brackets.

networkx's parser refuses parallel edges unless the file says ``multigraph 1``, which most files with them
do not, and it recurses as deep as the file does.
"""

from __future__ import annotations

import re
from html import unescape
from sys import getsizeof
from typing import TYPE_CHECKING

from torelli._errors import FormatError, quoted
from torelli.io.files import read_text, texts
from torelli.io.graphml import GatheredGraph
from torelli.io.places import AXES
from torelli.io.readers import Reader, Record
from torelli.io.values import TEXT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torelli.io.readers import SourceFile

_TOKEN = re.compile(
    r'\s+|^\s*#[^\n]*|"(?P<string>[^"]*)"|(?P<mark>[\[\]])|(?P<word>[^\s\[\]"]+)', re.MULTILINE
)
_MAX_DEPTH = 64
_OFTEN = 1000  # nodes and edges between two counts of memory
_KEY = 200  # bytes of the name of an attribute
_ITEM = ("graph", "node"), ("graph", "edge")
_ENDS = ("source", "target")


def read_gml(file: SourceFile) -> list[Record]:
    """Return every graph of a GML file."""
    if _is_markup(file):
        raise FormatError(
            f"{file.name}: this is Geography Markup Language, which has the same suffix as GML of graphs; "
            f"convert it to GeoPackage, such as with `ogr2ogr {file.path.stem}.gpkg {file.name}` or in QGIS"
        )
    graphs = _Parser(file).graphs
    if not graphs:
        raise FormatError(f"{file.name}: no 'graph [' in the file; it is not GML")
    return [graph.record(file) for graph in graphs]


def _is_markup(file: SourceFile) -> bool:
    """Whether a file begins as XML does."""
    first = next(texts(file.path, file.budget), "")
    return first.lstrip().startswith("<")


class _Parser:
    """The state of one parse: the lists that are open, and the node or edge that is gathered."""

    def __init__(self, file: SourceFile) -> None:
        self.file = file
        self.graphs: list[GatheredGraph] = []
        self.names: set[str] = set()
        self.values = file.edge_values()
        self.kinds: dict[str, str] = {}  # text in quotes is not a number
        self.path: tuple[str, ...] = ()
        self.item: dict[str, str] = {}
        self.n_items = 0
        key: str | None = None
        for place, word, is_string in self._tokens():
            if key is None:
                if word == "]" and not is_string:
                    self._close(place)
                elif word == "[" or is_string:
                    raise self._wrong(place, f"expected a key instead of {quoted(word)}")
                else:
                    key = word.lower() if len(self.path) <= 1 else word  # keys of a file or graph
            elif word == "]" and not is_string:
                raise self._wrong(place, f"the key {quoted(key)} has no value")
            elif word == "[" and not is_string:
                self._open(place, key.lower())
                key = None
            else:
                self._set(key, word, is_string=is_string)
                key = None
        if self.path or key is not None:
            raise FormatError(f"{file.name}: the file ends inside a list; it is truncated")

    def _tokens(self) -> Iterator[tuple[int, str, bool]]:
        text = self.text = read_text(self.file.path, self.file.budget)
        place = 0
        while place < len(text):
            match = _TOKEN.match(text, place)
            if match is None:
                raise self._wrong(place, "a string is not closed")
            if match.lastgroup is not None:
                yield place, match[match.lastgroup], match.lastgroup == "string"
            place = match.end()

    def _open(self, place: int, key: str) -> None:
        self.path = (*self.path, key)
        if len(self.path) > _MAX_DEPTH:
            raise self._wrong(place, f"lists are nested more than {_MAX_DEPTH} deep")
        if self.path == ("graph",):
            graph = GatheredGraph(directed=False)
            graph.edge_attributes, graph.kinds = self.names, self.kinds
            self.graphs.append(graph)
            self.file.budget.take(graph.owed())
        elif self.path in _ITEM:
            self.item = {}

    def _close(self, place: int) -> None:
        if not self.path:
            raise self._wrong(place, "a list is closed that was not opened")
        if self.path in _ITEM:
            self._add(place, self.graphs[-1])
            self.n_items += 1
            if self.n_items % _OFTEN == 0:
                self.file.budget.take(self.graphs[-1].owed())
        elif self.path == ("graph",):
            graph = self.graphs[-1]
            graph.edge_directed = [graph.directed] * len(graph.edges)
            self.file.budget.take(graph.owed())
        self.path = self.path[:-1]

    def _set(self, key: str, value: str, *, is_string: bool) -> None:
        if self.path == ("graph",):
            if key == "directed":
                self.graphs[-1].directed = value == "1"
            else:
                self.file.budget.take(_KEY + getsizeof(key) + getsizeof(value))
                self.graphs[-1].attributes[key] = unescape(value)
        elif self.path == ("graph", "node"):
            if key == "id" or key.lower() in AXES:
                self.item[key] = unescape(value)
        elif self.path == ("graph", "edge"):
            if key in {*_ENDS, "osmid", self.file.length} or self.values.keeps(key):
                self.item[key] = unescape(value)
            if key not in self.names and key not in _ENDS:
                self.file.budget.take(_KEY + getsizeof(key))
                self.names.add(key)
            if is_string:
                self.kinds[key] = TEXT

    def _add(self, place: int, graph: GatheredGraph) -> None:
        kind = self.path[-1]
        for key in ("id",) if kind == "node" else _ENDS:
            if key not in self.item:
                raise self._wrong(place, f"a {kind} has no {key}")
        if kind == "edge":
            graph.source.append(self.item.pop("source"))
            graph.target.append(self.item.pop("target"))
            graph.edges.append(self.item)
            return
        node = self.item.pop("id")
        if node in graph.nodes:
            graph.duplicates.append(node)
        graph.nodes[node] = len(graph.nodes)
        graph.places.append(self.item)

    def _wrong(self, place: int, problem: str) -> FormatError:
        line = self.text.count("\n", 0, place) + 1
        return FormatError(f"{self.file.name}, line {line:,}: {problem}")


GML = Reader(
    "gml",
    (".gml",),
    read_gml,
    several=True,
    example="""Creator "a program"
graph [
  directed 0
  unit "km"
  node [ id 0 label "a &amp; b" lon 8.5 lat 50.1 graphics [ x 1 y 2 ] ]
  node [ id 1 label "c" lon 8.6 lat 50.2 ]
  edge [ source 0 target 1 length 2.5 kind "road" ]
  edge [ source 0 target 1 length 3.5 ]
]
""",
)
