"""The flame graph, opened in a real browser from file://: zoomed, searched, filtered, and looked at."""
import json
import os
import shutil
import subprocess

from browser import Browser
from capture import samples
from harness import TOP, check, parse_folded, test, wait_until

FAKE = os.path.join(TOP, "build/fake-recording")
ENTER, ESCAPE, LEFT, UP, RIGHT, DOWN, BACKSPACE = 13, 27, 37, 38, 39, 40, 8


class Page:
    def __init__(self, bench, shape, *args):
        self.data = os.path.join(bench.folder, "scry.data")
        self.path = os.path.join(bench.folder, "flamegraph.html")
        subprocess.run([FAKE, shape[0], self.data] + [str(n) for n in shape[1:]], check=True,
                       stdout=subprocess.DEVNULL)
        done = bench.scry("export", "-f", "flamegraph", "-i", self.data, "-o", self.path, *args)
        check(done.returncode == 0, "export: %s", done.stderr)
        self.browser = Browser(bench)
        self.browser.open(self.path)
        self.harmless()

    def harmless(self):
        """It asked for nothing but itself and had no error."""
        urls, errors = self.browser.requests()
        check(urls == ["file://" + self.path], "it asks for %s", urls)
        check(not errors, "errors: %s", errors)

    def boxes(self):
        return json.loads(self.browser.run("JSON.stringify(flamegraph.boxes())"))

    def box(self, name, depth=None):
        found = [b for b in self.boxes() if b["name"] == name and depth in (None, b["depth"])]
        check(found, "no box %s in %s", name, [b["name"] for b in self.boxes()][:50])
        return found[0]

    def zoomed(self):
        zoom = self.browser.run("flamegraph.state.zoom")
        return next(b["name"] for b in self.boxes() if b["id"] == zoom)

    def selected(self):
        selected = self.browser.run("flamegraph.state.selected")
        return next(b["name"] for b in self.boxes() if b["id"] == selected)

    def click(self, name):
        box = self.box(name)
        self.browser.click(box["x"] + box["w"] / 2, box["y"] + 8)
        wait_until(lambda: self.zoomed() == name, "a click zooms to " + name)

    def text(self, element):
        return self.browser.run("document.getElementById(%r).textContent" % element)

    def press(self, button):
        self.browser.run("document.getElementById(%r).click()" % button)

    def choose(self, select, text):
        """As a user would: by the text of the option."""
        done = self.browser.run(
            "(s => { const o = [...s.options].find(o => o.text.startsWith(%s)); s.value = o.value;"
            " return s.dispatchEvent(new Event('change')); })(document.getElementById(%r))"
            % (json.dumps(text), select))
        check(done, "no %s in %s", text, select)

    def type(self, text):
        self.browser.key("/", 191, "/")
        wait_until(lambda: self.browser.run("document.activeElement.id") == "search", "/ goes to the search")
        self.browser.call("Input.insertText", text=text)


@test(when="full", limit=180)
def opens_and_counts(bench):
    page = Page(bench, ("small",))
    boxes = page.boxes()
    check(boxes[0]["name"] == "all" and boxes[0]["total"] == 116, "all: %s", boxes[0])
    shown = sorted((b["name"], b["total"]) for b in boxes if b["depth"] == 1)
    check(("<module>", 90) in shown and ("[missed]", 1) in shown and ("fib", 10) in shown, "roots: %s", shown)
    check(page.box("Work.step")["self"] == 85, "both lines of a function are one box")
    for text in ("116 samples of 2 processes", "cpu-clock at 100 Hz", "2.00 s", "box"):
        check(text in page.text("facts"), "no %s in %s", text, page.text("facts"))
    title = page.browser.run("document.title")
    check(title == "scry record -F 100 - flame graph", "title: %s", title)
    # names can do nothing to the page
    check(page.box("evil;\\x0a\\x1b]0;x\\x07</script>\\u2028\\x9b\\")["total"] == 10, "odd names are shown")
    check(page.browser.run("document.querySelectorAll('script').length") == 2, "names add no elements")


