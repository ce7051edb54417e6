"""Plans: counts are exact, and figures follow the inputs."""

from __future__ import annotations

import pytest

import torelli as tt
from stores import content, small_graphs, write_lines
from torelli.scale.plan import Sample, duration, plan_features, plan_kernel


def test_counts_and_bytes_are_those_of_the_run(graphs, tmp_path):
    """A plan has the number of graphs, the side of tiles and the bytes that the run then has."""
    path = write_lines(tmp_path / "a.jsonl", graphs)
    plan = plan_kernel(path, "ttw")
    store = tt.write_kernel(path, tmp_path / "k.zarr", "ttw")
    assert plan.n_graphs == 300
    assert plan.n_sampled == 300
    assert (plan.side, plan.side) == store.chunks
    tiles = [text for name, text in content(store.path).items() if name.startswith("kernel/c/")]
    assert sum(map(len, tiles)) == pytest.approx(plan.result_bytes, rel=1e-3)
    assert plan.n_tiles == 3


def test_features_have_the_columns_of_their_options(graphs, tmp_path):
    """Bytes are those of the file that is written, for any number of features and for spectra."""
    for features, options in (("measure", {"n_features": 4}), ("measure", {"depth": 1}), ("tts", {})):
        plan = plan_features(graphs[:30], features, dtype="float32", representation=options)
        path = tt.write_features(
            graphs[:30], tmp_path / f"{plan.result_bytes}.npy", features=features, dtype="float32", **options
        )
        assert path.stat().st_size - 128 == plan.result_bytes
    whole, quarter = (plan_features(graphs[:30], representation={"n_features": n}) for n in (256, 64))
    assert whole.seconds["features"] == pytest.approx(4 * quarter.seconds["features"])


def test_a_plan_without_graphs():
    """Number and genus are enough; what was not measured for such sizes is named."""
    plan = plan_kernel(Sample.alike(10**6, 100), "ttw")
    assert (plan.n_graphs, plan.n_sampled, plan.sizes[1]) == (10**6, 0, 100)
    assert plan.extrapolated == ()
    assert "(none read: size of the matrix 100)" in str(plan)
    huge = plan_kernel(Sample.alike(10, 5000), "ttw")
    assert "Extrapolated: pair ttw: 5,000 rows of a matrix, measured up to 1,000" in str(huge)
    with pytest.raises(tt.InvalidOptionError, match="genus is 0"):
        Sample.alike(10, 0)


@pytest.mark.parametrize("kernel", tt.KERNELS)
def test_more_graphs_take_more(kernel):
    """Time and bytes grow with the number of graphs: fourfold for twice as many in a kernel."""
    few, many = (plan_kernel(small_graphs(count), kernel) for count in (1000, 2000))
    assert many.total > 1.9 * few.total
    assert many.result_bytes == pytest.approx(4 * few.result_bytes, rel=0.05)
    pairs = [next(value for step, value in plan.seconds.items() if "pairs" in step) for plan in (few, many)]
    assert pairs[1] == pytest.approx(4 * pairs[0], rel=0.05)


def test_larger_graphs_take_more():
    """Doubled bridges make matrices larger, and a largest genus smaller again."""
    graphs = small_graphs(100)
    trees = [tt.MetricGraph([*g.tail, 0, 1], [*g.head, 90, 91], [*g.length, 1, 2], unit="m") for g in graphs]
    plain, doubled, cut = (
        plan_kernel(trees, representation=options)
        for options in ({}, {"bridges": "double"}, {"bridges": "double", "max_genus": 2})
    )
    assert cut.total < plain.total < doubled.total
    assert cut.sizes[-1] == 2


def test_a_plan_of_many_columns_makes_none_of_them():
    """Names of columns are not made to count them, whatever their number."""
    for options in ({"n_features": 10**9}, {"along": "returns", "n_features": 10**12}):
        plan = plan_features(Sample.alike(1000, 10), representation=options)
        assert plan.result_bytes == 8 * 1000 * tt.MeasureFeatures(**options).n_columns
        assert plan.result_bytes > 10**12
    with pytest.raises(tt.InvalidOptionError, match="columns are more than a plan takes"):
        plan_kernel(Sample.alike(1000, 10), "ttm", representation={"n_features": 10**15})


def test_options_that_a_run_refuses_are_refused(tmp_path):
    """A plan takes no option and no number that the run would not take."""
    sample = Sample.alike(10, 5)
    for features, options, problem in (
        ("tts", {"max_genus": -1}, "max_genus is -1: use None or an integer of 0 or more"),
        ("tts", {"depth": 3}, "unknown option of the features 'tts': 'depth'"),
        ("measure", {"max_genus": 3}, "unknown option of the features 'measure': 'max_genus'"),
        ("measure", {"n_features": 0}, "n_features is 0"),
    ):
        with pytest.raises(tt.InvalidOptionError, match=problem):
            plan_features(sample, features, representation=options)
        with pytest.raises(tt.InvalidOptionError, match=problem):
            tt.write_features(small_graphs(2), tmp_path / f"{problem}.zarr", features=features, **options)
    with pytest.raises(tt.InvalidOptionError, match="max_genus is -1"):
        plan_kernel(sample, "tte", representation={"max_genus": -1})


def test_figures_of_a_huge_plan_stay_apart():
    """However many graphs there are, names and figures are in two columns, and their number has a limit."""
    text = str(plan_kernel(Sample.alike(10**15, 1000), "ttw"))
    table = text.split("\n\n")[1].splitlines()
    assert len({len(line) for line in table}) == 1
    assert all("  " in line.strip() for line in table)
    for number, genus in ((10**15 + 1, 5), (5, 10**8 + 1)):
        with pytest.raises(tt.InvalidOptionError, match="use a whole number from 1 to 1"):
            Sample.alike(number, genus)


def test_workers_share_the_work():
    """More workers are never slower, and not faster than the largest task."""
    plan = plan_kernel(small_graphs(2000), "ttw")
    times = [plan.on_workers(n) for n in (1, 2, 8, 64, 10_000)]
    assert times == sorted(times, reverse=True)
    assert times[0] == pytest.approx(plan.total)
    assert times[1] == pytest.approx(plan.total / 2)
    assert times[-1] == plan.task_seconds


def test_a_plan_can_be_read():
    """The text has the count and the steps; the dictionary has every figure."""
    plan = plan_kernel(small_graphs(5), "tts")
    assert "kernel tts (float64) of 5 graphs" in str(plan)
    assert "15 pairs" in str(plan)
    assert plan.as_dict()["total_seconds"] == plan.total
    assert str(plan_features(small_graphs(5), "tts")).startswith("features (tts, float64) of 5 graphs")
    with pytest.raises(tt.DataNotFoundError, match="no graphs"):
        plan_kernel([])


def test_durations_are_in_the_unit_of_a_person():
    """Seconds, minutes, hours, days and years."""
    times = [0.0123, 5, 59, 600, 7200, 86_400 * 3, 3e9]
    assert [duration(value) for value in times] == [
        "0.012 s", "5 s", "59 s", "10 min", "2 hours", "3 days", "95 years",
    ]  # fmt: skip
