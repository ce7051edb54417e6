"""The report in a real browser."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from sklearn.metrics import confusion_matrix

from browser import Pages, barriers, wait_until
from torelli.report.classification import classification_page
from torelli.webpage import write


@pytest.fixture(scope="module")
def opened(outcome, about, browser, tmp_path_factory):
    """Return the pages of a report whose names are hostile, opened once for all tests."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    write(path, classification_page(outcome, about))
    pages = Pages(browser)
    report = pages(path)
    report.wait_for_selector("#confused .card")
    return pages, report


@pytest.fixture
def page(opened):
    """Return the page, light and wide; the test fails on console errors, requests and dialogs."""
    pages, report = opened
    set_scheme(report, "light")
    report.set_viewport_size({"width": 1280, "height": 900})
    yield report
    assert pages.problems == []


def chosen(page) -> int:
    return int(page.locator("#graph").input_value())


def test_hostile_names_stay_text(page, outcome):
    """The page loads without an error or a request; markup in names is shown and never run."""
    assert page.evaluate("window.hacked") is None
    assert page.locator("h1").inner_text() == "Classification of <script>window.hacked=1</script>"
    assert page.locator("main img, main a").count() == 0
    options = page.locator("#graph option").all_text_contents()
    assert sorted(options) == sorted(outcome.names)
    legend = page.locator("#pca .legendtext").all_text_contents()
    assert "b & <i>c</i>" in legend
    assert "'\"" in legend


def test_clicking_a_point_shows_its_graph(page, outcome):
    """A click on a point of the kernel PCA chooses that graph; hovering tells its name."""
    # the trace of the last class, whose name is plain; its first point
    target = page.evaluate("document.getElementById('pca').data[3].customdata[0]")
    page.locator("#graph").select_option("0")
    assert chosen(page) != target
    page.locator("#pca .scatterlayer .trace:nth-child(4) .points path").first.hover(force=True)
    assert "plain" in page.locator("#pca .hoverlayer").text_content()
    box = page.locator("#pca .scatterlayer .trace:nth-child(4) .points path").first.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    wait_until(page, f"document.getElementById('graph').value === '{target}'")
    assert outcome.names[target].strip() in page.locator("#panel h3").inner_text()
    assert f"genus {outcome.graphs[target].genus}," in page.locator("#panel").inner_text()
    n_paths = page.locator("#panel > svg path").count()
    assert n_paths >= outcome.graphs[target].genus > 0


def test_the_report_says_why_two_graphs_are_alike(page, outcome):
    """The chosen graph and the nearest by TTM are drawn twice, by what makes them alike and what does not."""
    page.locator("#graph").select_option("0")
    nearest = page.evaluate("torelli.data.kernels.ttm.nearest[0][0]")
    assert page.locator("#why svg").count() == 4
    assert page.locator("#why small").all_text_contents() == 2 * [outcome.names[0], outcome.names[nearest]]
    assert page.locator("#why .alike .shade4").count() > 0
    empty = str(len(outcome.graphs) - 1)
    page.locator("#graph").select_option(empty)
    assert page.locator("#why svg").count() == 0


def test_the_keyboard_is_enough(page):
    """Next and previous move through the graphs, arrows switch the kernel, and focus is seen."""
    first = chosen(page)
    page.locator("#next").focus()
    page.keyboard.press("Enter")
    assert chosen(page) != first
    page.locator("#previous").focus()
    page.keyboard.press("Enter")
    assert chosen(page) == first
    page.locator("input[value=ttw]").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("input[value=tte]").is_checked()
    outline = page.evaluate(
        "getComputedStyle(document.querySelector('input[value=tte] + span')).outlineStyle"
    )
    assert outline == "solid"


def test_another_kernel_shows_its_own_figures(page, outcome):
    """Confusion, spectrum and PCA follow the switch."""
    for name, score in zip(outcome.kernels, outcome.scores, strict=False):
        page.locator(f"input[value={name}] + span").click()
        shown = page.evaluate("document.getElementById('confusion').data[0].text")
        counts = [[int(cell.split("<br>")[0]) for cell in row] for row in shown]
        assert counts == confusion_matrix(outcome.y, score.predicted).tolist()
    assert "definite" in page.locator("#spectrum-note").inner_text()


def test_no_button_of_a_chart_leads_to_the_network(page):
    """Charts have no button of Plotly, no logo and no upload; their own save a picture of the chart."""
    assert page.locator(".modebar-btn, .modebar a, a[href*=plot]").count() == 0
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as a picture: confusion matrix").click()
    assert saved.value.suggested_filename == "confusion.png"


def test_buttons_of_charts_zoom_and_reset(page):
    """Zooming shows less of both axes around the same middle, and Reset shows everything again."""
    axes = "['xaxis', 'yaxis'].map((name) => document.getElementById('pca')._fullLayout[name].range)"
    before = page.evaluate(axes)
    page.get_by_role("button", name="Zoom in: graphs by similarity").click()
    wait_until(page, f"JSON.stringify({axes}) !== {json.dumps(json.dumps(before))}")
    for (low, high), (left, right) in zip(before, page.evaluate(axes), strict=True):
        assert right - left == pytest.approx((high - low) / 1.5)
        assert left + right == pytest.approx(low + high)
    page.get_by_role("button", name="Show everything: graphs by similarity").click()
    wait_until(page, f"Math.abs({axes}[0][0] - {before[0][0]}) < 1e-9")


