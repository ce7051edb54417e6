"""Readers and converters: from files and objects to metric graphs."""

from torelli.io.convert import as_metric_graph, as_metric_graphs
from torelli.io.read import read, read_records
from torelli.io.readers import Record

__all__ = ["Record", "as_metric_graph", "as_metric_graphs", "read", "read_records"]
