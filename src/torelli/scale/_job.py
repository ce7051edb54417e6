"""One call that writes a store: what `write_features` and `write_kernel` have in common."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from torelli._errors import InvalidOptionError, unknown_option
from torelli._types import Precision
from torelli.features import MeasureFeatures
from torelli.scale import _outputs
from torelli.scale._build import Rows, fit_description, fit_graphs, fitted, memory_of
from torelli.scale._pieces import Inputs, Reading
from torelli.scale._rows import Recipe
from torelli.scale._run import check_workers, connected
from torelli.scale._store import writing

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    from torelli._numerics.threads import Progress
    from torelli._types import Estimator
    from torelli.datasets.tu import Lengths
    from torelli.distances import Metric
    from torelli.scale._store import Store
    from torelli.scale.stores import FeatureStore, KernelStore

DTYPES: tuple[Precision, ...] = get_args(Precision)

_READ_SHARE, _WRITE_SHARE = 4, 8  # parts of the memory for reading one graph, and for writing a plain file


@dataclass(frozen=True)
class Work:
    """A store that is being written.

    Attributes
    ----------
    job
        The call.
    store
        The store, which this process owns.
    rows
        Its rows: those that are there, and those of the inputs.
    transformer
        The fitted transformer from graphs to rows.
    client
        A Dask client, None for this process.
    """

    job: Job
    store: Store
    rows: Rows
    transformer: Estimator
    client: Any

    def compute_rows(self, kind: Any, metric: Metric | None = None) -> int | None:
        """Compute the rows that are missing, and return the number of all (see `Recipe`, `Rows.compute`)."""
        recipe = Recipe(
            str(self.store.root.absolute()),
            self.job.inputs.reading,
            kind,
            self.transformer,
            metric,
            dtype=self.job.dtype,
        )
        return self.rows.compute(recipe, self.client)

    def write_file(self, source: FeatureStore | KernelStore) -> None:
        """Write the plain file, if the result is one."""
        if self.job.target.suffix != ".zarr":
            _outputs.write_rows(self.store, source, self.job.target, self.job.memory // _WRITE_SHARE)


class Job:
    """What to write, from which graphs and how; the parameters are those of `write_features`.

    Parameters
    ----------
    endings
        Formats that the result may have.
    """

    def __init__(
        self,
        inputs: Any,
        path: str | os.PathLike[str],
        endings: tuple[str, ...],
        *,
        dtype: Precision,
        fit: Any,
        n_fit: int,
        append: bool,
        fresh: bool,
        verify: bool,
        memory: float | None,
        dask: Any,
        label: str,
        tu: tuple[str, ...],
        lengths: Lengths,
        window: float | None,
        step: float | None,
        read_options: Mapping[str, Any] | None,
        verbose: bool | Progress,
    ) -> None:
        self.target = Path(path)
        _outputs.check_ending(self.target, endings)
        if dtype not in DTYPES:
            raise unknown_option("dtype", dtype, DTYPES)
        if append and self.target.suffix != ".zarr":
            raise InvalidOptionError(
                f"{self.target.name}: only a store, whose name ends in .zarr, can be appended to"
            )
        self.dtype, self.dask, self.verbose = dtype, dask, verbose
        self.fit, self.n_fit = fit, n_fit
        self.append, self.fresh, self.verify = append, fresh, verify
        self.memory = memory_of(memory)
        reading = Reading(dict(read_options or {}), label, self.memory // _READ_SHARE)
        self.inputs = Inputs(inputs, reading, tuple(tu), lengths, window, step)
        self.root = _outputs.work_folder(self.target)

    @contextmanager
    def writing(self, kind: str, options: Mapping[str, Any], transformer: Estimator) -> Iterator[Work | None]:
        """Yield the store to write to, None if the result is a plain file that is finished already."""
        to_fit = fit_graphs(self.fit, self.inputs.reading, self.n_fit)
        learns = isinstance(transformer, MeasureFeatures)
        manifest = {
            "kind": kind,
            "dtype": self.dtype,
            "options": {
                **options,
                "reading": self.inputs.description(),
                "fit": fit_description(to_fit, self.n_fit) if learns else None,
            },
        }
        with writing(self.root, manifest, fresh=self.fresh, verify=self.verify) as (store, lost):
            if _outputs.is_finished(store, self.target, verify=self.verify):
                Rows(store, self.inputs, append=False).compare()
                yield None
                return
            with connected(self.dask, self.memory) as client:
                check_workers(client, store)
                rows = Rows(store, self.inputs, append=self.append, verbose=self.verbose)
                rows.tell_of(lost)
                yield Work(self, store, rows, fitted(rows, transformer, to_fit, self.n_fit), client)

    def result(self, kind: type[FeatureStore | KernelStore]) -> Any:
        """Return the finished store, or the path of the plain file."""
        return kind(self.root) if self.target.suffix == ".zarr" else self.target