@pytest.mark.parametrize("width", [1440, 400])
def test_no_table_is_cut(page, width):
    """At the width of a laptop no table scrolls; one that does on a phone is a stop for the keyboard."""
    page.set_viewport_size({"width": width, "height": 900})
    wait_until(page, f"document.documentElement.clientWidth === {width}")
    page.wait_for_timeout(100)
    regions = page.locator(".scroll, pre").evaluate_all(
        "all => all.map((one) => [one.scrollWidth > one.clientWidth, one.tabIndex === 0])"
    )
    assert len(regions) > 2
    assert all(scrolls == stops for scrolls, stops in regions)
    assert width < 1440 or not any(scrolls for scrolls, _ in regions)


def test_both_themes_are_readable(page):
    """The system's theme is taken, charts follow, text stands out, and the reader's choice comes first."""
    light = page.evaluate("document.getElementById('pca').layout.font.color")
    assert theme(page) == "light"
    assert contrast(page, "#run td") > 7
    assert contrast(page, "p.muted") > 4.5
    set_scheme(page, "dark")
    assert page.evaluate("document.getElementById('pca').layout.font.color") != light
    assert contrast(page, "#run td") > 7
    assert contrast(page, "p.muted") > 4.5
    page.locator("#theme").click()
    assert theme(page) == "light"
    page.emulate_media(color_scheme="light")
    page.wait_for_timeout(100)
    page.emulate_media(color_scheme="dark")
    page.wait_for_timeout(100)
    assert theme(page) == "light"
    page.evaluate("localStorage.clear()")


def test_a_narrow_screen_has_no_sideways_scrolling(page):
    """At the width of a telephone everything fits."""
    page.set_viewport_size({"width": 400, "height": 800})
    wait_until(page, "document.querySelector('#heat .main-svg').clientWidth < 400")
    wait_until(page, "document.documentElement.scrollWidth === 400")  # the charts follow one after another


def test_the_variant_of_a_kernel_is_named(opened, outcome, about, tmp_path):
    """TTM along diffusion has that name wherever the report speaks of it."""
    pages, _ = opened
    varied = replace(outcome, about={**outcome.about, "along": "diffusion"})
    write(tmp_path / "varied.html", classification_page(varied, about))
    report = pages(tmp_path / "varied.html")
    report.wait_for_selector("#confused .card")
    assert report.locator("#kernel span").first.inner_text() == "TTM along diffusion"
    assert "the nearest by TTM along diffusion, are alike" in report.locator("#why").inner_text()
    assert pages.problems == []


def test_cards_lead_to_their_graph(page, outcome):
    """A click on a typical graph chooses it."""
    card = page.locator("#typical .card").last
    title = card.get_attribute("title")
    card.click()
    assert outcome.names[chosen(page)] == title


def test_paper_is_light(page):
    """Printing a dark page prints the light one, charts included, and the screen stays dark."""
    light = page.evaluate("document.getElementById('pca').layout.font.color")
    set_scheme(page, "dark")
    page.evaluate(
        "window.addEventListener('beforeprint', () => {"
        "window.printed = document.getElementById('pca').layout.font.color; })"
    )
    assert page.pdf().startswith(b"%PDF")
    assert page.evaluate("window.printed") == light
    assert theme(page) == "dark"


def set_scheme(page, scheme: str) -> None:
    """Change the theme of the system, and wait until the page has followed."""
    page.emulate_media(color_scheme=scheme)
    wait_until(page, f"document.documentElement.dataset.theme === '{scheme}'")


def theme(page) -> str:
    return page.evaluate("document.documentElement.dataset.theme")


def contrast(page, text: str) -> float:
    """Return the contrast of a text with its ground, as the guidelines for accessible pages define it."""

    def luminance(selector: str, property_: str) -> float:
        colour = page.evaluate(f"getComputedStyle(document.querySelector('{selector}')).{property_}")
        parts = [int(part) / 255 for part in colour.removeprefix("rgb(").removesuffix(")").split(", ")]
        red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    one, two = sorted([luminance(text, "color"), luminance("section", "backgroundColor")])
    return (two + 0.05) / (one + 0.05)


@pytest.mark.parametrize(("width", "scheme"), [(400, "light"), (1440, "dark"), (2200, "light")])
def test_no_barriers(page, width, scheme):
    """axe-core finds no serious barrier, on a phone, a dark laptop and a wide screen."""
    page.set_viewport_size({"width": width, "height": 900})
    set_scheme(page, scheme)
    wait_until(page, f"document.querySelector('#heat .main-svg').clientWidth < {width}")
    assert barriers(page) == []
