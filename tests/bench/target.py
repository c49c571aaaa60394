"""A busy program for measurements: recursion to a depth, then a loop that counts what it gets done.

target.py DEPTH COUNTERS: the file COUNTERS gets two unsigned 64-bit numbers, rounds done and own CPU time in
nanoseconds, rewritten about every millisecond.
"""
import mmap
import struct
import sys
import time


def leaf(n):
    x = 0
    for i in range(n):
        x += i
    return x


def work(counters):
    done = 0
    while True:
        for _ in range(200):
            leaf(20)
        done += 200
        counters[:16] = struct.pack("=QQ", done, time.process_time_ns())


def down(depth, counters):
    if depth <= 0:
        work(counters)
    else:
        down(depth - 1, counters)


if __name__ == "__main__":
    sys.setrecursionlimit(10000)
    with open(sys.argv[2], "r+b") as f:
        memory = mmap.mmap(f.fileno(), 16)
    print("ready", flush=True)
    down(int(sys.argv[1]) - 3, memory)
