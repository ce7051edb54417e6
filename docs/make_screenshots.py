"""Remake the pictures of the report and the explorer: ``make screenshots``; needs Chromium.

The explorer's show the set URN4-S of the shared data, and are left as they are without it.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from playwright.sync_api import sync_playwright

from torelli._errors import DataNotFoundError
from torelli.cli import main as torelli
from torelli.datasets.storage import shared_data

if TYPE_CHECKING:
    from playwright.sync_api import Browser

IMAGES = Path(__file__).parent / "images"


def photograph_explorer(browser: Browser, folder: Path) -> None:
    """Show a place by class, one by similarity in the dark, and a narrow page."""
    file = folder / "explorer.html"
    title = "Four cities, four street patterns"
    torelli(["explore", "--urn", "URN4-S", "--title", title, "--out", str(file)])
    shots: tuple[tuple[str, Literal["light", "dark"], int, int, str, str], ...] = (
        ("light", "light", 1440, 1080, "class", "Boulogne-Billancourt[144]"),
        ("dark", "dark", 1440, 1080, "similarity", "Nyala[3]"),
        ("phone", "light", 400, 1750, "class", "Buffalo[24]"),
    )
    for name, scheme, width, height, colour, place in shots:
        page = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": height})
        city = f"&city={place.partition('[')[0]}" if colour == "similarity" else ""
        page.goto(f"{file.as_uri()}#network={place}&colour={colour}{city}")
        page.wait_for_selector("html[data-ready=true]")
        page.screenshot(path=IMAGES / f"explorer-{name}.png")
        print(f"explorer-{name}.png")


def main() -> int:
    """Run the demo and photograph its report in both themes, then the explorer."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        print("there is no Chromium on this machine: install it first")
        return 1
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as tool:
        torelli(["demo", "--out", folder])
        browser = tool.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for scheme in ("light", "dark"):
            page = browser.new_page(color_scheme=scheme, viewport={"width": 1280, "height": 1640})
            page.goto((Path(folder) / "report.html").as_uri())
            page.wait_for_selector("#confused .card")
            page.screenshot(path=IMAGES / f"report-{scheme}.png")
            print(f"report-{scheme}.png")
        try:
            shared_data("urn", "graphs")
        except DataNotFoundError as error:
            print(f"explorer: {error}")
        else:
            photograph_explorer(browser, Path(folder))
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
