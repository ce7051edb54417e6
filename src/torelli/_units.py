"""Units of length: which are known, whether graphs agree on one, and conversion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torelli._errors import DataWarning, Fault, InvalidGraphError, InvalidOptionError, warn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torelli.graph import MetricGraph

_NAMES: dict[float, tuple[str, ...]] = {
    1e-9: ("nm", "nanometre", "nanometres", "nanometer", "nanometers"),
    # micro is a sign of its own in Unicode, and a Greek letter
    1e-6: (
        *("um", "\N{MICRO SIGN}m", "\N{GREEK SMALL LETTER MU}m", "micron", "microns"),
        *("micrometre", "micrometres", "micrometer", "micrometers"),
    ),
    1e-3: ("mm", "millimetre", "millimetres", "millimeter", "millimeters"),
    1e-2: ("cm", "centimetre", "centimetres", "centimeter", "centimeters"),
    1.0: ("m", "metre", "metres", "meter", "meters"),
    1e3: ("km", "kilometre", "kilometres", "kilometer", "kilometers"),
    0.0254: ("in", "inch", "inches"),
    0.3048: ("ft", "foot", "feet"),
    1200 / 3937: ("us-ft", "ftus", "us survey foot", "us survey feet"),
    0.9144: ("yd", "yard", "yards"),
    1609.344: ("mi", "mile", "miles"),
    1852.0: ("nmi", "nautical mile", "nautical miles"),
}
_METRES = {name: metres for metres, names in _NAMES.items() for name in names}
_DEGREES = {"deg", "degree", "degrees", "\N{DEGREE SIGN}"}
_SHOWN = 5


def metres(unit: str) -> float | None:
    """Return the length of a unit in metres, None if it is not known."""
    return _METRES.get(unit.strip().lower())


def symbol(unit: str) -> str:
    """Return the short name of a unit, such as ``us-ft`` for ``US survey foot``; others as they are."""
    length = metres(unit)
    return unit if length is None else _NAMES[length][0]


def factor(given: str | None, wanted: str, *, name: str | None) -> float:
    """Return the factor that converts lengths from one unit to another; `name` is that of the graph."""
    where = f"graph {name!r}: " if name else ""
    if given is None:
        raise InvalidOptionError(
            f"{where}the unit of the lengths is unknown; set it with graph.replace(unit=...)"
        )
    if _key(given) == _key(wanted):
        return 1.0
    for unit in (given, wanted):
        if unit.strip().lower() in _DEGREES:
            raise InvalidOptionError(
                f"{where}lengths in {unit!r} cannot be converted: a degree is not the same length "
                "everywhere; measure lengths on the ground, for example from a GeoDataFrame with its crs"
            )
    from_metres, to_metres = metres(given), metres(wanted)
    if from_metres is None or to_metres is None:
        unknown = given if from_metres is None else wanted
        known = ", ".join(names[0] for names in _NAMES.values())
        raise InvalidOptionError(
            f"{where}lengths cannot be converted from {given!r} to {wanted!r}: {unknown!r} is not "
            f"one of {known}"
        )
    return from_metres / to_metres


def check_units(
    graphs: Sequence[MetricGraph], others: Sequence[MetricGraph] = (), *, quiet: bool = False
) -> None:
    """Refuse graphs whose lengths are in several units; warn where some state one and others none.

    A number means something else in each unit, so that distances between such graphs mean nothing.
    `others` is a second list that the graphs are compared with. A graph without edges has no lengths. With
    `quiet` there is no warning.
    """
    together = [*graphs, *others]
    if len({graph.unit for graph in together if graph.n_edges}) <= 1:
        return
    by_unit: dict[object, list[int]] = {}
    for i, graph in enumerate(together):
        if graph.n_edges:
            by_unit.setdefault(None if graph.unit is None else _key(graph.unit), []).append(i)

    def named(where: Sequence[int]) -> str:
        shown = []
        for i in where[:_SHOWN]:
            position = f"{i}" if i < len(graphs) else f"{i - len(graphs)} of the second list"
            shown.append(f"{position} {together[i].name!r}" if together[i].name else position)
        more = f" and {len(where) - _SHOWN:,} more" if len(where) > _SHOWN else ""
        return f"graph{'s' if len(where) > 1 else ''} {', '.join(shown)}{more}"

    unknown = by_unit.pop(None, [])
    if len(by_unit) > 1:
        listing = "; ".join(f"{together[where[0]].unit!r} in {named(where)}" for where in by_unit.values())
        remedy = (
            "convert them, for example with torelli.as_metric_graphs(graphs, unit='m'), graph.to_unit('m'), "
            "torelli.read(..., unit='m') or, on the command line, --unit m"
        )
        raise InvalidGraphError([Fault(f"lengths are in {len(by_unit)} units: {listing}", remedy)])
    if unknown and not quiet:
        (known,) = by_unit.values()
        unit = together[known[0]].unit
        warn(
            f"{len(unknown):,} of {len(together):,} graphs state no unit ({named(unknown)}): their lengths "
            f"are taken to be in {unit!r}, like those of the others; state it with unit={unit!r}",
            DataWarning,
        )


def common_unit(graphs: Sequence[MetricGraph]) -> str | None:
    """Return the unit of the first graph with edges that states one."""
    return next((graph.unit for graph in graphs if graph.n_edges and graph.unit is not None), None)


def in_unit(graph: MetricGraph, unit: str) -> MetricGraph:
    """Return a graph with its lengths in a unit; a graph that states none is taken to be in it."""
    return graph.replace(unit=unit) if graph.unit is None else graph.to_unit(unit)


def _key(unit: str) -> object:
    """Return a key that all names of a unit share."""
    return metres(unit) or unit.strip().lower()
