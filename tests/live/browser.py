"""A headless Chromium, driven over its debugging pipe: open a file, evaluate JavaScript, take a screenshot."""
import base64
import fcntl
import json
import os
import shutil
import subprocess

from harness import Skip, check, wait_until

PROGRAMS = ("chromium-headless-shell", "chromium")


class Browser:
    def __init__(self, bench):
        self.commands = self.answers = -1
        program = next(filter(None, map(shutil.which, PROGRAMS)), None)
        if not program:
            raise Skip("no Chromium")
        to_browser, self.commands = os.pipe()
        self.answers, from_browser = os.pipe()
        argv = [program, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
                "--window-size=1280,800", "--user-data-dir=" + os.path.join(bench.folder, "browser"),
                "--host-resolver-rules=MAP * ~NOTFOUND"]
        # it reads commands on descriptor 3 and writes answers on 4; ours must not be among them
        ends = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (to_browser, from_browser)]
        shell = 'exec 3<&%d 4>&%d; exec "$@"' % tuple(ends)
        with open(os.path.join(bench.folder, "browser.log"), "wb") as log:
            self.process = subprocess.Popen(["bash", "-c", shell, "bash"] + argv, stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, pass_fds=ends)
        for fd in (to_browser, from_browser, *ends):
            os.close(fd)
        self.number, self.pending, self.events, self.session = 0, b"", [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")

    def __del__(self):
        for fd in (self.commands, self.answers):
            if fd >= 0:
                os.close(fd)

    def message(self):
        while b"\0" not in self.pending:
            part = os.read(self.answers, 1 << 16)
            check(part, "the browser ended")
            self.pending += part
        message, _, self.pending = self.pending.partition(b"\0")
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        command = {"id": self.number, "method": method, "params": params}
        if self.session:
            command["sessionId"] = self.session
        os.write(self.commands, json.dumps(command).encode() + b"\0")
        while True:
            message = self.message()
            if message.get("id") == self.number:
                check("error" not in message, "%s: %s", method, message.get("error"))
                return message["result"]
            self.events.append(message)

    def open(self, path):
        self.events.clear()
        self.call("Page.navigate", url="file://" + path)
        wait_until(lambda: self.run("document.readyState") == "complete", "the page is loaded")

    def run(self, script):
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        check("exceptionDetails" not in answer, "%s: %s", script, answer.get("exceptionDetails"))
        return answer["result"].get("value")

    def key(self, key, code=0, text=""):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code,
                      text=text if kind == "keyDown" else "")

    def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def screenshot(self, path):
        with open(path, "wb") as out:
            out.write(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def requests(self):
        """URLs that the page asked for, and errors that it had."""
        urls = [e["params"]["request"]["url"] for e in self.events
                if e.get("method") == "Network.requestWillBeSent"]
        errors = [str(e["params"]) for e in self.events
                  if e.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded")]
        return urls, errors
