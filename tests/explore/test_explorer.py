"""The explorer in a real browser."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks.explorer import action_times
from scipy.spatial.distance import cdist

import torelli as tt
from browser import Pages, barriers, wait_until
from places import TOWNS, two_towns
from torelli.explore import NetworkSet, explorer_page
from torelli.explore.networks import of_one_place, same_for_kernel
from torelli.webpage import write
from towns import grid_city


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


@pytest.fixture(scope="module")
def opened(browser):
    """Return what opens a page once for all tests, and shows it as if it were opened anew."""
    pages, found = Pages(browser), {}

    def open_page(path):
        if path not in found:
            found[path] = ready(pages(path, width=1440))
        found[path].evaluate("window.location.hash = ''")
        found[path].keyboard.press("Escape")
        return found[path]

    open_page.pages = pages
    yield open_page
    pages.close()


@pytest.fixture
def page(opened, file):
    """Return the page when it is ready; the test fails on console errors, requests and dialogs."""
    yield opened(file)
    assert opened.pages.problems == []


@pytest.fixture
def cut_page(opened, cut):
    """Return the page of windows, likewise."""
    yield opened(cut)
    assert opened.pages.problems == []


def ready(page):
    page.wait_for_selector("html[data-ready=true]")
    return page


def distances_between(networks, metric):
    """Return the library's own distances between networks."""
    if metric == "ttm":
        X = tt.MeasureFeatures().fit_transform(networks.graphs)
        return cdist(X, X)
    return tt.pairwise_distances(tt.torelli_matrices(networks.graphs), metric=metric)


def nearest(networks, row, metric, allowed=None):
    """Return the ten nearest networks by the library's own distances."""
    distances = distances_between(networks, metric)[row].copy()
    distances[row] = np.inf
    if allowed is not None:
        distances[~allowed] = np.inf
    return np.argsort(distances, kind="stable")[:10].tolist(), np.sort(distances)[:10]


def cards(page):
    return [int(card.get_attribute("data-row")) for card in page.locator("#near button").all()]


def selected(page, networks):
    return networks.names.index(page.locator("#name").text_content())


def heads(networks, metric="ttm"):
    """Return for each network the one whose point is drawn in the chart by similarity."""
    return same_for_kernel(distances_between(networks, metric) ** 2)


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


def middles(page, chart, networks):
    """Return where the networks are on the screen, row by row."""
    drawn = heads(networks) if chart == SCATTER else range(len(networks))
    return np.array([middle(page, chart, int(row)) for row in drawn])


def alone(page, chart, networks):
    """Return the row of the point that is farthest from all others."""
    points = middles(page, chart, networks)
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    np.fill_diagonal(apart, np.inf)
    return int(apart[1:].min(axis=1).argmax()) + 1


def lit(page, chart):
    """Return the rows that a chart highlights."""
    return page.evaluate(
        "(chart) => [...document.querySelectorAll(`${chart} path.point.lit`)].map((p) => p.__data__.i)", chart
    )


def lasso(page, corners):
    """Draw a lasso around some corners."""
    page.mouse.move(*corners[0])
    page.mouse.down()
    for corner in [*corners[1:], corners[0]]:
        page.mouse.move(*corner, steps=8)
    page.mouse.up()


SCATTER = ".layer:not(.away)"


@pytest.mark.parametrize("chart", ["#map", SCATTER])
def test_a_click_shows_the_place_and_its_neighbours(page, networks, chart):
    """The network under the mouse is drawn with its figures, and the ten nearest by the kernel follow."""
    row = alone(page, chart, networks)
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
    rows, distances = nearest(networks, row, "ttm")
    assert cards(page) == rows
    text = page.locator("#near .meta", has_text="d =").first.text_content()
    assert float(text.rpartition("=")[2].replace(",", "")) == pytest.approx(distances[0], rel=5e-3)


