"""A headless Chromium, driven over a pipe in its own protocol: no driver, no port, no further package."""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--remote-debugging-pipe",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars",
    "--disable-background-networking",
)  # fmt: skip
KEYS = {"Tab": 9, "Enter": 13, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowRight": 39}
PATIENCE = 60.0


def _out_of_the_way(file):
    moved = fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(file)
    return moved


class Browser:
    """One page of one browser, with its ``complaints`` and the addresses that it has ``asked`` for."""

    def __init__(self):
        self.folder = tempfile.mkdtemp()
        # Chromium reads from 3 and writes to 4, so that none of ours may have these numbers yet.
        theirs, self.out, self.into, ours = map(_out_of_the_way, (*os.pipe(), *os.pipe()))

        def wire():
            os.dup2(theirs, 3)
            os.dup2(ours, 4)

        self.process = subprocess.Popen(
            [BROWSER, *FLAGS, f"--user-data-dir={self.folder}"],
            preexec_fn=wire, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(theirs)
        os.close(ours)
        self.number, self.rest, self.complaints, self.asked, self.seen = 0, b"", [], [], []
        self.session = None
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.out)
        os.close(self.into)
        shutil.rmtree(self.folder, ignore_errors=True)

    def send(self, method, **params):
        """Ask for something and wait for the answer."""
        self.number += 1
        asked = {"id": self.number, "method": method, "params": params}
        if self.session is not None:
            asked["sessionId"] = self.session
        os.write(self.out, json.dumps(asked).encode() + b"\0")
        while True:
            told = self._next()
            if told.get("id") == self.number:
                assert "error" not in told, f"{method}: {told['error']}"
                return told["result"]

    def _next(self):
        end = time.monotonic() + PATIENCE
        while b"\0" not in self.rest:
            assert select.select([self.into], [], [], max(end - time.monotonic(), 0))[0], "the browser does not answer"
            read = os.read(self.into, 1 << 20)
            assert read, "the browser has ended"
            self.rest += read
        text, _, self.rest = self.rest.partition(b"\0")
        told = json.loads(text)
        method, params = told.get("method"), told.get("params", {})
        if method == "Runtime.exceptionThrown" or (method == "Runtime.consoleAPICalled" and params["type"] == "error"):
            self.complaints.append(params)
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.complaints.append(params["entry"])
        elif method == "Network.requestWillBeSent":
            self.asked.append(params["request"]["url"])
        elif method == "Page.loadEventFired":
            self.seen.append(method)
        return told

    def window(self, width, height=900, *, dark=False, script=True):
        """Set the size of the window, what the system prefers, and whether pages may run scripts."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        feature = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[feature])
        self.send("Emulation.setScriptExecutionDisabled", value=not script)

    def open(self, address):
        """Show a page and wait until all of it is there."""
        address = address.as_uri() if isinstance(address, Path) else address
        self.seen.clear()
        self.send("Page.navigate", url=address)
        while not self.seen:
            self._next()

    def run(self, script):
        """What an expression of JavaScript is, as JSON values."""
        told = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def press(self, key, text=""):
        """Press a key, or type a letter."""
        about = {"key": key, "code": key, "windowsVirtualKeyCode": KEYS.get(key, 0)}
        text = "\r" if key == "Enter" else text
        self.send("Input.dispatchKeyEvent", type="keyDown", text=text, **about)
        self.send("Input.dispatchKeyEvent", type="keyUp", **about)

    def type(self, text):
        """Type a text into what has the focus."""
        self.send("Input.insertText", text=text)

    def point(self, selector):
        """Move the mouse onto the first element of a kind."""
        script = "const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2];"
        found = f"const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'center'}});"
        place = self.run(f"(() => {{ {found} {script} }})()")
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])

    def picture(self, path, *, width=None, height=None):
        """Write what is to be seen to a PNG."""
        clip = {} if width is None else {"clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}}
        data = self.send("Page.captureScreenshot", format="png", **clip)["data"]
        Path(path).write_bytes(base64.b64decode(data))
