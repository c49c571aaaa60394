"""An interpreter that says where its own objects lie, and then waits to be looked at and killed.

For the tests of user/python/: run it as `python3.X -I - < object-truth.py`. Prints lines of a word and its values
(addresses decimal, strings as hex of UTF-8), then `end`:
  runtime ADDRESS             _PyRuntime
  thread PTHREAD NATIVE       of the only thread
  codetype ADDRESS
  code ADDRESS FIRSTLINE NAMEHASH NAME QUALNAME FILE    of a live one; QUALNAME is - before 3.11
  freed ADDRESS               where a code object was; there is none now
  waiting ADDRESS LINE        the code of the running function, and the line it waits in
"""
import ctypes
import os
import sys
import threading
import time
import types


class Str(str):
    """A str that is not compact: its characters lie elsewhere."""


# nothing here may look like an escape to a terminal: printed as hex
NAMES = ['plain', 'caf\xe9', 'gr\xf6\xdfe' * 30, '\u0394x', '\u65e5\u672c\u8a9e' * 7, 'snake\U0001f40d', '\udcff',
         '\ud83d\udc0d', 'a;b\nc<d>&"\\', 'n' * 5000, Str('sub'), Str('s\xfcb'), Str('\u0394sub'),
         Str('sub\U0001f40d')]


def text(s):
    return ''.join('\ufffd' if '\ud800' <= c <= '\udfff' else c for c in s).encode().hex()


def template(n):
    """Code of another size for every n."""
    space = {}
    exec('def f(a):\n' + '    a = a(a)\n' * (n + 1), space)
    return space['f'].__code__


def named(name, n):
    changes = {'co_name': name, 'co_filename': '/tmp/' + name, 'co_firstlineno': 1000 + n}
    if sys.version_info >= (3, 11):
        changes['co_qualname'] = 'C.' + name
    return template(n).replace(**changes)


def show(code):
    qualname = text(code.co_qualname) if hasattr(code, 'co_qualname') else '-'
    print('code', id(code), code.co_firstlineno, hash(code.co_name) & (1 << 64) - 1, text(code.co_name), qualname,
          text(code.co_filename))


def wait():
    print('waiting', id(wait.__code__), sys._getframe().f_lineno + 3)
    print('end')
    sys.stdout.flush()
    time.sleep(
        60)


def main():
    runtime = ctypes.c_char.in_dll(ctypes.pythonapi, '_PyRuntime')
    print('runtime', ctypes.addressof(runtime))
    print('thread', threading.get_ident(), threading.get_native_id())
    print('codetype', id(types.CodeType))
    live = [named(name, n) for n, name in enumerate(NAMES)]
    live += [f.__code__ for f in vars(os).values() if isinstance(f, types.FunctionType)]
    for code in live:
        show(code)
    freed = [named('gone', n % 90) for n in range(300)]
    where = [id(code) for code in freed]
    del freed
    for address in where:
        print('freed', address)
    wait()


main()