def test_the_page_says_why_networks_are_alike(page, networks):
    """Two drawings of what makes the selected network and another alike, two of what sets them apart."""
    page.locator("#find").fill(networks.names[3])
    page.keyboard.press("Enter")
    page.wait_for_function(
        "(name) => document.getElementById('name').textContent === name", arg=networks.names[3]
    )
    options = page.locator("#other option").all_text_contents()
    assert options == [networks.names[row] for row in cards(page)[: len(options)]]
    for choice in (0, 1):
        page.locator("#other").select_option(index=choice)
        drawn = page.locator("#comparison svg")
        assert drawn.count() == 4
        names = page.locator("#comparison small").all_text_contents()
        assert names == 2 * [networks.names[3], options[choice]]
        assert page.locator("#comparison .alike .shade4").count() > 0
        assert page.locator("#comparison .apart [class*=shade-], #comparison .apart .shade4").count() > 0


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
def test_a_brush_highlights_exactly_the_same_places(page, networks, brushed, other):
    """What the lasso holds in one picture is highlighted in both, nothing else; Escape ends it."""
    points = middles(page, brushed, networks)
    x, y = np.median(points, axis=0)
    inside = np.flatnonzero((points[:, 0] < x - 4) & (points[:, 1] < y - 4)).tolist()
    clear = (np.abs(points[:, 0] - x) > 4) & (np.abs(points[:, 1] - y) > 4)
    low = points.min(axis=0) - 15
    lasso(page, [(low[0], low[1]), (x, low[1]), (x, y), (low[0], y)])
    # a chart reports a brush late, and the brush grows while the mouse moves
    expected = [row for row in inside if clear[row]]
    wait_until(
        page,
        f"""JSON.stringify([...document.querySelectorAll('#map path.point.lit')].map((p) => p.__data__.i)
            .filter((i) => {json.dumps(clear.tolist())}[i]).sort((a, b) => a - b)) ===
            JSON.stringify({json.dumps(expected)})""",
    )
    found = sorted(lit(page, "#map"))
    assert sorted(lit(page, SCATTER)) == sorted(set(heads(networks)[found].tolist()))
    assert 0 < len(found) < 40
    assert page.locator("#status").text_content().startswith(f"{len(found)} of 40 highlighted")
    page.keyboard.press("Escape")
    assert lit(page, other) == lit(page, brushed) == []
    assert page.locator(f"#map path.point.dim, {SCATTER} path.point.dim").count() == 0


def test_a_brush_that_ends_late_does_not_disturb_the_next(page):
    """Plotly may report the end of a brush when the reader already brushes another picture."""
    point = "{ points: [{ curveNumber: 0, pointIndex: 0 }] }"
    report = f"document.querySelector('{SCATTER}').emit('plotly_selected', {point})"
    start = "(chart) => { document.querySelector(chart).dispatchEvent(new Event('pointerdown')); }"
    page.evaluate(start, SCATTER)
    page.evaluate(report)
    assert lit(page, "#map")
    page.keyboard.press("Escape")
    page.evaluate(report)
    assert lit(page, "#map") == []
    page.evaluate(start, "#map .js-plotly-plot")
    page.evaluate(report)
    assert lit(page, "#map") == lit(page, SCATTER) == []


def test_the_keyboard_is_enough(pages, file, networks):
    """Arrows walk over the points, Enter goes to the neighbours, the legend highlights, names are found."""
    page = ready(pages(file, width=1440))
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
    page.keyboard.press("Escape")
    page.locator("#map").focus()
    page.keyboard.press(" ")
    assert lit(page, "#map") == [selected(page, networks)]
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#map .hovertext")
    assert networks.names[selected(page, networks)] in page.locator("#map .hoverlayer").text_content()
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
    assert page.locator("#map .annotation-text").first.text_content().startswith(next(iter(TOWNS))[:15])
    assert page.locator("main img, main a, main b").count() == 0
    assert page.evaluate("window.hacked") is None


def test_colours_follow_what_is_asked(page, networks):
    """Classes have a colour and a shape each; similarity is brightest at the selected place itself."""
    marks = page.evaluate(
        "[...document.querySelectorAll('#map path.point')].map((p) => [p.getAttribute('d'), p.style.color])"
    )
    kinds = {
        name: {tuple(marks[i]) for i in range(40) if networks.classes[i] == name} for name in networks.classes
    }
    assert all(len(found) == 1 for found in kinds.values())
    assert len(set.union(*kinds.values())) == 4
    assert len({shape for shape, _ in set.union(*kinds.values())}) == 4
    page.locator("#colour").select_option("similarity")
    fills = page.evaluate("[...document.querySelectorAll('#map path.point')].map((p) => p.style.color)")
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


