"""Remake the pictures of the report in the docs: ``make screenshots``; needs Chromium."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from torelli.cli import main as torelli

IMAGES = Path(__file__).parent / "images"


def main() -> int:
    """Run the demo and photograph its report in both themes."""
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
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
