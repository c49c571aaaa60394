"""What an interpreter says about the lines of its own code, for the test of user/python/linetable.c.

Run it with the interpreter in question, from standard input if need be: `python3.13 -I - < line-truth.py`.
  - [golden]    code of a sample below: what tests/golden/python/lines-*.txt hold
  - stdlib N    every N-th file of the standard library
Prints one line for each code object: format, first line, bytes of code, the table (hex), and runs
OFFSET:LINE (0: no line), the last two separated by commas and `-` when empty. Two sources must agree:
the line tools of the language (findlinestarts, co_lines, co_positions) and PyCode_Addr2Line.
"""
import dis
import os
import sys
import types

SAMPLE = '''
import sys

def plain(a, b):
    c = a + b
    return c

def calls(f):
    return f(
        1,
        f(2),
        *[x
          for x in range(3)
          if x],
        key=(lambda y:
             y + 1),
    )

@calls
@calls
def decorated(
    a=1,
    b=2,
):
    """doc"""
    try:
        with open(a) as f, \\
             open(b) as g:
            for line in f:
                if line:
                    continue
                elif g:
                    break
            else:
                raise ValueError(
                    a,
                    b)
    except (OSError,
            ValueError) as e:
        while e:
            e = e.__cause__
    finally:
        del a
    assert b, (
        "b")

class C:
    x: int = 3

    def method(self):
        yield from (
            i for i in
            range(9))

    async def co(self):
        async with self as s:
            async for i in s:
                await i
''' + '\n' * 300 + '''
def far():
    return (sys,
''' + '\n' * 200 + '''
        sys.path,
''' + ' ' * 200 + '''sys.argv)

''' + 'def wide(a): return ' + ' + '.join(['a'] * 90) + '\n' + '''
def many(a):
''' + ''.join('    a = a[%d]\n' % i + ('\n' * 40 if i % 7 == 0 else '') for i in range(40))

try:
    import ctypes
    addr2line = ctypes.pythonapi.PyCode_Addr2Line
    addr2line.argtypes = [ctypes.py_object, ctypes.c_int]
    addr2line.restype = ctypes.c_int
except (ImportError, OSError, AttributeError):
    addr2line = None


def lines_of(code):
    """The line of each unit of two bytes, None where it has none."""
    size = len(code.co_code)
    if hasattr(code, 'co_positions'):
        return [p[0] for p in code.co_positions()]
    lines = [None] * (size // 2)
    if hasattr(code, 'co_lines'):
        for start, end, line in code.co_lines():
            lines[start // 2:end // 2] = [line] * ((end - start) // 2)
        return lines
    starts = dict(dis.findlinestarts(code))
    line = code.co_firstlineno
    for i in range(len(lines)):
        line = starts.get(2 * i, line)
        lines[i] = line
    return lines


def show(code):
    table = code.co_linetable if hasattr(code, 'co_linetable') else code.co_lnotab
    version = sys.version_info[:2]
    kind = 'lnotab' if version < (3, 10) else 'linetable310' if version < (3, 11) else 'locations'
    runs, last = [], ()
    for i, line in enumerate(lines_of(code)):
        if addr2line:
            said = addr2line(code, 2 * i)
            assert said == (-1 if line is None else line), (code, i, line, said)
        if line != last:
            runs.append('%d:%d' % (2 * i, line or 0))
            last = line
    print(kind, code.co_firstlineno, len(code.co_code), table.hex() or '-', ','.join(runs) or '-')


def show_all(code):
    show(code)
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            show_all(const)


def stdlib(step):
    files = []
    for folder, folders, names in os.walk(os.path.dirname(os.__file__)):
        folders[:] = sorted(f for f in folders if f not in ('site-packages', 'dist-packages'))
        files += [os.path.join(folder, name) for name in sorted(names) if name.endswith('.py')]
    for path in files[::step]:
        try:
            with open(path, 'rb') as f:
                show_all(compile(f.read(), path, 'exec', dont_inherit=True))
        except (SyntaxError, ValueError, UnicodeDecodeError, RecursionError):
            pass  # files that tests keep to be wrong


if len(sys.argv) > 2 and sys.argv[1] == 'stdlib':
    import warnings
    warnings.simplefilter('ignore')
    stdlib(int(sys.argv[2]))
else:
    show_all(compile(SAMPLE, 'sample.py', 'exec'))
