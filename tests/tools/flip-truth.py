"""Two threads that alternate between two call chains and hand the GIL to each other: prints its process id and the code
objects of the chains, and runs until it is killed."""
import os
import sys
import threading
import time


def leaf_a(x):
    return x + 1


def leaf_b(x):
    return x + 1


def hot_a():
    return leaf_a(1)


def hot_b():
    return leaf_b(1)


def flip():
    while True:
        hot_a()
        hot_b()


sys.setswitchinterval(0.0002)
for i in range(2):
    threading.Thread(target=flip, daemon=True).start()
print("pid", os.getpid())
for function in leaf_a, leaf_b, hot_a, hot_b, flip:
    print(function.__name__, id(function.__code__))
print("end", flush=True)
time.sleep(1000)
