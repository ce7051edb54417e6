"""EPANET's input files (.inp): drinking-water networks, with pipes as edges.

Junctions, reservoirs and tanks are nodes. Pumps and valves join two nodes but have no length in EPANET:
an option says what they become. As in EPANET, sections are known by their first letters, text may have any
encoding, and what follows ``[END]`` is not read. Values on the edges are ``id``, ``kind`` (pipe, pump or
valve), ``diameter`` (mm, or inches), ``roughness``, and ``settings``: the other fields of the row, such as
the status of a pipe and the curve of a pump.
"""

from __future__ import annotations

from math import inf, nan
from sys import getsizeof
from typing import TYPE_CHECKING, Any

import numpy as np

from torelli._errors import FormatError, InvalidOptionError, counted, listed, quoted
from torelli.io.edges import build_graph, contract_points, warn
from torelli.io.files import lines
from torelli.io.readers import Option, Reader
from torelli.io.values import TEXT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torelli._types import Floats, Ints
    from torelli.graph import MetricGraph
    from torelli.io.readers import SourceFile

DEVICE_LENGTH = 1.0
"""Length of a pump or a valve, in the unit of the file, unless the caller says otherwise."""

_NODES = ("[JUNC", "[RESE", "[TANK")  # EPANET knows sections by their first letters
_LINKS = {"[PIPE": "pipe", "[PUMP": "pump", "[VALV": "valve"}
_PLACES, _OPTIONS, _END = "[COOR", "[OPTI", "[END"
_OF_SWMM = ("[COND", "[SUBC", "[XSEC")
_FLOW_UNITS = {
    "ft": ("CFS", "GPM", "MGD", "IMGD", "AFD"),
    "m": ("LPS", "LPM", "MLD", "CMH", "CMD", "CMS", "SI"),
}
_UNITS = {flow: unit for unit, flows in _FLOW_UNITS.items() for flow in flows}
_ID_AND_ENDS, _PIPE_FIELDS, _PLACE_FIELDS = 3, 5, 3
_DIAMETER = {"pipe": 4, "valve": 3}
_LONG, _WORK = 2**16, 60  # characters of a line from which its fields are counted, and bytes for each
_NODE, _LINK, _PLACE = 400, 700, 250  # bytes of what is kept, with those of the graph


def read_epanet(file: SourceFile, *, device_length: float | None) -> MetricGraph:
    """Return the network of an EPANET file."""
    if device_length is not None and not 0 <= device_length < inf:
        raise InvalidOptionError(f"device_length is {device_length!r}: use a length, 0 or None")
    network = _Network(file)
    device = np.array([kind != "pipe" for kind in network.kinds], dtype=np.bool_)
    ends = network.ends()
    n_nodes = len(network.nodes)
    kept_nodes = np.arange(n_nodes)
    kept = np.ones(len(device), dtype=np.bool_)
    if device_length is None:
        kept, ends = ~device, ends[~device]
    elif device_length == 0:
        kept = ~device
        is_pipe = kept.astype(np.float64)
        tail, head, _, kept_nodes, _ = contract_points(ends[:, 0], ends[:, 1], is_pipe, n_nodes)
        ends = np.stack([tail, head], axis=1)
    unit = network.unit()
    _tell_of_devices(network.kinds, device_length, unit, file.name)
    nodes = list(network.nodes)
    raw = [
        device_length if is_device else text
        for text, is_device, keep in zip(network.lengths, device, kept, strict=True)
        if keep
    ]
    places = network.places()
    return build_graph(
        ends[:, 0],
        ends[:, 1],
        raw,
        [nodes[i] for i in kept_nodes],
        how_to_set="give the pipe a length",
        coordinates=None if places is None else places[kept_nodes],
        edge_values=file.edge_values().arrays(
            {
                name: [column[i] for i in np.flatnonzero(kept).tolist()]
                for name, column in network.values().items()
            },
            dict.fromkeys(("id", "kind", "settings"), TEXT),
        ),
        **{**file.about(), "unit": unit},
    )


