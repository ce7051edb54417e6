"""The explorer of an index: what its server answers, and the page in a browser."""

from __future__ import annotations

import json
import threading
from http.client import HTTPConnection

import numpy as np
import pytest

import torelli as tt
from browser import barriers, wait_until
from torelli.datasets import street_patterns
from torelli.explore.index_site import IndexSite, serve
from torelli.webpage import unpack


@pytest.fixture(scope="module")
def index():
    data = street_patterns(5, radius=120, seed=1)
    graphs = [
        graph.replace(
            name=f"Window <{i}>", coordinates=graph.coordinates + 1000.0 * np.array([i % 4, i // 4])
        )
        for i, graph in enumerate(data.graphs)
    ]
    graphs.append(tt.MetricGraph([0, 1, 2], [1, 2, 0], [1.0, 2.0, 3.0], name="no place", unit="m"))
    labels = [*(str(data.target_names[label]) for label in data.y), "gridiron"]
    return tt.GraphIndex("ttw").fit(graphs, metadata=[{"label": label} for label in labels])


@pytest.fixture(scope="module")
def site(index, tmp_path_factory):
    """Return the site of the index, loaded from a folder."""
    loaded = tt.GraphIndex.load(index.save(tmp_path_factory.mktemp("site") / "a.index"))
    return IndexSite(loaded, "Windows & more")


@pytest.fixture
def server(site):
    """Yield a server that runs in a thread."""
    with serve(site) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


def answered(site, target):
    answer = site.answer(target)
    return answer.status, json.loads(answer.content)


def test_networks_have_figures_and_a_drawing(site, index):
    """A network is described by its name, facts, figures and its thumbnail."""
    status, content = answered(site, "/network/3")
    summary = index.graph(3).summary()
    assert status == 200
    assert content["name"] == "Window <3>"
    assert content["facts"] == {"label": index.record(3)["label"]}
    assert content["figures"]["genus"] == summary.genus
    assert len(unpack(content["drawing"])["thumbnail.tail"]) > 5


def test_nearest_are_those_of_the_index(site, index):
    """The nearest networks are exact, without the network itself."""
    status, content = answered(site, "/near/3")
    distances, indices = index.query(index.graph(3), 13)
    assert status == 200
    assert content["rows"] == indices[1:].tolist()
    assert content["distances"] == pytest.approx(distances[1:])
    assert content["distinct"] == index.n_distinct_


def test_names_are_found(site):
    """Names that contain a text are found in any case, those that begin with it first."""
    assert [one["row"] for one in answered(site, "/find?text=window%20%3C1")[1]] == [1, *range(10, 20)]
    assert answered(site, "/find?text=PLACE")[1] == [{"row": 20, "name": "no place"}]
    assert answered(site, "/find?text=")[1] == []
    assert answered(site, "/find")[1] == []


@pytest.mark.parametrize(
    "target",
    [
        "/network/21",
        "/network/-1",
        "/network/x",
        "/near/",
        "/near/1/2",
        "/network/٣",
        "/../etc/passwd",
        "/x",
        "//",
    ],
)
def test_nothing_else_is_answered(site, target):
    """Other paths, and networks that are not there, are not found."""
    assert answered(site, target)[0] == 404


@pytest.mark.parametrize("target", ["/find?" + "&".join(f"a{i}=1" for i in range(12)), "http://[x/"])
def test_an_address_that_cannot_be_read_is_answered(server, site, target):
    """A request with too many fields, or with a broken address, gets an answer that says so."""
    assert answered(site, target)[0] == 400
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    connection.request("GET", target, headers={"Host": f"127.0.0.1:{server.server_port}"})
    answer = connection.getresponse()
    assert answer.status == 400
    assert "cannot be read" in json.loads(answer.read())["error"]


def test_the_page_names_the_variant_of_the_kernel():
    """An index of TTM along returns says so; the default variant needs no words."""
    rings = [tt.MetricGraph([0], [0], [float(i)]) for i in range(1, 6)]
    for along, words in (("returns", "Torelli-measure along returns ·"), ("junctions", "Torelli-measure ·")):
        index = tt.GraphIndex(tt.TTMKernel(along=along)).fit(rings)
        assert words in IndexSite(index, "rings").answer("/").content.decode()


def test_the_page_has_places_and_no_drawings(site, index):
    """The page has the place of every network, escaped names of classes, and allows its own server alone."""
    text = site.answer("/").content.decode()
    assert "Windows &amp; more" in text
    assert "connect-src &#x27;self&#x27;" in text
    assert "21 networks" in text
    assert "1 networks have no coordinates" in text
    data = json.loads(text.partition('id="torelli-data">')[2].partition("</script>")[0])
    arrays = unpack(data["arrays"])
    assert len(arrays["map"]) == len(arrays["similarity"]) == 2 * index.n_graphs_
    places = arrays["map"].reshape(-1, 2)
    assert np.isnan(places[20]).all()
    assert places[:20].min() == 0.0
    assert places[:20].max() == 1.0
    assert data["classes"] == sorted({index.record(i)["label"] for i in range(21)})
    assert len(text) < 200_000


def test_only_this_machine_is_answered(server):
    """A request by another host's name, as after DNS rebinding, is refused, and so are other methods."""
    for host, status in ((f"127.0.0.1:{server.server_port}", 200), ("evil.example", 403), ("", 403)):
        connection = HTTPConnection("127.0.0.1", server.server_port, timeout=30)
        connection.request("GET", "/network/0", headers={"Host": host})
        assert connection.getresponse().status == status
        connection.close()
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    connection.request("POST", "/network/0")
    assert connection.getresponse().status == 501
    assert server.server_address[0] == "127.0.0.1"


def test_vectors_cannot_be_drawn():
    """An index of vectors is refused."""
    with pytest.raises(tt.InvalidOptionError, match="nothing to draw"):
        IndexSite(tt.GraphIndex.from_vectors(np.eye(3)), "x")


@pytest.mark.parametrize("lengths", [(1.0,), (1.0, 1.0), (1.0, 2.0, 3.0)])
def test_few_networks_without_places_have_a_site(lengths):
    """One network, equal networks and networks without coordinates have a chart by similarity alone."""
    rings = [tt.MetricGraph([0], [0], [length]) for length in lengths]
    site = IndexSite(tt.GraphIndex("tts").fit(rings), "rings")
    text = site.answer("/").content.decode()
    data = json.loads(text.partition('id="torelli-data">')[2].partition("</script>")[0])
    assert data["charts"] == ["similarity"]
    assert len(answered(site, "/near/0")[1]["rows"]) == len(rings) - 1


@pytest.fixture
def opened(browser, server):
    """Return what opens an address of the server; the test fails on errors and on requests to others."""
    address = f"http://127.0.0.1:{server.server_port}/"
    problems = []
    context = browser.new_context(viewport={"width": 1280, "height": 900})

    def open_page(fragment):
        page = context.new_page()
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda one: None if one.url.startswith(address) else problems.append(one.url))
        page.goto(address + fragment)
        page.wait_for_selector("html[data-ready=true]")
        return page

    yield open_page
    context.close()
    assert [one for one in problems if "favicon" not in one and "404" not in one] == []


def test_the_browser_shows_what_is_selected(opened):
    """The page opens, selects by the address, by name and by a card, without errors and barriers."""
    page = opened("#row=3")
    assert page.inner_text("#name") == "Window <3>"
    assert page.locator("#near button").count() == 12
    page.fill("#find", "no pla")
    page.click("#found button")
    wait_until(page, "document.getElementById('name').textContent === 'no place'")
    assert page.url.endswith("#row=20")
    wait_until(page, "document.getElementById('near-note').textContent.includes('computed')")
    wait_until(page, "document.querySelectorAll('#near button').length === 12")
    first = page.locator("#near button").first
    row = first.get_attribute("data-row")
    first.click()
    wait_until(page, f"location.hash === '#row={row}'")
    canvas = "document.querySelector('#map canvas')"
    pixels = f"{canvas}.getContext('2d').getImageData(0, 0, {canvas}.width, {canvas}.height).data"
    wait_until(page, f"{pixels}.some((value) => value > 0)")
    assert barriers(page) == []


def test_points_are_selected_by_a_click(opened):
    """A click on a point of the map selects the network there."""
    page = opened("#row=3")
    box = page.locator("#map canvas").bounding_box()
    places = "torelli.unpack(torelli.data.arrays).then((a) => Array.from(a.map))"
    xy = np.array(page.evaluate(places), dtype=float).reshape(-1, 2)[:20]
    scale = 0.94 * min(box["width"] / xy[:, 0].max(), box["height"] / xy[:, 1].max())
    x = (box["width"] - scale * xy[:, 0].max()) / 2 + scale * xy[6, 0]
    y = (box["height"] + scale * xy[:, 1].max()) / 2 - scale * xy[6, 1]
    page.mouse.click(box["x"] + x, box["y"] + y)
    wait_until(page, "location.hash === '#row=6'")
    wait_until(page, "document.getElementById('name').textContent === 'Window <6>'")


def test_a_port_that_cannot_be_used_is_an_error(site, server):
    """A port that is taken or does not exist is named, with what to do."""
    for port in (server.server_port, 99_999):
        with pytest.raises(tt.InvalidOptionError, match=f"port {port} cannot be used .*: use a free one"):
            serve(site, port)


def test_the_page_has_few_bytes_for_each_network():
    """Names, facts and streets are not in the page: it has at most 32 bytes more for each network."""
    rng = np.random.default_rng(0)
    sizes = []
    for count in (100, 3000):
        rings = [
            tt.MetricGraph(
                [0, 1, 2], [1, 2, 0], rng.uniform(1.0, 9.0, 3), coordinates=rng.uniform(size=(3, 2)) + row
            )
            for row in range(count)
        ]
        names = [f"{row} {'long name ' * 50}" for row in range(count)]
        index = tt.GraphIndex("tts").fit(rings, ids=names, metadata=[{"note": "x" * 500}] * count)
        sizes.append(len(IndexSite(index, "Rings").answer("/").content))
    assert (sizes[1] - sizes[0]) / 2900 < 32
