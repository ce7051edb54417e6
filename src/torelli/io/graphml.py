"""GraphML, streamed: OSMnx's files (where every attribute is a string) and any other's.

XML that declares entities, or refers to external ones, is refused before any of it is expanded.
"""

from __future__ import annotations

from itertools import chain, islice
from sys import getsizeof
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

import numpy as np

from torelli._errors import FormatError, listed, quoted, shortened
from torelli._geo import check_lonlat
from torelli.io.edges import SAME_LENGTHS, build_graph
from torelli.io.files import chunks, string_bytes
from torelli.io.objects import described, known
from torelli.io.places import AXES, find_places, how_to_measure
from torelli.io.readers import Reader, Record
from torelli.io.values import NUMBER, TEXT, TRUTH_VALUE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torelli.io.readers import SourceFile

_MAX_DEPTH = 64
_PIECE = 2**17  # bytes that are parsed between two counts of memory
# bytes of what is kept, with those of the graph that it becomes: beside the text itself
_GRAPH, _NODE, _EDGE, _VALUE, _KEY = 1500, 350, 450, 150, 500
_TAG, _LONG = 40, 2**16  # for each byte of a tag, which may be all attributes; from this length on
_OWNERS = ("graph", "node", "edge")
_ID = "id"
_KINDS = {
    "string": TEXT,
    "boolean": TRUTH_VALUE,
    **dict.fromkeys(("int", "long", "float", "double"), NUMBER),
}


def read_graphml(file: SourceFile) -> list[Record]:
    """Return every graph of a GraphML file."""
    document = _Document(file)
    size = 0
    try:
        for chunk in chunks(file.path, file.budget):
            # a megabyte of empty graphs takes a hundred megabytes, so memory is counted more often
            for start in range(0, len(chunk), _PIECE):
                piece = chunk[start : start + _PIECE]
                document.parser.Parse(piece)
                size += len(piece)
                document.account(size)
        is_final = True
        document.parser.Parse(b"", is_final)
    except expat.ExpatError as error:
        raise FormatError(f"{file.name}: not valid XML ({error}); get the file again") from error
    except (LookupError, ValueError) as error:  # an encoding that Python does not know or cannot map
        if isinstance(error, FormatError):
            raise
        raise FormatError(
            f"{file.name}: the XML is in an unknown encoding ({shortened(str(error))})"
        ) from error
    if not document.graphs:
        raise FormatError(f"{file.name}: no <graph> in the file; it is XML, but not GraphML")
    document.account(size)
    waiting = document.graphs[::-1]
    document.graphs.clear()
    # the data of each element are released as soon as its graph is made
    return [waiting.pop().record(file) for _ in range(len(waiting))]


class GatheredGraph:
    """What is kept of one graph while its file is read: names of nodes, and the attributes that matter."""

    def __init__(self, *, directed: bool) -> None:
        self.directed = directed
        self.attributes: dict[str, str] = {}
        self.nodes: dict[str, int] = {}
        self.places: list[dict[str, str]] = []
        self.source: list[str] = []
        self.target: list[str] = []
        self.edge_directed: list[bool] = []
        self.edges: list[dict[Any, str]] = []
        self.edge_attributes: set[str] = set()
        self.kinds: Mapping[str, str] = {}  # of values on edges, where the file says it
        self.duplicates: list[str] = []
        self.has_edge_ids = False  # in the elements of edges, and not as an attribute
        self.counted = (0, 0, 0)

    def owed(self) -> int:
        """Return the memory of what was added since the last call, and of the graph that it becomes."""
        ids, nodes, edges = self.counted
        added = chain(
            islice(reversed(self.nodes), len(self.nodes) - ids), self.source[edges:], self.target[edges:]
        )
        n_bytes = sum(map(getsizeof, added)) + (0 if edges or nodes else _GRAPH)
        n_bytes += _NODE * (len(self.places) - nodes) + _EDGE * (len(self.edges) - edges)
        values = list(chain.from_iterable(map(dict.values, chain(self.places[nodes:], self.edges[edges:]))))
        self.counted = len(self.nodes), len(self.places), len(self.edges)
        return n_bytes + _VALUE * len(values) + 2 * sum(map(getsizeof, values))

    def record(self, file: SourceFile) -> Record:
        """Return the metric graph, and all attributes of the graph in the file as fields."""
        self._check(file.name)
        length = file.length
        tail = np.array([self.nodes[node] for node in self.source], dtype=np.int64)
        head = np.array([self.nodes[node] for node in self.target], dtype=np.int64)
        lengths = [edge.get(length) for edge in self.edges]
        ways: list[Any] = [edge.get("osmid") for edge in self.edges]
        values = file.edge_values()
        names = dict.fromkeys(name for edge in self.edges for name in edge)
        columns = {name: [edge.get(name) for edge in self.edges] for name in names if values.keeps(name)}
        if self.has_edge_ids and not _are_names(columns[_ID]):
            del columns[_ID]
        two_way = [i for i, directed in enumerate(self.edge_directed) if not directed]
        if two_way and len(two_way) < len(lengths):
            # an undirected edge among directed ones is a street of its own, in both directions
            tail, head = np.append(tail, head[two_way]), np.append(head, tail[two_way])
            for column in (lengths, *columns.values()):
                column += [column[i] for i in two_way]
            for i in two_way:
                ways[i] = ("edge", i)
            ways += [ways[i] for i in two_way]
        described_here: dict[str, Any] = described(self.attributes)
        how_to_set = SAME_LENGTHS
        places = find_places(self.places, self.attributes.get("crs"))
        if places is not None:
            described_here |= places._asdict()
        elif lengths and lengths[0] is None:
            how_to_set += how_to_measure(self.places)
        overrides = {key: value for key, value in file.about().items() if value is not None}
        for key in ("name", "unit"):
            if described_here[key]:
                overrides.pop(key, None)
        graph = build_graph(
            tail,
            head,
            lengths,
            list(self.nodes),
            length=length,
            other_attributes=lambda: self.edge_attributes,
            how_to_set=how_to_set,
            directions=file.directions if len(two_way) < len(self.edges) else None,
            ways=lambda: known(ways),
            edge_values=values.arrays(columns, self.kinds),
            **{**described_here, **overrides},
        )
        check_lonlat(graph.coordinates, graph.crs, file.name, fatal=False)
        return Record(graph, self.attributes)

    def _check(self, file: str) -> None:
        if self.duplicates:
            raise FormatError(
                f"{file}: {len(self.duplicates):,} node ids appear more than once "
                f"({listed(self.duplicates)}); give every node an id of its own"
            )
        unknown = sorted({node for node in (*self.source, *self.target) if node not in self.nodes})
        if unknown:
            raise FormatError(
                f"{file}: edges name {len(unknown):,} nodes that are not in the graph "
                f"({listed(unknown)}); the file is incomplete"
            )


