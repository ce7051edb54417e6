"""Pajek's networks (.net): numbered vertices with labels, and edges whose value is the length.

networkx's parser makes vertices with the same label one, reads arcs after edges as edges, and takes the
number of vertices from the header.
"""

from __future__ import annotations

import re
from sys import getsizeof
from typing import TYPE_CHECKING

from torelli._errors import FormatError, quoted
from torelli._validate import is_number
from torelli.io.edges import warn
from torelli.io.files import lines
from torelli.io.graphml import GatheredGraph
from torelli.io.readers import Reader

if TYPE_CHECKING:
    from torelli.graph import MetricGraph
    from torelli.io.readers import SourceFile

_FIELD = re.compile(r'"([^"]*)"|(\S+)')
_OFTEN = 1000  # rows between two counts of memory
_LONG, _WORK = 2**16, 150  # characters of a line from which its fields are counted, and bytes for each
_LABEL = 100  # bytes of a label
_AXES = "xyz"
_PAIR = 2
_MOST_UNLISTED = 100_000  # vertices of a matrix that the header alone declares; its rows have as many fields


def read_pajek(file: SourceFile) -> MetricGraph:
    """Return the network of a Pajek file; nodes are named by label, or by number if labels repeat."""
    network = _Network(file)
    graph = network.graph
    if not network.sections:
        raise FormatError(f"{file.name}: no '*Vertices' in the file; it is not a network of Pajek")
    file.budget.take(graph.owed())
    built = graph.record(file).graph
    if network.n_declared is not None and len(graph.nodes) < network.n_declared:
        warn(
            f"{network.n_declared:,} vertices are declared and {len(graph.nodes):,} are in the file; "
            "the others, which have no edges, are left out",
            name=file.name,
        )
    labels = [network.labels.get(str(node), "") for node in built.node_ids or ()]
    if all(labels) and len({*labels}) == len(labels):
        return built.replace(node_ids=labels)
    return built


class _Network:
    """What is kept of a file."""

    def __init__(self, file: SourceFile) -> None:
        self.file = file
        self.graph = GatheredGraph(directed=False)
        self.labels: dict[str, str] = {}
        self.sections: set[str] = set()
        self.n_declared: int | None = None
        self.row = 0  # of a matrix
        # the length of an edge, unless all edges are given one
        self.value = file.length if isinstance(file.length, str) else "value"
        section = ""
        for line_number, line in enumerate(lines(file.path, file.budget, any_newline=True), 1):
            if len(line) > _LONG:
                file.budget.check(_WORK * len(line))
            if line_number % _OFTEN == 0:
                file.budget.take(self.graph.owed())
            fields = [quote or word for quote, word in _FIELD.findall(line)]
            if not fields or line.lstrip().startswith("%"):
                continue
            if line.lstrip().startswith("*"):
                section = self._start(line_number, fields)
            elif section == "*vertices":
                self._add_vertex(fields)
            elif section in {"*edges", "*arcs"}:
                self._add_edge(line_number, fields, directed=section == "*arcs")
            elif section in {"*edgeslist", "*arcslist"}:
                for neighbour in fields[1:]:
                    self._add_edge(line_number, [fields[0], neighbour], directed=section == "*arcslist")
            elif section == "*matrix":
                self._add_row(line_number, fields)

    def _start(self, line_number: int, fields: list[str]) -> str:
        section = fields[0].lower()
        if section == "*network":
            self.graph.attributes["name"] = " ".join(fields[1:])
        elif section == "*vertices":
            if section in self.sections:
                raise self._wrong(line_number, "a second network begins; give each network a file of its own")
            if len(fields) > 1 and fields[1].isdecimal() and len(fields[1]) < len(str(2**63)):
                self.n_declared = int(fields[1])
            self.sections.add(section)
        elif section in {"*edgeslist", "*arcslist"} and isinstance(self.file.length, str):
            raise self._wrong(
                line_number,
                f"{fields[0]} has no lengths; write *Edges, with a length in each row, or give every edge "
                "the same length with length=1.0",
            )
        elif section == "*matrix" and self.n_declared is not None and not self.graph.nodes:
            if self.n_declared > _MOST_UNLISTED:
                raise self._wrong(line_number, f"{self.n_declared:,} vertices are declared and none listed")
            for number in range(1, self.n_declared + 1):
                self._node(str(number))
        return section

    def _add_vertex(self, fields: list[str]) -> None:
        node = fields[0]
        if node in self.graph.nodes:
            self.graph.duplicates.append(node)
        self._node(node)
        place: dict[str, str] = {}
        for axis, text in zip(_AXES, fields[2:], strict=False):
            if not is_number(text):
                break
            place[axis] = text
        self.graph.places[-1] = place
        if len(fields) > 1:
            self.labels[node] = fields[1]
            self.file.budget.take(_LABEL + getsizeof(fields[1]))

    def _node(self, node: str) -> None:
        if node not in self.graph.nodes:
            self.graph.nodes[node] = len(self.graph.nodes)
            self.graph.places.append({})

    def _add_edge(self, line_number: int, fields: list[str], *, directed: bool) -> None:
        if len(fields) < _PAIR:
            raise self._wrong(line_number, f"an edge has the field {quoted(fields[0])} only")
        for node in fields[:_PAIR]:
            if node not in self.graph.nodes and not node.isdecimal():
                raise self._wrong(line_number, f"{quoted(node)} is not the number of a vertex")
            self._node(node)
        # after the value, parameters of the drawing: names and values in turn
        values = dict(zip(fields[3::2], fields[4::2], strict=False))
        if len(fields) > _PAIR:
            values[self.value] = fields[2]
        self._edge(fields[0], fields[1], values, directed=directed)

    def _add_row(self, line_number: int, fields: list[str]) -> None:
        nodes = list(self.graph.nodes)
        if self.row >= len(nodes) or len(fields) != len(nodes):
            raise self._wrong(line_number, f"the matrix does not fit the {len(nodes):,} vertices")
        for node, text in zip(nodes, fields, strict=True):
            if not is_number(text) or float(text) != 0:
                self._edge(nodes[self.row], node, {self.value: text}, directed=True)
        self.row += 1
        self.file.budget.take(self.graph.owed())

    def _edge(self, source: str, target: str, value: dict[str, str], *, directed: bool) -> None:
        graph = self.graph
        graph.source.append(source)
        graph.target.append(target)
        graph.edges.append(value)
        graph.edge_directed.append(directed)

    def _wrong(self, line_number: int, problem: str) -> FormatError:
        return FormatError(f"{self.file.name}, line {line_number:,}: {problem}")


PAJEK = Reader(
    "pajek",
    (".net",),
    read_pajek,
    example="""*Network town
*Vertices 3
1 "a" 0.1 0.2 0.5 ic Red
2 "b c" 0.3 0.4 0.5
3 "d"
*Edges
1 2 2.5
2 1 3.5
*Arcs
2 3 1.5
3 2 1.5
""",
)