def test_the_variant_of_a_kernel_is_named(pages, tmp_path):
    """TTM along returns has that name wherever the page speaks of it, and the switch has one height."""
    graphs = tt.datasets.street_patterns(1, radius=150, seed=0).graphs
    networks = NetworkSet.from_graphs(graphs, title="four")
    write(tmp_path / "four.html", explorer_page(networks, kernels=["ttm", "tts"], along="returns"))
    page = ready(pages(tmp_path / "four.html", width=360))
    for note, words in (
        ("#kernel-note", "TTM along returns, tropical Torelli-measure"),
        ("#near-note", "by TTM along returns distance"),
        ("#why-note", "by TTM along returns, which is a sum over edges"),
    ):
        assert words in page.locator(note).inner_text()
    assert "TTM along returns" in page.locator("#figures").inner_text()
    heights = page.evaluate("[...document.querySelectorAll('.switch span')].map((one) => one.offsetHeight)")
    assert len(set(heights)) == 1


@pytest.mark.parametrize(("unit", "shown"), [(None, "2 (unit not stated)"), ("um", "2\u00a0µm")])
def test_a_length_without_a_unit_says_so(pages, tmp_path, unit, shown):
    """Whoever reads a length sees its unit, or that the file states none."""
    ring = NetworkSet.from_graphs([tt.MetricGraph([0], [0], [2.0], unit=unit)], title="ring", names=["ring"])
    write(tmp_path / "ring.html", explorer_page(ring))
    page = ready(pages(tmp_path / "ring.html"))
    assert (
        page.locator("dt", has_text="length").locator("xpath=following-sibling::dd").text_content() == shown
    )


@pytest.mark.filterwarnings("ignore:all 3 graphs have no cycles")
def test_trees_are_told_from_cycles():
    """Where most networks are trees, the page says which kernels see nothing, unless bridges are doubled."""
    trees = [tt.MetricGraph([0, 0], [1, 2], [1.0, 2.0 + k]) for k in range(3)]
    networks = NetworkSet.from_graphs(trees, title="trees")
    note = "3 networks have no cycles, and TTW, TTS cannot tell them apart"
    assert note in explorer_page(networks, kernels=["ttw", "tts", "ttm"])
    assert "cannot tell them apart" not in explorer_page(networks, kernels=["ttm"])
    assert "cannot tell them apart" not in explorer_page(networks, bridges="double")


def test_a_single_network_has_a_page(pages, tmp_path):
    """It has no other network, no cluster but one, and its point is in the middle."""
    ring = NetworkSet.from_graphs([tt.MetricGraph([0], [0], [2.0])], title="ring", names=[""])
    write(tmp_path / "ring.html", explorer_page(ring))
    page = ready(pages(tmp_path / "ring.html"))
    assert page.locator("#name").text_content() == "network 0"
    assert page.locator("#near-note").text_content() == "there is no other network"
    assert page.locator("#legend button").all_text_contents() == ["cluster 1"]
    assert page.locator("main > p.lede").inner_text().startswith("1 network · genus 1 · ")


@pytest.fixture(scope="module")
def windows():
    """Return 30 windows of one small city; some overlap, and some are the same."""
    data = tt.datasets.build_urn({"A": grid_city(9, name="A")}, R=400, r=160, n=30, seed=2)
    labels = np.array(["north", "south"])[np.arange(30) % 2]
    return NetworkSet.from_dataset({**data, "y": labels}, "windows")


@pytest.fixture(scope="module")
def cut(windows, tmp_path_factory):
    """Return their page, which the command line has made."""
    path = tmp_path_factory.mktemp("explorer") / "windows.html"
    write(path, explorer_page(windows, command="torelli explore 'a city.graphml' --window 160"))
    return path


def test_networks_at_one_point_are_one_marker_with_their_number(cut_page, windows):
    """The number is beside the marker, stripes have all classes, and clicks go through the networks there."""
    page = cut_page
    drawn = heads(windows)
    counts = {head: int((drawn == head).sum()) for head in set(drawn.tolist())}
    assert max(counts.values()) > 2
    points = page.evaluate(
        f"[...document.querySelectorAll('{SCATTER} path.point')].map((p) => [p.__data__.i, p.style.fill])"
    )
    assert {row for row, _ in points} == set(counts)
    for row, fill in points:
        kinds = {windows.classes[i] for i in np.flatnonzero(drawn == row)}
        assert fill.startswith("url(") == (len(kinds) > 1)
    texts = page.locator(f"{SCATTER} .textpoint text").all_text_contents()
    assert sorted(map(int, texts)) == sorted(count for count in counts.values() if count > 1)
    head = next(row for row, count in counts.items() if count == min(c for c in counts.values() if c > 1))
    seen = []
    for _ in range(counts[head]):
        page.mouse.click(*middle(page, SCATTER, head))
        page.wait_for_timeout(350)  # a second click within this time would be a double click
        seen.append(selected(page, windows))
    assert sorted(seen) == np.flatnonzero(drawn == head).tolist()
    here = page.locator("#same button").evaluate_all("all => all.map((one) => Number(one.dataset.row))")
    assert {*here, seen[-1]} >= set(seen[:12])
    page.locator("#same button").first.click()
    assert selected(page, windows) == here[0]


