"""Real data in: objects and files to metric graphs."""

from torelli.io.convert import as_metric_graph, as_metric_graphs
from torelli.io.read import read

__all__ = ["as_metric_graph", "as_metric_graphs", "read"]
