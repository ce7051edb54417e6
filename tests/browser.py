"""A real browser for the tests of pages: Chromium, which `.ci/run` installs."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext, Page

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_PATIENCE = 60_000  # milliseconds: a machine may be busy
_QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@contextmanager
def chromium() -> Iterator[Browser]:
    """Yield the browser; without one skip, but fail in continuous integration, which must have it."""
    program = next((path for path in map(shutil.which, _NAMES) if path), None)
    if program is None:
        reason = "there is no Chromium on this machine: install it, such as with apt-get install chromium"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=program, args=_QUIET)
        yield browser
        browser.close()


class Pages:
    """Opens files in the browser, and keeps what went wrong: errors, requests to the network, dialogs.

    Parameters
    ----------
    browser
        Where to open them.
    """

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.problems: list[str] = []
        self._contexts: list[BrowserContext] = []

    def __call__(self, file: Path, *, scheme: str = "light", width: int = 1280, fragment: str = "") -> Page:
        """Open a file of this machine in a fresh profile, with a fragment in its address."""
        context = self.browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
        self._contexts.append(context)
        context.set_default_timeout(_PATIENCE)
        page = context.new_page()
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        page.on("request", lambda request: self._request(request.url))
        page.on("dialog", self._dialog)
        page.goto(file.resolve().as_uri() + (f"#{fragment}" if fragment else ""))
        return page

    def close(self) -> None:
        """Close all that was opened here."""
        for context in self._contexts:
            context.close()

    def _console(self, message) -> None:
        if message.type in {"error", "warning"}:
            self.problems.append(f"console: {message.text}")

    def _request(self, url: str) -> None:
        if not url.startswith(("file:", "data:", "blob:")):
            self.problems.append(f"request: {url}")

    def _dialog(self, dialog) -> None:
        self.problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()


def wait_until(page: Page, expression: str) -> None:
    """Wait for an expression to be true; Playwright's own way needs eval, which the pages forbid."""
    for _ in range(_PATIENCE // 50):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    pytest.fail(f"never true: {expression}")


def barriers(page: Page) -> list[str]:
    """Return what axe-core calls a serious or critical barrier for people with disabilities, and where."""
    violations = Axe().run(page).response["violations"]
    return [
        f"{rule['id']} ({rule['impact']}): {node['target']} {node['failureSummary']}"
        for rule in violations
        if rule["impact"] in {"serious", "critical"}
        for node in rule["nodes"]
    ]
