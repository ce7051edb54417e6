"""The report in a real browser."""

from __future__ import annotations

import pytest

from torelli.report.classification import classification_page
from torelli.report.page import write


@pytest.fixture(scope="session")
def report(outcome, about, tmp_path_factory):
    """Return the file of a report whose names are hostile."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    write(path, classification_page(outcome, about))
    return path


def chosen(page) -> int:
    return int(page.locator("#graph").input_value())


def test_hostile_names_stay_text(pages, report, outcome):
    """The page loads without an error or a request; markup in names is shown and never run."""
    page = pages(report)
    page.wait_for_selector("#heat .main-svg")
    assert page.evaluate("window.hacked") is None
    assert page.locator("h1").inner_text() == "Classification of <script>window.hacked=1</script>"
    assert page.locator("main img, main a").count() == 0
    options = page.locator("#graph option").all_text_contents()
    assert sorted(options) == sorted(outcome.names)
    legend = page.locator("#pca .legendtext").all_text_contents()
    assert "b & <i>c</i>" in legend
    assert "'\"" in legend


def test_clicking_a_point_shows_its_graph(pages, report, outcome):
    """A click on a point of the kernel PCA chooses that graph; hovering tells its name."""
    page = pages(report)
    page.wait_for_selector("#pca .points path")
    # the trace of the last class, whose name is plain; its first point
    target = page.evaluate("document.getElementById('pca').data[3].customdata[0]")
    assert chosen(page) != target
    page.locator("#pca .scatterlayer .trace:nth-child(4) .points path").first.hover(force=True)
    page.wait_for_selector("#pca .hoverlayer .hovertext")
    assert "plain" in page.locator("#pca .hoverlayer").text_content()
    box = page.locator("#pca .scatterlayer .trace:nth-child(4) .points path").first.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_function(f"document.getElementById('graph').value === '{target}'")
    assert outcome.names[target].strip() in page.locator("#panel h3").inner_text()
    assert f"genus {outcome.graphs[target].genus}," in page.locator("#panel").inner_text()
    n_paths = page.locator("#panel > svg path").count()
    assert n_paths >= outcome.graphs[target].genus > 0


def test_the_keyboard_is_enough(pages, report):
    """Next and previous move through the graphs, arrows switch the kernel, and focus is seen."""
    page = pages(report)
    page.wait_for_selector("#pca .points path")
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


def test_another_kernel_shows_its_own_figures(pages, report, outcome):
    """Confusion, spectrum and PCA follow the switch."""
    page = pages(report)
    page.wait_for_selector("#confusion .main-svg")
    for name, score in zip(outcome.kernels, outcome.scores, strict=False):
        page.locator(f"input[value={name}] + span").click()
        shown = page.evaluate("document.getElementById('confusion').data[0].text")
        counts = [[int(cell.split("<br>")[0]) for cell in row] for row in shown]
        assert counts == outcome.confusion(score).tolist()
    assert "definite" in page.locator("#spectrum-note").inner_text()


def test_both_themes_are_readable(pages, report):
    """The system's theme is taken, the button changes it, charts follow, and text stands out."""
    for scheme in ("light", "dark"):
        page = pages(report, scheme=scheme)
        page.wait_for_selector("#pca .main-svg")
        assert page.evaluate("document.documentElement.dataset.theme") == scheme
        before = page.evaluate("document.getElementById('pca').layout.font.color")
        assert contrast(page, "#run td", "section") > 7
        page.locator("#theme").click()
        assert page.evaluate("document.documentElement.dataset.theme") != scheme
        assert page.evaluate("document.getElementById('pca').layout.font.color") != before
        assert contrast(page, "p.muted", "section") > 4.5


def test_a_narrow_screen_has_no_sideways_scrolling(pages, report):
    """At the width of a telephone everything fits."""
    page = pages(report, width=400)
    page.wait_for_selector("#heat .main-svg")
    assert page.evaluate("document.documentElement.scrollWidth") == 400


def test_cards_lead_to_their_graph(pages, report, outcome):
    """A click on a typical graph chooses it."""
    page = pages(report)
    page.wait_for_selector("#typical .card")
    card = page.locator("#typical .card").last
    title = card.get_attribute("title")
    card.click()
    assert outcome.names[chosen(page)] == title


def contrast(page, text: str, ground: str) -> float:
    """Return the contrast of a text with its ground, as the guidelines for accessible pages define it."""

    def luminance(selector: str, property_: str) -> float:
        colour = page.evaluate(f"getComputedStyle(document.querySelector('{selector}')).{property_}")
        parts = [int(part) / 255 for part in colour.removeprefix("rgb(").removesuffix(")").split(", ")]
        red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    one, two = sorted([luminance(text, "color"), luminance(ground, "backgroundColor")])
    return (two + 0.05) / (one + 0.05)
