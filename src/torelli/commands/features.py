"""``torelli features``: write the features of any number of graphs to disk."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, get_args

from torelli._types import StoredFeatures
from torelli.commands._stores import (
    add_graph_arguments,
    add_representation_arguments,
    add_store_arguments,
    store_options,
)
from torelli.commands.wording import say, with_notes

if TYPE_CHECKING:
    from torelli._types import Subparsers

_DESCRIPTION = """\
Write one row of features for each graph. Graphs are read as a stream, so their number does not matter for
memory. A run that was stopped, by a kill too, continues with the same command, and the result is the same to
the last byte. Names and labels are stored beside the numbers.

measure: features of the canonical measure (MeasureFeatures). They are fitted to the first graphs of the input
or to those of --fit; what was learned is stored, so that appended graphs get the same features.
tts: square roots of the eigenvalues of the Torelli matrix; their Euclidean distance is TTS.
"""
_EPILOG = """\
examples:
  torelli features windows/*.jsonl.gz -o features.zarr --dtype float32
  torelli features more.jsonl -o features.zarr --dtype float32 --append
  torelli features germany.osm.pbf --window 300 -o germany.zarr
  torelli features cities.tar.gz -o features.parquet --features tts
  torelli features windows.jsonl -o features.zarr --dask tcp://node1:8786

Read a store by torelli.open_features("features.zarr"), or by zarr, dask or xarray.
"""


def add_parser(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "features",
        help="write features of any number of graphs to disk",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--features",
        choices=get_args(StoredFeatures),
        default="measure",
        help="which features (default: measure)",
    )
    add_graph_arguments(parser)
    add_store_arguments(parser, (".zarr", ".npy", ".csv", ".parquet"))
    add_representation_arguments(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from torelli.scale import FeatureStore, write_features

    options = store_options(arguments)
    written = with_notes(str(arguments.out), lambda _: write_features(features=arguments.features, **options))
    if isinstance(written, FeatureStore):
        rows, columns = written.shape
        say(f"torelli: {arguments.out}: {rows:,} graphs, {columns:,} features")
    else:
        say(f"torelli: wrote {written}")
    return 0