@test(when="full", limit=180)
def every_stack_is_there(bench):
    shape = ("random", 4, 3, 7, 60, 80, 25, 5000)
    page = Page(bench, shape, "--group", "thread", "--lines")
    folded = parse_folded(bench.scry("export", "-f", "folded", "-i", page.data, "-o", "-", "--group", "thread",
                                     "--lines").stdout.decode())
    want = {}
    for stack, count in folded:
        names = (stack[0].replace("[", " ["), stack[1].replace("[", " [")) + tuple(
            frame.rpartition(" (")[0] for frame in stack[2:])
        want[names] = want.get(names, 0) + count
    have = {tuple(s): n for s, n in json.loads(page.browser.run("JSON.stringify(flamegraph.stacks())"))}
    check(have == want, "stacks of the page are not those of the folded export: %s",
          sorted(set(have.items()) ^ set(want.items()))[:4])


@test(when="full", limit=180)
def zoom_by_mouse(bench):
    page = Page(bench, ("small",))
    page.click("main")
    check(abs(page.box("main")["w"] - page.box("all")["w"]) < 0.01, "what is zoomed fills the row")
    check(not [b for b in page.boxes() if b["name"] == "fib"], "what is beside is gone")
    check("90 samples, 0.90 s: 77.59 % of all, 100.00 % of zoomed" in page.text("status"), page.text("status"))
    page.click("Work.step")
    check("94.44 % of zoomed" not in page.text("status"), page.text("status"))
    page.click("all")
    check(page.box("fib")["total"] == 10, "a click on what is above zooms out")
    box = page.box("main")
    page.browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=box["x"] + 20, y=box["y"] + 8)
    wait_until(lambda: "/srv/app.py:10" in page.text("tip"), "a tooltip")
    check("90 samples, 0.90 s: 77.59 % of all" in page.text("tip") and "self 5: 4.31 % of all" in page.text("tip"),
          page.text("tip"))


@test(when="full", limit=180)
def time_is_what_samples_weigh(bench):
    """In wall mode one may weigh more than another."""
    page = Page(bench, ("wall",))
    some = samples(page.data)
    for name in "main", "Work.step", "all":
        page.click(name)
        mine = [s for s in some if name == "all" or any(frame.startswith(name + " ") for frame in s.stack)]
        check(len(mine) > 5 and len({s.weight for s in mine}) > 1, "%s: too few", name)
        want = "%d samples, %.2f s:" % (sum(s.ticks for s in mine), sum(s.weight for s in mine) / 1e9)
        check(want in page.text("status"), "%s, not %s", page.text("status"), want)


@test(when="full", limit=180)
def zoom_by_keyboard(bench):
    page = Page(bench, ("small",))
    page.browser.run("document.getElementById('canvas').focus()")
    for code, key, want in ((DOWN, "ArrowDown", "<module>"), (DOWN, "ArrowDown", "main"), (DOWN, "ArrowDown", "Work.step"),
                            (UP, "ArrowUp", "main"), (UP, "ArrowUp", "<module>"), (RIGHT, "ArrowRight", "[gone]"),
                            (LEFT, "ArrowLeft", "<module>"), (DOWN, "ArrowDown", "main")):
        page.browser.key(key, code)
        check(page.selected() == want, "%s goes to %s, not %s", key, want, page.selected())
        check(want in page.text("status"), "it is told: %s", page.text("status"))
    page.browser.key("Enter", ENTER, "\r")
    check(page.zoomed() == "main", "Enter zooms: %s", page.zoomed())
    page.browser.key("Backspace", BACKSPACE)
    check(page.zoomed() == "<module>", "Backspace goes one up: %s", page.zoomed())
    page.browser.key("Escape", ESCAPE)
    check(page.zoomed() == "all", "Escape zooms out: %s", page.zoomed())
    # with the root at the bottom, up is inward
    page.press("flip")
    page.browser.run("document.getElementById('canvas').focus()")
    page.browser.key("ArrowUp", UP)
    check(page.selected() == "<module>", "inward is up: %s", page.selected())
    check(page.box("<module>")["y"] < page.box("all")["y"], "the root is below")


