"""scry inside a pid namespace with a /proc of its own, as in a container: it sees what is in there, and only that."""
import json
import os
import subprocess

from harness import SCRY, check, pick, test

INSIDE = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
BUSY = """
import time
end = time.process_time() + 1.5
def burn():
    while time.process_time() < end:
        pass
burn()
"""


@test()
def own_proc(bench):
    py = pick("debian-3.11", "pyenv-3.11")
    bench.start(py, "flip.py", "plain")
    for depth in (1, 2):
        data, summary = (os.path.join(bench.folder, name + str(depth)) for name in ("data", "summary"))
        subprocess.run([*INSIDE * depth, SCRY, "record", "-q", "-F", "500", "-d", "30", "-o", data, "--summary", summary,
                        "--", *py.command, "-c", BUSY], check=True, stdin=subprocess.DEVNULL, timeout=40)
        with open(summary) as f:
            found = json.load(f)
        check(found["processes"] == 1, "%d deep: %s", depth, found)
        folded = bench.scry("export", "-f", "folded", "-i", data).stdout.decode().splitlines()
        burn = sum(int(line.rpartition(" ")[2]) for line in folded if ";burn (" in line)
        check(burn > 0.8 * found["samples"] and burn > 50, "%d deep: %d samples in burn: %s", depth, burn, found)
