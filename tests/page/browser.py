"""Chromium without a window, driven through its DevTools protocol: no driver is needed, and every request is seen."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from websockets.sync.client import connect

ROOT = Path(__file__).parents[2]
START = "from everlearn.cli.main import main; main()"


def chromium() -> str | None:
    """Return where Chromium is."""
    return next((found for name in ("chromium", "chromium-browser") if (found := shutil.which(name))), None)


PATIENCE = 120.0
"""Seconds after which something is taken to never come; the machine may be as busy as it likes."""


class NavigationError(AssertionError):
    """A page was left while it was asked something."""


def wait_for(ready: Callable[[], Any], what: str, pause: float = 0.03) -> Any:
    """Return what is ready as soon as it is."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with suppress(NavigationError):
            if found := ready():
                return found
        time.sleep(pause)
    raise AssertionError(f"after {PATIENCE} s there is not {what}")


class Tab:
    """A tab of the browser: it opens, evaluates, clicks and types, and remembers what the page asked for."""

    def __init__(self, address: str) -> None:
        self._held = ExitStack()
        # no keepalive: while this process computes, it cannot answer
        opened = connect(address, max_size=None, open_timeout=PATIENCE, ping_interval=None)
        self._socket = self._held.enter_context(opened)
        self._number = 0
        self.requests: list[str] = []
        self.complaints: list[str] = []
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> Any:
        """Call a method of the protocol, and return what it returns."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=PATIENCE))
            if message.get("id") == self._number:
                if "navigated" in message.get("error", {}).get("message", ""):
                    raise NavigationError
                if "error" in message:
                    raise AssertionError(f"{method}: {message['error']}")
                return message["result"]
            self._note(message)

    def _note(self, message: dict[str, Any]) -> None:
        parameters = message.get("params", {})
        match message.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(parameters["request"]["url"])
            case "Network.webSocketCreated":
                self.requests.append(parameters["url"])
            case "Runtime.exceptionThrown":
                details = parameters["exceptionDetails"]
                self.complaints.append(details.get("exception", {}).get("description") or details["text"])
            case "Runtime.consoleAPICalled" if parameters["type"] in ("error", "warning", "assert"):
                self.complaints.append(str([one.get("value", one.get("description")) for one in parameters["args"]]))
            case "Log.entryAdded" if parameters["entry"]["level"] in ("error", "warning"):
                self.complaints.append(f"{parameters['entry']['text']} {parameters['entry'].get('url', '')}")

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise AssertionError(f"{expression}: {found['exceptionDetails']}")
        return found["result"].get("value")

    def open(self, address: str) -> None:
        """Go to an address, and wait until the curve is drawn."""
        self.evaluate("window.left = true")
        self.call("Page.navigate", url=address)
        there = "!window.left && !!document.querySelector('svg.chart')"
        wait_for(lambda: self.evaluate(there), f"a curve at {address}")

    def size(self, width: int, height: int, *, dark: bool = False, scale: float = 1.0) -> None:
        """Be so large, and prefer light or dark."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def text(self, selector: str) -> str:
        """Return the text of an element."""
        return self.evaluate(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''").strip()

    def click(self, selector: str) -> None:
        """Click the middle of an element, with the mouse."""
        where = wait_for(lambda: self._middle(selector), f"{selector} to click")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=where[0], y=where[1], button="left", clickCount=1)

    def drag(self, selector: str, shares: Sequence[float], pause: float = 0.2) -> None:
        """Press the mouse on an element, move it to shares of the element's width, slowly, and let it go."""
        wait_for(lambda: self._middle(selector), f"{selector} to drag")
        left, top, width = self.evaluate(
            f"(b => [b.left, b.top + b.height / 2, b.width])"
            f"(document.querySelector({json.dumps(selector)}).getBoundingClientRect())"
        )
        kinds = ["mousePressed", *["mouseMoved"] * (len(shares) - 1), "mouseReleased"]
        for kind, share in zip(kinds, [*shares, shares[-1]], strict=True):
            where = {"x": left + share * width, "y": top}
            self.call("Input.dispatchMouseEvent", type=kind, **where, button="left", buttons=1, clickCount=1)
            time.sleep(pause)

    def _middle(self, selector: str) -> Any:
        """Return the middle of an element that lies still and that nothing covers, as a person waits for it."""
        return self.evaluate(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); if (!e) return null;"
            "e.scrollIntoView({block: 'center', behavior: 'instant'}); const b = e.getBoundingClientRect();"
            "const at = [b.x + b.width / 2, b.y + b.height / 2], before = e.seenAt; e.seenAt = String(at);"
            "const top = document.elementFromPoint(...at);"
            "return b.width && e.seenAt === before && top && (e.contains(top) || top.contains(e)) ? at : null; })()"
        )

    def press(self, key: str, text: str = "") -> None:
        """Press a key and let it go."""
        codes = {"Enter": 13, " ": 32, "ArrowLeft": 37, "ArrowRight": 39, "Tab": 9, ".": 190}
        common = {"key": key, "windowsVirtualKeyCode": codes.get(key, 0)}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, selector: str, text: str) -> None:
        """Put a text into a field in the place of what is there, and leave it with Enter."""
        self.click(selector)
        self.evaluate(f"document.querySelector({json.dumps(selector)}).select()")
        self.call("Input.insertText", text=text)
        self.press("Enter", "\r")

    def screenshot(self, path: Path) -> None:
        """Write what can be seen as PNG."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def close(self) -> None:
        """Close the tab."""
        self.call("Page.close")
        self._held.close()


class Browser:
    """A browser that runs, and opens tabs."""

    def __init__(self, port: int) -> None:
        self._control = f"http://127.0.0.1:{port}/json"

    def tab(self) -> Tab:
        """Open a tab."""
        request = urllib.request.Request(f"{self._control}/new?about:blank", method="PUT")
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return Tab(json.load(answer)["webSocketDebuggerUrl"])


@contextmanager
def running_browser() -> Iterator[Browser]:
    """Run Chromium without a window, with nothing kept from before and nothing left behind."""
    program = chromium()
    assert program is not None
    with TemporaryDirectory(ignore_cleanup_errors=True) as home:
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
        options += ["--remote-debugging-port=0", f"--user-data-dir={home}", "--hide-scrollbars", "about:blank"]
        process = subprocess.Popen([program, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            noted = Path(home) / "DevToolsActivePort"
            lines = wait_for(lambda: noted.exists() and noted.read_text().splitlines(), "a browser")
            yield Browser(int(lines[0]))
        finally:
            process.terminate()
            process.wait(PATIENCE)


class Served:
    """A page that is served, and what the server had to complain about."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self.process, self._log = process, log
        line = wait_for(self._said, "a page that is served")
        self.address = line.partition("the page is at ")[2].partition(";")[0]

    def _said(self) -> str:
        lines = self._log.read_text().splitlines()
        if self.process.poll() is not None:
            raise AssertionError("\n".join(lines))
        return lines[0] if lines else ""

    def complaints(self) -> str:
        """Return all that was said after the first line."""
        return "\n".join(self._log.read_text().splitlines()[1:])


@contextmanager
def running_page(before: str = "", arguments: Sequence[str] = (), folder: Path | None = None) -> Iterator[Served]:
    """Run ``everlearn play`` as a user does, on a free port.

    ``before`` is code that runs first, and ``folder`` holds modules of the user's own.
    """
    command = [sys.executable, "-c", f"{before}\n{START}", "play", "--port", "0", "--no-open", *arguments]
    paths = [str(ROOT / "src"), *([str(folder)] if folder else [])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}
    with TemporaryDirectory() as here:
        log = Path(here) / "log"
        with log.open("w") as written:
            process = subprocess.Popen(command, env=environment, stdout=written, stderr=written, cwd=here)
        try:
            yield Served(process, log)
        finally:
            process.terminate()
            process.wait(PATIENCE)
            assert [path.name for path in Path(here).iterdir()] == ["log"], "it left something behind"
