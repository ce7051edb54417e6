"""How long the explorer's page takes to answer, in a real browser."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import torelli as tt
from benchmarks.measure import Row, limited
from torelli.datasets import street_patterns

if TYPE_CHECKING:
    from collections.abc import Iterator

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


def chromium() -> str:
    """Return the path of the browser."""
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        raise RuntimeError("there is no Chromium on this machine: install it first")
    return path


def explorer() -> list[Row]:
    """Size and response time of the explorer's page for the 1,034 cells of one kilometre.

    The response time is the processor time for script, style, layout and painting, from an action to
    the second frame after it, in Chromium without a graphics card.
    """
    from playwright.sync_api import sync_playwright

    from torelli.cli import main as torelli

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as tool:
        file = Path(folder) / "cells.html"
        torelli(["explore", "--local", "cells", "--out", str(file)])
        browser = tool.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1440, "height": 960})
        page.goto(file.as_uri())
        rows = [limited("size of the page", file.stat().st_size / 1e6, 10, "MB")]
        rows += [limited(name, time, 100, "ms") for name, time in action_times(page).items()]
        browser.close()
    return rows


def scattered_windows(count: int) -> list[tt.MetricGraph]:
    """Return windows all over a country: a thousand patterns, each with other lengths at every place."""
    patterns = street_patterns(250, radius=150, seed=0).graphs
    rng = np.random.default_rng(0)
    windows = []
    for number in range(count):
        pattern = patterns[number % len(patterns)]
        points = np.asarray(pattern.coordinates) / 111_000 + rng.uniform((5.0, 46.0), (15.0, 54.0))
        windows.append(
            pattern.replace(
                name=f"window {number}",
                length=pattern.length * rng.uniform(0.9, 1.1, pattern.n_edges),
                coordinates=points,
                crs="EPSG:4326",
            )
        )
    return windows


def map_of_windows(count: int = 100_000) -> Iterator[Row]:
    """Map of 100,000 windows of 300 m: `torelli explore --serve`, opened in Chromium.

    The index is one by TTW. The page is asked for by a browser on the same machine. "Loaded" are the bytes
    that the browser received. Its memory is the JavaScript heap with array buffers; that of the server is the
    memory of its process.
    """
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as tool:
        target = Path(folder, "windows.index")
        tt.GraphIndex("ttw", n_jobs=-1).fit(scattered_windows(count)).save(target)
        size = sum(file.stat().st_size for file in target.iterdir())
        start = time.perf_counter()
        command = [sys.executable, "-m", "torelli", "explore", "--serve", str(target), "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:  # noqa: S603  (ourselves)
            try:
                assert server.stdout is not None  # noqa: S101  (for the type checker)
                address = re.search(r"http://\S+", server.stdout.readline())
                assert address is not None  # noqa: S101
                name = f"{count:,} windows"
                yield limited(f"{name}, files of the index", size / 1e6, unit="MB")
                yield limited(f"{name}, start of the server", time.perf_counter() - start)
                browser = tool.chromium.launch(
                    executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"]
                )
                page = browser.new_page(viewport={"width": 1440, "height": 960})
                for what, value, unit in _opened_map(page, address[0]):
                    yield limited(f"{name}, {what}", value, unit=unit)
                status = Path(f"/proc/{server.pid}/status").read_text(encoding="ascii")
                resident = int(status.split("VmRSS:")[1].split()[0]) / 1000
                yield limited(f"{name}, memory of the server", resident, unit="MB")
                browser.close()
            finally:
                server.terminate()


def _opened_map(page: Page, address: str) -> Iterator[tuple[str, float, str]]:
    """Open the map and choose a window; yield what that took."""
    tool = page.context.new_cdp_session(page)
    tool.send("Network.enable")
    tool.send("Performance.enable")
    loaded: list[float] = []
    tool.on("Network.loadingFinished", lambda event: loaded.append(event["encodedDataLength"]))
    start = time.perf_counter()
    page.goto(address)
    page.wait_for_selector("html[data-ready=true]")
    yield "time to the map", time.perf_counter() - start, "s"
    yield "loaded for the map", sum(loaded) / 1e6, "MB"
    loaded.clear()
    start = time.perf_counter()
    chosen = page.locator("#near button").nth(5).get_attribute("data-row")
    page.locator("#near button").nth(5).click()
    while page.locator(f"#near button[data-row='{chosen}']").count():  # until its own nearest are there
        page.wait_for_timeout(10)
    yield "time to the nearest of a window", time.perf_counter() - start, "s"
    page.wait_for_timeout(500)
    yield "loaded for a window and its nearest", sum(loaded) / 1e6, "MB"
    metrics = {metric["name"]: metric["value"] for metric in tool.send("Performance.getMetrics")["metrics"]}
    yield "memory of the page", metrics["JSHeapUsedSize"] / 1e6, "MB"
