"""Looks at pages as they stand, in both sizes and schemes, with axe-core and with what walk.js looks for.

A script that fails is a finding, too, and so is what the page's own policy blocks.
"""

from pathlib import Path
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import ConsoleMessage, Page

SIZES = ({"width": 1440, "height": 900}, {"width": 390, "height": 844})
GRAVE = ("serious", "critical")
# What differs between light and dark is colour alone: everything else need not be looked at again.
RULES: dict[str, dict[str, Any]] = {"light": {}, "dark": {"runOnly": ["color-contrast"]}}
LOOKS = f"{AXE_SCRIPT};\n{{{Path(__file__).with_suffix('.js').read_text()}}}"


class Walk:
    """One page that goes everywhere, and what was found on the way."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self._findings: list[str] = []
        page.on("pageerror", lambda error: self._findings.append(f"{page.url}: {error}"))
        page.on("console", self._note_blocked)

    def _note_blocked(self, message: ConsoleMessage) -> None:
        if "Content Security Policy" in message.text:
            self._findings.append(f"{self.page.url}: {message.text}")

    def go(self, address: str, until: str | None = None) -> None:
        """Look at the page of an address, once there is what the selector `until` asks for."""
        self.page.goto(address)
        if until:
            self.page.locator(until).first.wait_for()
        self.look(address)

    def look(self, name: str, within: str | None = None) -> None:
        """Look at the page as it stands; axe-core alone may be kept to a part of it."""
        if self.page.evaluate("window.walk === undefined"):
            self.page.evaluate(LOOKS)
        for size in SIZES:
            self.page.set_viewport_size(size)
            for scheme, rules in RULES.items():
                self.page.emulate_media(color_scheme=scheme)
                self._note_faults(f"{name} at {size['width']} px, {scheme}", within, rules)
            if wide := self.page.evaluate("walk.sticksOut()"):
                self._findings.append(f"{name} at {size['width']} px scrolls sideways: {wide}")
        self.page.set_viewport_size(SIZES[0])
        self.page.emulate_media(color_scheme="light")
        self.page.keyboard.press("Shift")
        for element in self.page.evaluate("walk.withoutRing()"):
            self._findings.append(f"{name}: focus cannot be seen on {element}")
        for element in self.page.evaluate("walk.withoutReason()"):
            self._findings.append(f"{name}: nothing says what is wrong with {element}")

    def _note_faults(self, where: str, within: str | None, rules: dict[str, Any]) -> None:
        for fault in self.page.evaluate("(asked) => walk.faults(asked)", [within, rules]):
            if fault["impact"] in GRAVE:
                why = " ".join(fault["why"].split())
                self._findings.append(f"{where}: {fault['id']} ({fault['impact']}), {fault['target']}: {why}")

    def check(self) -> None:
        """That nothing was found since the last check."""
        found, self._findings = self._findings, []
        assert not found, "\n".join(["", *found])