def test_the_same_place_is_one_neighbour(cut_page, windows):
    """No two of the most similar have most of their streets in common, and cards say how many are meant."""
    page = cut_page
    same = heads(windows)
    together = of_one_place(windows.graphs) | (same[:, None] == same)
    rows = cards(page)
    assert 1 < len(rows) < 10
    assert not together[np.ix_(rows, rows)][~np.eye(len(rows), dtype=bool)].any()
    more = page.locator("#near .count").all_text_contents()
    assert any(text.endswith("more like it") for text in more)


def test_an_empty_lasso_changes_nothing(page, networks):
    """Around no point, it leaves the highlight as it is and no outline behind."""
    page.locator("#legend button").first.click()
    before = lit(page, "#map")
    assert before
    box = page.locator("#scatter").bounding_box()
    x, y = box["x"] + box["width"] - 20, box["y"] + 20
    points = middles(page, SCATTER, networks)
    assert not ((points[:, 0] > x - 14) & (points[:, 1] < y + 14)).any()
    lasso(page, [(x, y), (x + 9, y), (x + 9, y + 9), (x, y + 9)])
    page.wait_for_timeout(200)
    assert lit(page, "#map") == before
    assert page.locator("#legend button").first.get_attribute("aria-pressed") == "true"
    assert page.evaluate(f"document.querySelector('{SCATTER}').layout.selections?.length ?? 0") == 0


def test_the_address_keeps_what_is_shown(pages, page, file, networks):
    """Network, kernel, colours and city are in the address; opened elsewhere, it shows the same."""
    assert not page.url.partition("#")[2]
    page.locator("#find").fill(networks.names[7])
    page.keyboard.press("Enter")
    page.locator("input[value=tts]").check(force=True)
    page.locator("#colour").select_option("genus")
    page.locator("#city").select_option("1")
    page.locator("#elsewhere").check()
    address = page.url.partition("#")[2]
    other = ready(pages(file, width=1440, fragment=address))
    assert selected(other, networks) == 7
    assert other.locator("input[value=tts]").is_checked()
    assert other.locator("#colour").input_value() == "genus"
    assert other.locator("#city").input_value() == "1"
    assert cards(other) == cards(page)
    other.evaluate("window.location.hash = '#network=nobody&kernel=nothing'")
    other.wait_for_function("document.getElementById('status').textContent.includes('nobody')")
    assert selected(other, networks) == 0
    assert other.locator("input[value=ttm]").is_checked()


def test_names_that_are_not_unique_are_linked_by_their_row(pages, tmp_path):
    """Two networks of one name have their row in the address."""
    rings = [tt.MetricGraph([0], [0], [1.0 + k]) for k in range(3)]
    networks = NetworkSet.from_graphs(rings, title="rings", names=["a", "b", "a"]).take([2, 1, 0])
    write(tmp_path / "rings.html", explorer_page(networks))
    page = ready(pages(tmp_path / "rings.html", fragment="row=0"))
    assert page.locator("#figures").text_content().endswith("length1 (unit not stated)")
    page.locator("#near button").first.click()
    assert page.url.endswith("#network=b")


def downloaded(page, kind):
    """Return the text of what a button exports."""
    with page.expect_download() as saved:
        page.locator(f"#export-{kind}").click()
    return Path(saved.value.path()).read_text(encoding="utf-8")