def _are_names(ids: Sequence[str | None]) -> bool:
    """Whether ids name edges: all have one of their own, and networkx has not numbered parallel edges."""
    named = {one for one in ids if one is not None}
    return len(named) == len(ids) and not all(map(str.isdecimal, named))


class _Document:
    """The handlers of one parse; text is gathered only inside the attributes that are wanted."""

    def __init__(self, file: SourceFile) -> None:
        self.file = file.name
        self.budget = file.budget
        self.n_bytes = 0  # of long values that are kept
        self.n_paid = 0
        self.growing: list[GatheredGraph] = []  # since memory was last counted
        self.of_edges = {file.length, "osmid"}  # attributes that are read whether they are kept or not
        self.values = file.edge_values()
        self.kinds: dict[str, str] = {}
        self.graphs: list[GatheredGraph] = []
        self.keys: dict[tuple[str, str], str] = {}
        self.defaults: dict[str, dict[str, str]] = {owner: {} for owner in _OWNERS}
        self.declared: set[str] = set()
        self.edge_attributes: set[str] = set()
        self.depth = 0
        self.owner: list[str] = []
        self.key: tuple[str, str] | None = None
        self.data: dict[str, str] = {}
        self.attribute: str | None = None
        self.text: list[str] = []
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.EntityDeclHandler = self._refuse_entity
        parser.ExternalEntityRefHandler = self._refuse_entity
        parser.SkippedEntityHandler = self._refuse_entity
        self.parser = parser

    def account(self, size: int) -> None:
        """Count the memory of what is kept of the first `size` bytes, and of what is begun there."""
        begun = size - self.parser.CurrentByteIndex
        if begun > _LONG:
            self.budget.check(_TAG * begun)
        if self.attribute is not None:
            self.budget.check(2 * sum(map(string_bytes, self.text)))
        owed = self.n_bytes + _KEY * len(self.declared) + sum(graph.owed() for graph in self.growing)
        del self.growing[:-1]
        self.budget.take(owed - self.n_paid)
        self.n_paid = self.n_bytes + _KEY * len(self.declared)

    def _refuse_entity(self, *_: object) -> int:
        raise FormatError(
            f"{self.file}: the XML declares or uses entities, which are never expanded; remove its DOCTYPE"
        )

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise self._wrong(f"elements are nested more than {_MAX_DEPTH} deep")
        tag = tag.rpartition(":")[2]
        if tag == "data":
            self._start_data(attributes.get("key"))
        elif tag == "node":
            self._start_node(attributes)
        elif tag == "edge":
            self._start_edge(attributes)
        elif tag == "graph":
            self._start_graph(attributes)
        elif tag == "key":
            self._start_key(attributes)
        elif tag == "default" and self.key is not None:
            self._gather("default")
        elif tag == "hyperedge":
            raise self._wrong("there is a hyperedge; a metric graph has edges between two nodes only")

    def _end(self, tag: str) -> None:
        self.depth -= 1
        tag = tag.rpartition(":")[2]
        if self.attribute is not None and tag in {"data", "default"}:
            value = "".join(self.text)
            if len(value) > _LONG or self.owner == ["graph"]:
                self.n_bytes += _VALUE + getsizeof(value)
            self.parser.CharacterDataHandler = None
            if tag == "data":
                self.data[self.attribute] = value
            elif self.key is not None:
                owner, name = self.key
                for one in _OWNERS if owner == "all" else (owner,):
                    self.defaults.setdefault(one, {})[name] = value
            self.attribute = None
        elif tag in _OWNERS and self.owner:
            self.owner.pop()
            if tag != "graph":
                self.data = self.graphs[-1].attributes
        elif tag == "key":
            self.key = None

    def _gather(self, attribute: str) -> None:
        self.attribute = attribute
        self.text = []
        self.parser.CharacterDataHandler = self.text.append

    def _start_key(self, attributes: dict[str, str]) -> None:
        identity, owner = attributes.get("id"), attributes.get("for", "all")
        name = attributes.get("attr.name") or identity
        if identity is None or name is None:
            raise self._wrong("a <key> has no id")
        self.declared.add(identity)
        self.key = (owner, name)
        # yEd's drawing of a node or an edge is a tree of elements, not a value
        is_drawing = "yfiles.type" in attributes
        for one in _OWNERS if owner == "all" else (owner,):
            if one == "edge" and not is_drawing:
                self.edge_attributes.add(name)
                self.kinds[name] = _KINDS.get(attributes.get("attr.type", ""), "")
            if not is_drawing and self._reads(one, name):
                self.keys[one, identity] = name

    def _reads(self, owner: str, name: str) -> bool:
        """Whether an attribute of a graph, a node or an edge is read."""
        if owner == "node":
            return name.lower() in AXES
        return owner == "graph" or name in self.of_edges or self.values.keeps(name)

    def _start_data(self, key: str | None) -> None:
        if key is None:
            raise self._wrong("a <data> has no key")
        # yEd writes the pictures of a drawing after its graph
        attribute = self.keys.get((self.owner[-1], key)) if self.owner else None
        if attribute is not None:
            self._gather(attribute)
        elif key not in self.declared:
            raise self._wrong(f"the key {quoted(key)} is not declared")

    def _start_graph(self, attributes: dict[str, str]) -> None:
        if self.owner:
            raise self._wrong("a graph is inside another graph; nested graphs are not metric graphs")
        graph = GatheredGraph(directed=attributes.get("edgedefault", "undirected") == "directed")
        graph.edge_attributes = self.edge_attributes
        graph.kinds = self.kinds
        graph.attributes |= self.defaults["graph"]
        self.graphs.append(graph)
        self.growing.append(graph)
        self.owner.append("graph")
        self.data = graph.attributes

    def _start_node(self, attributes: dict[str, str]) -> None:
        if self.owner != ["graph"]:
            raise self._wrong("a <node> is outside a graph")
        identity = attributes.get("id")
        if identity is None:
            raise self._wrong("a <node> has no id")
        graph = self.graphs[-1]
        if identity in graph.nodes:
            graph.duplicates.append(identity)
        graph.nodes[identity] = len(graph.nodes)
        self.data = dict(self.defaults["node"])
        graph.places.append(self.data)
        self.owner.append("node")

    def _start_edge(self, attributes: dict[str, str]) -> None:
        if self.owner != ["graph"]:
            raise self._wrong("an <edge> is outside a graph")
        graph = self.graphs[-1]
        try:
            graph.source.append(attributes["source"])
            graph.target.append(attributes["target"])
        except KeyError as error:
            raise self._wrong(f"an <edge> has no {error.args[0]}") from None
        directed = attributes.get("directed")
        graph.edge_directed.append(graph.directed if directed is None else directed == "true")
        self.data = dict(self.defaults["edge"])
        if _ID in attributes and _ID not in self.edge_attributes and self.values.keeps(_ID):
            self.data[_ID] = attributes[_ID]
            graph.has_edge_ids = True
        graph.edges.append(self.data)
        self.owner.append("edge")

    def _wrong(self, problem: str) -> FormatError:
        return FormatError(f"{self.file}, line {self.parser.CurrentLineNumber:,}: {problem}")


GRAPHML = Reader(
    "graphml",
    (".graphml",),
    read_graphml,
    several=True,
    example="""<?xml version='1.0' encoding='utf-8'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="l" for="edge" attr.name="length"/>
<key id="o" for="edge" attr.name="osmid"/><key id="x" for="node" attr.name="x"/>
<key id="y" for="node" attr.name="y"/><key id="c" for="graph" attr.name="crs"/>
<graph edgedefault="directed"><data key="c">epsg:4326</data>
<node id="1"><data key="x">8.5</data><data key="y">50.1</data></node>
<node id="2"><data key="x">8.6</data><data key="y">50.2</data></node>
<edge source="1" target="2"><data key="l">10.5</data><data key="o">[5, 6]</data></edge>
<edge source="2" target="1"><data key="l">10.5</data><data key="o">[6, 5]</data></edge>
<edge source="1" target="1" directed="false"><data key="l">3</data></edge></graph></graphml>""",
)