def _tell_of_devices(kinds: list[str], length: float | None, unit: str, name: str) -> None:
    n_devices = {kind: kinds.count(kind) for kind in ("pump", "valve") if kind in kinds}
    if not n_devices:
        return
    counts = [f"{count:,} {kind}{'' if count == 1 else 's'}" for kind, count in n_devices.items()]
    several = sum(n_devices.values()) > 1
    if length is None:
        outcome = "are left out" if several else "is left out"
    elif length == 0:
        outcome = "are points: the nodes that they join are one" if several else "is a point"
    else:
        outcome = f"{'are edges' if several else 'is an edge'} of length {length:g} {unit}"
    warn(
        f"{' and '.join(counts)} without a length {outcome}; device_length=0 makes points of pumps and "
        "valves, and device_length=None leaves them out",
        name=name,
    )


class _Network:
    """What is kept of a file."""

    def __init__(self, file: SourceFile) -> None:
        self.file = file
        self.nodes: dict[str, int] = {}
        self.duplicates: list[str] = []
        self.kinds: list[str] = []
        self.link_ends: list[tuple[str, str]] = []
        self.lengths: list[str | None] = []
        self.diameters: list[float] = []
        self.roughness: list[str | None] = []
        self.ids: list[str] = []
        self.settings: list[str] = []
        self.points: dict[str, tuple[float, float]] = {}
        self.flow: str | None = None
        sections: set[str] = set()
        for line_number, section, fields in self._rows():
            sections.add(section)
            if section in _NODES:
                self._add_node(fields)
            elif section in _LINKS:
                self._add_link(line_number, _LINKS[section], fields)
            elif section == _PLACES:
                self._add_place(line_number, fields)
            elif section == _OPTIONS and fields[0].upper() == "UNITS":
                self.flow = fields[1].upper() if len(fields) > 1 else ""
        if sections.intersection(_OF_SWMM):
            raise FormatError(f"{file.name}: this is a file of SWMM, not of EPANET; only EPANET's are read")
        if not sections.intersection(_NODES):
            raise FormatError(
                f"{file.name}: there are no junctions, reservoirs or tanks; it is not a file of EPANET"
            )
        if self.duplicates:
            raise FormatError(
                f"{file.name}: {len(self.duplicates):,} node ids appear more than once "
                f"({listed(self.duplicates)}); give every node an id of its own"
            )

    def _rows(self) -> Iterator[tuple[int, str, list[str]]]:
        """Yield line number, section and fields of each row; comments are left out."""
        section = ""
        content = lines(self.file.path, self.file.budget, any_newline=True, any_byte=True)
        for line_number, line in enumerate(content, 1):
            if len(line) > _LONG:
                self.file.budget.check(_WORK * len(line))
            if "\0" in line:
                raise self._wrong(line_number, "the text contains null bytes")
            fields = line.partition(";")[0].split()
            if not fields:
                continue
            if fields[0].startswith("["):
                section = fields[0].upper()[: len(_NODES[0])]
                if section.startswith(_END):
                    return
            else:
                yield line_number, section, fields

    def _add_node(self, fields: list[str]) -> None:
        node = fields[0]
        self.file.budget.take(_NODE + getsizeof(node))
        if node in self.nodes:
            self.duplicates.append(node)
        self.nodes.setdefault(node, len(self.nodes))

    def _add_link(self, line_number: int, kind: str, fields: list[str]) -> None:
        needed = _PIPE_FIELDS if kind == "pipe" else _ID_AND_ENDS
        if len(fields) < needed:
            raise self._wrong(line_number, f"a {kind} has {len(fields)} fields instead of {needed} or more")
        source, target, length = fields[1], fields[2], fields[3] if kind == "pipe" else None
        n_read = _PIPE_FIELDS + 1 if kind == "pipe" else _DIAMETER.get(kind, 2) + 1
        settings = " ".join(fields[n_read:])
        self.ids.append(fields[0])
        self.roughness.append(fields[_PIPE_FIELDS] if kind == "pipe" and len(fields) >= n_read else None)
        self.settings.append(settings)
        self.file.budget.take(_LINK + sum(map(getsizeof, (fields[0], source, target, length, settings))))
        self.kinds.append(kind)
        self.link_ends.append((source, target))
        self.lengths.append(length)
        where = _DIAMETER.get(kind, len(fields))
        self.diameters.append(self._number(line_number, fields[where]) if where < len(fields) else nan)

    def _add_place(self, line_number: int, fields: list[str]) -> None:
        if len(fields) < _PLACE_FIELDS:
            raise self._wrong(line_number, f"a place has {len(fields)} fields instead of {_PLACE_FIELDS}")
        self.file.budget.take(_PLACE + getsizeof(fields[0]))
        self.points[fields[0]] = self._number(line_number, fields[1]), self._number(line_number, fields[2])

    def _number(self, line_number: int, text: str) -> float:
        try:
            return float(text)
        except ValueError:
            raise self._wrong(line_number, f"{quoted(text)} is not a number") from None

    def _wrong(self, line_number: int, problem: str) -> FormatError:
        return FormatError(f"{self.file.name}, line {line_number:,}: {problem}; correct it in EPANET")

    def ends(self) -> Ints:
        """Return the nodes that each link joins, as an array of two columns."""
        unknown = [end for pair in self.link_ends for end in pair if end not in self.nodes]
        if unknown:
            ends = counted(len(unknown), "link end", ("is not a node", "are not nodes"))
            names = listed(dict.fromkeys(unknown))
            raise FormatError(f"{self.file.name}: {ends} of the file ({names}); it is incomplete")
        pairs = [(self.nodes[u], self.nodes[v]) for u, v in self.link_ends]
        return np.array(pairs, dtype=np.int64).reshape(-1, 2)

    def values(self) -> dict[str, Sequence[Any]]:
        """Return what the file says of each link."""
        return {
            "id": self.ids,
            "kind": self.kinds,
            "diameter": self.diameters,
            "roughness": self.roughness,
            "settings": self.settings,
        }

    def places(self) -> Floats | None:
        """Return the coordinates, if every node has them."""
        if any(node not in self.points for node in self.nodes):
            return None
        return np.array([self.points[node] for node in self.nodes], dtype=np.float64)

    def unit(self) -> str:
        """Return the unit of the lengths, which follows from that of the flow."""
        if self.flow is None:
            if self.file.unit is not None:
                return self.file.unit
            warn(
                "no UNITS among the OPTIONS: as in EPANET, flow is in gallons per minute and lengths in "
                "feet; unit='m' (on the command line: --unit m) says that they are in metres",
                name=self.file.name,
            )
            return "ft"
        if self.flow not in _UNITS:
            known = ", ".join(_UNITS)
            raise FormatError(f"{self.file.name}: the UNITS {quoted(self.flow)} are not one of {known}")
        return _UNITS[self.flow]


def _length_or_none(text: str) -> float | None:
    return None if text.lower() == "none" else float(text)


EPANET = Reader(
    "epanet",
    (".inp",),
    read_epanet,
    options=(
        Option(
            "device_length",
            "length of pumps and valves, in the unit of the file (default 1); 0 makes each a point, none "
            "leaves them out",
            type=_length_or_none,
            default=DEVICE_LENGTH,
            metavar="L",
        ),
    ),
    example="""[TITLE]
a town
[JUNCTIONS]
;ID  elevation
 a   20   500 ;
 b   50
[TANKS]
 t   10
[PIPES]
 1  a  b  1200  16  70  0  OPEN ;
 2  a  b  900   12  70
[PUMPS]
 3  t  a  HEAD 1
[VALVES]
 4  t  b  12  PRV  120
[COORDINATES]
 a  1.5  2.5
 b  3    4
 t  0    0
[OPTIONS]
 Units  GPM
[END]
""",
)