def test_a_selection_is_exported(cut_page, windows):
    """Highlighted networks are in the GeoJSON with their streets, in the CSV, and in the command."""
    page = cut_page
    assert page.locator("#export-note").text_content() == "Export all 30"
    for row in (4, 5, 11):
        page.locator("#find").fill(windows.names[row])
        page.keyboard.press("Enter")
        page.locator("#mark").click()
    assert page.locator("#export-note").text_content() == "Export 3 highlighted"
    found = json.loads(downloaded(page, "geojson"))
    assert [feature["id"] for feature in found["features"]] == [4, 5, 11]
    for feature in found["features"]:
        graph = windows.graphs[feature["id"]]
        said = feature["properties"]
        assert (said["name"], said["genus"], said["class"]) == (
            graph.name,
            graph.genus,
            windows.classes[feature["id"]],
        )
        lines = np.array(feature["geometry"]["coordinates"])
        assert len(lines) == graph.n_edges
        ends = np.concatenate([graph.coordinates[graph.tail], graph.coordinates[graph.head]])
        np.testing.assert_allclose(lines.reshape(-1, 2).min(axis=0), ends.min(axis=0), atol=3e-6)
        np.testing.assert_allclose(lines.reshape(-1, 2).max(axis=0), ends.max(axis=0), atol=3e-6)
    table = list(csv.DictReader(io.StringIO(downloaded(page, "csv"))))
    assert [line["name"] for line in table] == [windows.names[row] for row in (4, 5, 11)]
    assert [int(line["nodes"]) for line in table] == [windows.graphs[row].n_nodes for row in (4, 5, 11)]
    page.locator("#export-command").click()
    assert page.locator("#command").text_content() == (
        "torelli explore 'a city.graphml' --window 160 --rows 4-5,11 --out selection.html"
    )
    page.locator("#mark").click()
    assert page.locator("#export-note").text_content() == "Export 2 highlighted"


def test_names_with_commas_and_quotes_survive_the_table(page, networks):
    """Whatever a name contains, the CSV has it in one cell."""
    table = list(csv.DictReader(io.StringIO(downloaded(page, "csv"), newline="")))
    assert [line["name"] for line in table] == networks.names
    assert [line["city"] for line in table] == networks.cities


def test_streets_and_scale_are_on_the_map(cut_page, windows):
    """Streets are drawn between the markers, the selected network's darker; bars have the length they say."""
    page = cut_page
    drawn = "(name) => { const c = document.querySelector(`#map canvas.${name}`);"
    drawn += "return c.toDataURL().length; }"
    blank = page.evaluate(
        "() => { const c = document.createElement('canvas'), m = document.querySelector('#map canvas');"
        "[c.width, c.height] = [m.width, m.height]; return c.toDataURL().length; }"
    )
    assert blank < page.evaluate(drawn, "above") < page.evaluate(drawn, "under")
    bar = page.locator("#map .bars .bar")
    assert bar.count() == 1
    number, unit = bar.text_content().split()
    assert unit == "m"
    # two windows whose places are known in metres and on the screen
    points = middles(page, "#map", windows)
    first, second = int(windows.places[:, 0].argmin()), int(windows.places[:, 0].argmax())
    metres = np.subtract(windows.places[second], windows.places[first]) * 111_195
    metres[0] *= np.cos(np.radians(windows.places[:, 1].mean()))
    scale = np.linalg.norm(metres) / np.linalg.norm(points[second] - points[first])
    width = bar.locator("i").bounding_box()["width"]
    assert float(number) == pytest.approx(width * scale, rel=0.02)
    before, said = page.evaluate(drawn, "under"), bar.text_content()
    for _ in range(3):
        page.get_by_role("button", name="Zoom in: map").click()
    wait_until(page, f"document.querySelector('#map .bars .bar').textContent !== '{said}'")
    assert page.evaluate(drawn, "under") != before


def test_a_touch_selects_and_shows_the_name(browser, file, networks):
    """Without a mouse, a tap on a point selects it and shows what a mouse would show."""
    context = browser.new_context(viewport={"width": 400, "height": 900}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(file.as_uri())
    ready(page)
    page.locator("#map").scroll_into_view_if_needed()
    row = alone(page, "#map", networks)
    page.touchscreen.tap(*middle(page, "#map", row))
    page.wait_for_selector("#map .hovertext")
    assert selected(page, networks) == row
    assert networks.names[row] in page.locator("#map .hoverlayer").text_content()
    context.close()


@pytest.mark.parametrize(("width", "scheme"), [(400, "light"), (1440, "dark"), (2200, "light")])
def test_no_barriers(pages, file, width, scheme):
    """axe-core finds no serious barrier, on a phone, a dark laptop and a wide screen."""
    page = ready(pages(file, scheme=scheme, width=width))
    page.locator("summary").click()
    page.locator("#legend button").first.click()
    page.locator("#export-command").click()
    assert barriers(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


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
