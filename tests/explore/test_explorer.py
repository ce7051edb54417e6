"""The explorer in a real browser."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.explorer import action_times

import torelli as tt
from places import TOWNS, two_towns
from torelli.explore import NetworkSet, explorer_page
from torelli.webpage import write


@pytest.fixture(scope="module")
def networks():
    """Return 40 networks of two towns whose names are markup."""
    return two_towns(40)


@pytest.fixture(scope="module")
def file(networks, tmp_path_factory):
    """Return their page."""
    path = tmp_path_factory.mktemp("explorer") / "towns.html"
    write(path, explorer_page(networks))
    return path


@pytest.fixture
def page(pages, file):
    """Return the page when it is ready."""
    return ready(pages(file, width=1440))


def ready(page):
    page.wait_for_selector("html[data-ready=true]")
    return page


def nearest(networks, row, metric, allowed=None):
    """Return the ten nearest networks by the library's own distances."""
    distances = tt.pairwise_distances(tt.torelli_matrices(networks.graphs), metric=metric)[row].copy()
    distances[row] = np.inf
    if allowed is not None:
        distances[~allowed] = np.inf
    return np.argsort(distances, kind="stable")[:10].tolist(), np.sort(distances)[:10]


def cards(page):
    return [int(card.get_attribute("data-row")) for card in page.locator("#near button").all()]


def selected(page, networks):
    return networks.names.index(page.locator("#name").text_content())


def middle(page, chart, row):
    """Return where a point is on the screen."""
    return page.evaluate(
        """([chart, row]) => {
            const points = [...document.querySelectorAll(`${chart} .scatterlayer path.point`)];
            const box = points.find((point) => point.__data__.i === row).getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2];
        }""",
        [chart, row],
    )


def alone(page, chart):
    """Return the row of the point that is farthest from all others."""
    points = np.array([middle(page, chart, row) for row in range(40)])
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    np.fill_diagonal(apart, np.inf)
    return int(apart[1:].min(axis=1).argmax()) + 1


def lit(page, chart):
    """Return the rows that a chart highlights."""
    return page.evaluate(
        "(chart) => [...document.querySelectorAll(`${chart} path.point.lit`)].map((p) => p.__data__.i)", chart
    )


SCATTER = ".layer:not(.away)"


@pytest.mark.parametrize("chart", ["#map", SCATTER])
def test_a_click_shows_the_place_and_its_neighbours(page, networks, chart):
    """The network under the mouse is drawn with its figures, and the ten nearest by the kernel follow."""
    row = alone(page, chart)
    page.mouse.click(*middle(page, chart, row))
    page.wait_for_function(
        "(name) => document.getElementById('name').textContent === name", arg=networks.names[row]
    )
    graph = networks.graphs[row]
    assert f"genus{graph.genus}" in page.locator("#figures").text_content()
    paths = page.locator("#network path.cycle").count()
    owners = tt.canonical_model(graph).cycles
    seen = {min(k for k, cycle in enumerate(owners) if edge in cycle) for cycle in owners for edge in cycle}
    assert paths == len(seen)
    shown = page.evaluate("document.getElementById('q').data[0].z")
    Q = tt.torelli_matrix(graph)[:40, :40]
    np.testing.assert_allclose(shown, Q, atol=0.51 * Q.max() / 127)
    rows, distances = nearest(networks, row, "ttw")
    assert cards(page) == rows
    text = page.locator("#near .meta:last-child").first.text_content()
    assert float(text.rpartition("=")[2].replace(",", "")) == pytest.approx(distances[0], rel=1e-3)


def test_another_kernel_has_its_own_neighbours(page, networks):
    """The switch changes the picture by similarity and the neighbours; other cities leave out one's own."""
    before = middle(page, SCATTER, 5)
    for metric in ("tte", "tts"):
        page.locator(f"input[value={metric}]").check(force=True)
        assert cards(page) == nearest(networks, 0, metric)[0]
    assert middle(page, SCATTER, 5) != pytest.approx(before, abs=1)
    page.locator("#elsewhere").check()
    allowed = np.array(networks.cities) != networks.cities[0]
    assert cards(page) == nearest(networks, 0, "tts", allowed)[0]


@pytest.mark.parametrize(("brushed", "other"), [(SCATTER, "#map"), ("#map", SCATTER)])
def test_a_brush_highlights_exactly_the_same_places(page, brushed, other):
    """What the lasso holds in one picture is highlighted in both, nothing else; Escape ends it."""
    points = np.array([middle(page, brushed, row) for row in range(40)])
    x, y = np.median(points, axis=0)
    inside = np.flatnonzero((points[:, 0] < x - 4) & (points[:, 1] < y - 4)).tolist()
    clear = (np.abs(points[:, 0] - x) > 4) & (np.abs(points[:, 1] - y) > 4)
    low = points.min(axis=0) - 15
    corners = [(low[0], low[1]), (x, low[1]), (x, y), (low[0], y), (low[0], low[1])]
    page.mouse.move(*corners[0])
    page.mouse.down()
    for corner in corners[1:]:
        page.mouse.move(*corner, steps=8)
    page.mouse.up()
    page.wait_for_function("document.querySelectorAll('path.point.lit').length > 0")
    found = sorted(lit(page, other))
    assert sorted(lit(page, brushed)) == found
    assert [row for row in found if clear[row]] == [row for row in inside if clear[row]]
    assert 0 < len(found) < 40
    assert page.locator("#status").text_content().startswith(f"{len(found)} of 40 highlighted")
    page.keyboard.press("Escape")
    assert lit(page, other) == lit(page, brushed) == []
    assert page.locator(f"#map path.point.dim, {SCATTER} path.point.dim").count() == 0


