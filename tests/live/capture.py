"""Read scry.data as docs/scry.data.md describes it, apart from scry's own reader: every sample with its weight and state."""
import collections
import ctypes
import struct

from harness import OUTCOMES, check

STATES = ("unknown", "on_cpu", "runnable", "sleeping", "gil_wait", "gc", "blocked", "stopped")
MARKER = 4

Sample = collections.namedtuple("Sample", "pid tid name outcome state weight ticks time stack")
Sample.__doc__ = "stack: frames as folded shows them, root first; weight and time: ns; ticks: samples it counts as"


def inflate(data, size):
    zstd = ctypes.CDLL("libzstd.so.1")
    zstd.ZSTD_decompress.restype = ctypes.c_size_t
    zstd.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    out = ctypes.create_string_buffer(size)
    check(zstd.ZSTD_decompress(out, size, data, len(data)) == size, "a chunk does not expand to its size")
    return out.raw


class Bytes:
    def __init__(self, data):
        self.data = data
        self.at = 0

    def take(self, n):
        self.at += n
        return self.data[self.at - n:self.at]

    def u8(self):
        self.at += 1
        return self.data[self.at - 1]

    def uleb(self):
        value = shift = 0
        while True:
            byte = self.u8()
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    def sleb(self):
        value = self.uleb()
        return value >> 1 ^ -(value & 1)


class Reader:
    def __init__(self, path):
        self.strings, self.frames, self.stacks = [""], [], [()]
        self.processes, self.threads, self.samples = [], [], []
        with open(path, "rb") as file:
            data = file.read()
        check(data[:8] == b"\x89scry\r\n\x1a", "not a recording: %s", path)
        at = 16
        while at < len(data):
            kind = data[at:at + 4].decode()
            stored, raw = struct.unpack_from("<II", data, at + 8)
            body = data[at + 24:at + 24 + stored]
            take = getattr(self, "take_" + kind.lower(), None)
            if take:
                take(Bytes(inflate(body, raw) if raw else body))
            at += 24 + stored

    def take_strs(self, b):
        b.uleb()
        for _ in range(b.uleb()):
            self.strings.append(b.take(b.uleb()).decode(errors="replace"))

    def take_fram(self, b):
        b.uleb()
        for _ in range(b.uleb()):
            kind, func, file, _line, _first = (b.uleb() for _ in range(5))
            name = self.strings[func]
            self.frames.append(name if kind == MARKER else "%s (%s)" % (name, self.strings[file]))

    def take_stak(self, b):
        b.uleb()
        for _ in range(b.uleb()):
            callers = self.stacks[len(self.stacks) - b.uleb()]
            self.stacks.append(callers + (self.frames[b.uleb()],))

    def take_proc(self, b):
        b.uleb()
        for _ in range(b.uleb()):
            self.processes.append([b.uleb() for _ in range(11)])

    def take_thrd(self, b):
        b.uleb()
        for _ in range(b.uleb()):
            self.threads.append([b.uleb() for _ in range(3)])

    def take_smpl(self, b):
        count, time = b.uleb(), struct.unpack("<Q", b.take(8))[0]
        thread = weight = state = 0
        for _ in range(count):
            head = b.u8()
            more = b.uleb() if head & 0x08 else 0
            thread = b.uleb() if head & 0x10 else thread
            if head & 0x20:
                b.uleb()
            weight = b.uleb() if head & 0x40 else weight
            state = b.uleb() if head & 0x80 else state
            time += b.sleb()
            process, tid, name = self.threads[thread]
            self.samples.append(Sample(self.processes[process][0], tid, self.strings[name],
                                       OUTCOMES[head & 7], STATES[state], weight, 1 + more, time,
                                       self.stacks[b.uleb()]))


def samples(path):
    return Reader(path).samples


def weights(some, key):
    """{key(sample): sum of weights in seconds}"""
    sums = collections.Counter()
    for sample in some:
        sums[key(sample)] += sample.weight / 1e9
    return sums
