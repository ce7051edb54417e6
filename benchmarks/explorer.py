"""How long the explorer's page takes to answer, in a real browser."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import Row, limited

if TYPE_CHECKING:
    from playwright.sync_api import Page

_FRAMES = "for (let k = 0; k < 2; k++) await new Promise((r) => requestAnimationFrame(() => setTimeout(r)));"
_ARROW = "{ key: ['ArrowRight', 'ArrowDown', 'ArrowLeft', 'ArrowUp'][turn % 4], bubbles: true }"
_SELECT = f"document.getElementById('scatter').dispatchEvent(new KeyboardEvent('keydown', {_ARROW}))"
_POINTS = (
    "{ points: Array.from({ length: 300 }, (_, k) => ({ curveNumber: 0, pointIndex: 3 * k + (turn % 3) })) }"
)
_BOX = "const box = document.getElementById('colour')"
_ACTIONS = {
    "choose a place": _SELECT,
    "another kernel": "document.querySelectorAll('input[name=kernel]')[(turn + 1) % 3].click()",
    "brush 300 places": "const chart = document.querySelector('.layer:not(.away)');"
    f"chart.dispatchEvent(new PointerEvent('pointerdown')); chart.emit('plotly_selected', {_POINTS})",
    "another colour": f"{_BOX}; box.selectedIndex = (turn + 1) % box.options.length;"
    "box.dispatchEvent(new Event('change'))",
    "choose a place, coloured by similarity": f"{_BOX}; if (box.value !== 'similarity') {{"
    f"box.value = 'similarity'; box.dispatchEvent(new Event('change')); }} {_SELECT}",
}


def action_times(page: Page) -> dict[str, float]:
    """Return the milliseconds that each action takes of the thread of a page that is open.

    Measured is the processor time of the thread that runs script, style, layout and painting, up to
    the second frame after: what a reader waits for on a machine that does nothing else. Other programs
    lengthen that too, by their use of caches and memory, so the second shortest of seven counts.
    """
    page.wait_for_selector("html[data-ready=true]")
    tool = page.context.new_cdp_session(page)
    tool.send("Performance.enable", {"timeDomain": "threadTicks"})

    def busy() -> float:
        metrics = tool.send("Performance.getMetrics")["metrics"]
        return 1000.0 * float(next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration"))

    medians = {}
    for name, action in _ACTIONS.items():
        times = []
        for turn in range(7):
            page.evaluate(f"async () => {{ {_FRAMES} }}")
            before = busy()
            page.evaluate(f"async (turn) => {{ {action}; {_FRAMES} }}", turn)
            times.append(busy() - before)
        medians[name] = sorted(times)[1]
    return medians


def explorer() -> list[Row]:
    """Size and response time of the explorer's page for the 1,034 cells of one kilometre.

    The response time is the processor time for script, style, layout and painting, from an action to
    the second frame after it, in Chromium without a graphics card.
    """
    from playwright.sync_api import sync_playwright

    from torelli.cli import main as torelli

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        raise RuntimeError("there is no Chromium on this machine: install it first")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as tool:
        file = Path(folder) / "cells.html"
        torelli(["explore", "--local", "cells", "--out", str(file)])
        browser = tool.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1440, "height": 960})
        page.goto(file.as_uri())
        rows = [limited("size of the page", file.stat().st_size / 1e6, 10, "MB")]
        rows += [limited(name, time, 100, "ms") for name, time in action_times(page).items()]
        browser.close()
    return rows