def test_the_keyboard_is_enough(page, networks):
    """Arrows walk over the points, Enter goes to the neighbours, the legend highlights, names are found."""
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    for chart in ("map", "scatter"):
        page.locator(f"#{chart}").focus()
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        where = SCATTER if chart == "scatter" else "#map"
        start = selected(page, networks)
        for key, axis, sign in (
            ("ArrowRight", 0, 1),
            ("ArrowDown", 1, 1),
            ("ArrowLeft", 0, -1),
            ("ArrowUp", 1, -1),
        ):
            before = selected(page, networks)
            page.keyboard.press(key)
            after = selected(page, networks)
            if after != before:
                step = np.subtract(middle(page, where, after), middle(page, where, before))
                assert step[axis] * sign > 0
        page.keyboard.press("End")
        assert selected(page, networks) == 39 != start
        page.keyboard.press("Home")
    page.keyboard.press("Enter")
    first = cards(page)[0]
    assert page.evaluate("Number(document.activeElement.dataset.row)") == first
    page.keyboard.press("Enter")
    assert selected(page, networks) == first
    page.locator("#legend button").first.focus()
    page.keyboard.press("Enter")
    members = [i for i, name in enumerate(networks.classes) if name == min(networks.classes)]
    assert sorted(lit(page, "#map")) == members
    page.locator("#find").fill("</script> 23")
    page.keyboard.press("Enter")
    assert selected(page, networks) == 23
    assert networks.names[23] in page.locator("#live").text_content()


def test_names_stay_text(page, networks):
    """Markup in titles, names and cities is shown and never run."""
    assert page.locator("h1").inner_text() == networks.title
    page.mouse.move(*middle(page, "#map", 3))
    page.wait_for_selector("#map .hovertext")
    assert networks.names[3] in page.locator("#map .hoverlayer").text_content()
    assert page.locator("#map .annotation-text").first.text_content().startswith(next(iter(TOWNS)))
    assert page.locator("main img, main a, main b").count() == 0
    assert page.evaluate("window.hacked") is None


def test_colours_follow_what_is_asked(page, networks):
    """Classes have a colour and a shape each; similarity is brightest at the selected place itself."""
    marks = page.evaluate(
        "[...document.querySelectorAll('#map path.point')].map((p) => [p.getAttribute('d'), p.style.fill])"
    )
    kinds = {
        name: {tuple(marks[i]) for i in range(40) if networks.classes[i] == name} for name in networks.classes
    }
    assert all(len(found) == 1 for found in kinds.values())
    assert len(set.union(*kinds.values())) == 4
    assert len({shape for shape, _ in set.union(*kinds.values())}) == 4
    page.locator("#colour").select_option("similarity")
    fills = page.evaluate("[...document.querySelectorAll('#map path.point')].map((p) => p.style.fill)")
    light = [sum(map(int, fill[4:-1].split(","))) for fill in fills]
    squared = tt.pairwise_distances(tt.torelli_matrices(networks.graphs), squared=True)[0]
    order = np.argsort(squared, kind="stable")
    assert light[0] == max(light)
    assert np.mean(np.array(light)[order[:10]]) > np.mean(np.array(light)[order[-10:]])


@pytest.mark.parametrize("width", [1440, 400])
def test_dark_pages_are_dark_and_narrow_ones_do_not_scroll_sideways(pages, file, width):
    """The system's choice is followed, texts stand out, and nothing is wider than the window."""
    page = ready(pages(file, scheme="dark", width=width))
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert sum(map(int, ground[4:-1].split(","))) < 150
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator("#theme").click()
    page.wait_for_function("document.documentElement.dataset.theme === 'light'")
    assert page.locator("#map path.point").count() == 40


def test_networks_without_places_have_no_map(pages, tmp_path):
    """Without coordinates the page says so and has the rest; a tree has an empty Q."""
    graphs = [tt.MetricGraph([0, 0], [1, 1], [1.0, 2.0]), tt.MetricGraph([0], [1], [1.0])]
    write(
        tmp_path / "few.html",
        explorer_page(NetworkSet.from_graphs(graphs, title="few", names=["ring", "tree"])),
    )
    page = ready(pages(tmp_path / "few.html"))
    assert page.locator("#map").count() == 0
    assert (
        page.locator("main > p.lede")
        .inner_text()
        .endswith("The networks have no coordinates, so there is no map.")
    )
    page.locator("#find").fill("tree")
    page.keyboard.press("Enter")
    assert page.locator("#q").get_attribute("aria-label") == "A tree has no cycles: Q is empty"


@pytest.fixture(scope="module")
def thousand(tmp_path_factory):
    """Return the page of 1,000 windows."""
    path = tmp_path_factory.mktemp("explorer") / "thousand.html"
    write(path, explorer_page(two_towns(1000, distinct=100)))
    return path


def test_a_thousand_windows_answer_within_100_ms(pages, thousand):
    """Choosing a place, another kernel or colour, and brushing: all below 100 ms of the page's thread."""
    assert thousand.stat().st_size < 10e6
    times = action_times(ready(pages(thousand, width=1440)))
    assert len(times) == 5
    assert all(5 < time < 100 for time in times.values()), times