@test(when="full", limit=180)
def search(bench):
    page = Page(bench, ("small",))
    page.type("work.STEP")
    check(page.text("matched") == "matched 73.28 %", page.text("matched"))
    page.browser.key("Escape", ESCAPE)
    check(page.text("matched") == "" and page.browser.run("document.activeElement.id") == "canvas", "Escape clears it")
    page.type("fib")  # three levels of it count once
    check(page.text("matched") == "matched 10.34 %", page.text("matched"))
    page.browser.key("Escape", ESCAPE)
    page.type("/^(fib|main) /")
    check(page.text("matched") == "matched 87.93 %", page.text("matched"))
    page.browser.key("Escape", ESCAPE)
    page.type("/(/")  # no regular expression: matches nothing, breaks nothing
    page.browser.key("Escape", ESCAPE)
    page.click("main")
    page.type("/srv/lib/")
    check(page.text("matched") == "matched 94.44 %", "of what is zoomed: " + page.text("matched"))
    page.press("reset")
    check(page.text("matched") == "" and page.zoomed() == "all", "reset")
    page.harmless()


@test(when="full", limit=180)
def filters_and_groups(bench):
    page = Page(bench, ("small",))
    options = page.browser.run("[...document.getElementById('process').options].map(o => o.text).join('|')")
    check(options == "all|python3 [4711]: 88.79 %|od;d\\x0a</script> [4712]: 11.21 %", options)
    page.choose("process", "python3")
    check(page.box("all")["total"] == 103, "one process")
    page.choose("thread", "Worker")
    check(page.box("all")["total"] == 13 and not [b for b in page.boxes() if b["name"] == "main"], "one thread")
    check("13 samples, 0.13 s: 11.21 % of all, 100.00 % of shown" in page.text("status"), page.text("status"))
    page.choose("thread", "all")
    page.choose("process", "all")
    page.choose("group", "by process")
    check(page.box("python3 [4711]", 1)["total"] == 103 and page.box("<module>")["depth"] == 2, "by process")
    page.choose("group", "by thread")
    check(page.box("MainThread [4711]", 2)["total"] == 90 and page.box("<module>")["depth"] == 3, "by thread")
    page.press("reset")
    check(page.box("<module>")["depth"] == 1, "reset")
    page.browser.open(page.path)  # exported with --group, it opens so
    bench.scry("export", "-f", "flamegraph", "-i", page.data, "-o", page.path, "--group", "process")
    page.browser.open(page.path)
    check(page.box("<module>")["depth"] == 2, "opens by process")


@test(when="full", limit=180)
def a_hundred_thousand_nodes(bench):
    page = Page(bench, ("random", 3, 4, 10, 2000, 4000, 60, 60000))
    nodes = page.browser.run("JSON.parse(document.getElementById('data').textContent).nodes.length / 3")
    check(nodes > 100000, "only %s nodes", nodes)
    check(page.box("all")["total"] == 60000, "all are counted")
    boxes = page.boxes()
    check(1000 < len(boxes) < nodes / 5, "what can't be seen is not drawn: %d", len(boxes))
    inner = max((b for b in boxes if 5 < b["depth"] < 12), key=lambda b: b["w"])
    page.browser.click(inner["x"] + inner["w"] / 2, inner["y"] + 8)
    wait_until(lambda: page.browser.run("flamegraph.state.zoom") == inner["id"], "a click zooms")
    page.harmless()


@test(when="full", limit=180)
def looked_at(bench):
    """Pictures for people, in build/; that there is something on them is all that is checked."""
    page = Page(bench, ("random", 3, 6, 14, 400, 300, 40, 20000))
    page.browser.screenshot(os.path.join(TOP, "build/flamegraph.png"))
    page.choose("group", "by thread")
    page.type("Class1")
    page.press("theme")
    page.press("flip")
    dark = os.path.join(TOP, "build/flamegraph-dark.png")
    page.browser.screenshot(dark)
    colours = page.browser.run(
        "(c => new Set(new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)).size)"
        "(document.getElementById('canvas'))")
    check(colours > 20, "it is painted: %d colours", colours)
    check(os.path.getsize(dark) > 10000, "a picture")
    shutil.copy(page.path, os.path.join(TOP, "build/flamegraph-example.html"))
