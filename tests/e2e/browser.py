"""A real browser without a screen, driven over its own protocol (Chrome DevTools)."""

import base64
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

import websocket

PROGRAMS = ("chromium-headless-shell", "chromium")
PATIENCE = 60  # seconds; more than anything takes on a busy machine

# What a person who sees little or uses no mouse would stumble over, as far as a program can tell; a list of texts.
ACCESSIBILITY = """(() => {
  const faults = [];
  const say = (what, e) => faults.push(`${what}: ${e.outerHTML.slice(0, 100)}`);
  const isSeen = (e) => e.getClientRects().length > 0 && getComputedStyle(e).visibility !== 'hidden';
  const nameOf = (e) => (e.getAttribute('aria-label') || e.innerText || e.title || (e.labels && e.labels.length && e.labels[0].innerText) || '').trim();
  if (!document.documentElement.lang) faults.push('the page has no language');
  if (!document.title) faults.push('the page has no title');
  if (document.querySelectorAll('h1').length !== 1) faults.push('there is not one h1');
  if (document.querySelectorAll('main').length !== 1) faults.push('there is not one main');
  let level = 0;
  for (const e of document.querySelectorAll('h1,h2,h3,h4')) {
    if (Number(e.tagName[1]) > level + 1) say('a level of headings is left out', e);
    level = Number(e.tagName[1]);
  }
  const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
  for (const id of ids) if (ids.filter((other) => other === id).length > 1) faults.push(`the id ${id} comes twice`);
  for (const e of document.querySelectorAll('a[href],button,input,select,textarea')) if (isSeen(e) && !nameOf(e)) say('no name', e);
  for (const e of document.querySelectorAll('img:not([alt])')) say('no text', e);
  for (const e of document.querySelectorAll('table')) {
    if (!e.caption) say('no caption', e);
    for (const cell of e.querySelectorAll('th')) if (!cell.scope) say('no scope', cell);
  }
  for (const e of document.querySelectorAll('[tabindex]')) if (e.tabIndex > 0) say('an order of its own', e);
  const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = (rgb) => rgb.slice(0, 3).map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const back = (e) => {
    for (; e; e = e.parentElement) {
      const rgb = parse(getComputedStyle(e).backgroundColor);
      if (rgb.length === 3 || rgb[3] === 1) return rgb;
    }
    return [255, 255, 255];
  };
  for (const e of document.body.querySelectorAll('*')) {
    const hasText = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!hasText || !isSeen(e) || e.closest('.skip')) continue;
    const [a, b] = [light(parse(getComputedStyle(e).color)), light(back(e))];
    if ((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5) say('too little contrast', e);
  }
  if (document.documentElement.scrollWidth > innerWidth) faults.push(`wider than the screen: ${document.documentElement.scrollWidth}`);
  return faults;
})()"""


def program():
    """The browser's program; None: there is none on this machine."""
    for name in PROGRAMS:
        found = subprocess.run(["which", name], capture_output=True, text=True).stdout.strip()
        if found:
            return found
    return None


class Browser:
    """One process; its pages share nothing with those of another one."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True)
        self.errors = open(f"{self.folder.name}/errors", "w+")
        self.process = subprocess.Popen([program(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                                         "--remote-debugging-port=0", "--remote-allow-origins=*", "--no-first-run",
                                         f"--user-data-dir={self.folder.name}/profile"],
                                        stdout=subprocess.DEVNULL, stderr=self.errors, start_new_session=True)
        self.line = websocket.create_connection(self._address(), timeout=PATIENCE)
        self.number = 0
        self.events = []
        self.pages = []

    def _address(self):
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            with open(self.errors.name) as text:
                found = re.search(r"DevTools listening on (ws://\S+)", text.read())
            if found:
                return found[1]
            assert self.process.poll() is None, "the browser has ended"
            time.sleep(0.05)
        raise AssertionError("the browser does not start")

    def call(self, method, session=None, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        self.line.send(json.dumps(message))
        while True:
            reply = json.loads(self.line.recv())
            if reply.get("id") == self.number:
                assert "error" not in reply, (method, reply["error"])
                return reply["result"]
            self.events.append(reply)

    def page(self, width=1280, height=900, dark=False):
        self.pages.append(Page(self, width, height, dark))
        return self.pages[-1]

    def close_pages(self):
        while self.pages:
            self.pages.pop().close()

    def close(self):
        self.line.close()
        # What was started may be a script that has started the browser, which has helpers.
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.errors.close()
        self.folder.cleanup()


class Page:
    def __init__(self, browser, width, height, dark):
        self.browser = browser
        self.target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def call(self, method, **parameters):
        return self.browser.call(method, session=self.session, **parameters)

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)

    def go(self, address):
        self.call("Page.navigate", url=address)

    def js(self, expression):
        """The value of the expression in the page; what it throws fails the test."""
        done = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def wait(self, expression, what=None):
        """Until the expression is true in the page; its value."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            value = self.js(f"(() => {{ try {{ return {expression}; }} catch {{ return null; }} }})()")
            if value:
                return value
            time.sleep(0.05)
        raise AssertionError(f"never: {what or expression}; the page says: {self.text()}")

    def text(self):
        return self.js("document.querySelector('main').innerText")

    def wait_text(self, *words):
        for word in words:
            self.wait(f"document.querySelector('main').innerText.includes({json.dumps(word)})")

    def click(self, selector):
        self.wait(f"document.querySelector({json.dumps(selector)}) !== null")
        self.js(f"document.querySelector({json.dumps(selector)}).click()")

    def fill(self, selector, text):
        self.wait(f"document.querySelector({json.dumps(selector)}) !== null")
        self.js(f"document.querySelector({json.dumps(selector)}).focus()")
        self.js(f"document.querySelector({json.dumps(selector)}).select()")
        self.call("Input.insertText", text=text)

    def key(self, name, code=0):
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code)
        if name == "Enter":
            self.call("Input.dispatchKeyEvent", type="char", text="\r", key=name)

    def drawing(self, path):
        """The picture as lines of text (SVG)."""
        script = pathlib.Path(__file__).with_name("page_as_svg.js").read_text()
        pathlib.Path(path).write_text(self.js(script))

    def picture(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as out:
            out.write(base64.b64decode(data))

    def faults(self):
        """What the browser complained of: exceptions, refused contents, messages of errors; and what cannot be used by all."""
        self.js("1")
        said = [event["params"] for event in self.browser.events if event.get("sessionId") == self.session and
                (event["method"] == "Runtime.exceptionThrown" or
                 (event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] == "error" and
                  event["params"]["entry"]["source"] != "network"))]
        return said + self.js(ACCESSIBILITY)

    def foreign_requests(self, own):
        return [event["params"]["request"]["url"] for event in self.browser.events if event.get("sessionId") == self.session and
                event["method"] == "Network.requestWillBeSent" and not event["params"]["request"]["url"].startswith(own)]
