# SPDX-License-Identifier: MIT
"""`make graph` sees what its page forbids."""
import contextlib
import importlib.machinery
import importlib.util
import os
import sys

once = 'nothing is probed'


def graph(ctx):
    folder = os.path.join(ctx.root, 'mk')
    sys.path.insert(0, folder)
    loader = importlib.machinery.SourceFileLoader('graph', os.path.join(folder, 'graph'))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader('graph', loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    sys.path.remove(folder)
    return module


@contextlib.contextmanager
def inside(folder):
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def written(ctx, name, text):
    path = os.path.join(ctx.tmp, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w') as f:
        f.write(text)
    return path


def test_rooms(ctx):
    g = graph(ctx)
    page = written(ctx, 'page', '| folder | what | may use |\n|---|---|---|\n| `a`, `a/b` | the `first` | `c`, `d/d.h` |\n'
                                '| `c` | the second | - |\n| `e` | free | anything |\n')
    rooms = g.rooms_of(page)
    assert rooms == {'a': ['c', 'd/d.h'], 'a/b': ['c', 'd/d.h'], 'c': []}, rooms
    assert [g.room_of(f, rooms) for f in ('a/x.c', 'a/b/x.c', 'e/x.c', 'ab/x.c')] == ['a', 'a/b', None, None]
    assert [g.may_use('a', f, rooms) for f in ('a/x.h', 'c/x.h', 'd/d.h', 'd/e.h', 'a/b/x.h')] == [True, True, True, False, True]


def test_calls_and_includes(ctx):
    g = graph(ctx)
    with inside(ctx.tmp):
        for name, text in (('a/x.c', '#include "../c/x.h"\n'), ('c/x.h', 'int told(void);\n'), ('c/x.c', '#include "../a/x.h"\n'), ('a/x.h', '')):
            written(ctx, name, text)
        rooms, files = {'a': ['c'], 'c': []}, ['a/x.c', 'a/x.h', 'c/x.c', 'c/x.h']
        assert list(g.forbidden_includes(rooms, files)) == ['c/x.c includes a/x.h: not allowed for c']
        calls = {('a/x.c', 'c/x.c'): {'told', 'untold'}}
        assert list(g.forbidden_calls(rooms, files, calls)) == ['a/x.c calls untold of c/x.c: no header that a may include declares it']


def test_circles(ctx):
    g = graph(ctx)
    files = ['r/%s.c' % n for n in 'abcde']
    pairs = [('r/%s.c' % a, 'r/%s.c' % b) for a, b in ('ab', 'bc', 'ca', 'cd', 'de', 'ed')]
    assert list(g.circle_faults(written(ctx, 'same', 'r 3\n'), files, pairs)) == []
    assert list(g.circle_faults(written(ctx, 'less', 'r 2\n'), files, pairs)) == ['r: a circle of 3 files, and it was 2: r/a.c r/b.c r/c.c']
    more, = g.circle_faults(written(ctx, 'more', 'r 4\n'), files, pairs)
    assert more.startswith('r: its largest circle has shrunk to 3 files'), more


def test_what_objects_say(ctx):
    g = graph(ctx)
    with inside(ctx.tmp):
        for name, text in (('r/a.c', 'int b(void);\nint a(void) { return b(); }\n'), ('r/b.c', 'int b(void) { return 1; }\n')):
            source = written(ctx, name, text)
            os.makedirs(os.path.join(ctx.tmp, 'out', 'r'), exist_ok=True)
            assert ctx.run(['gcc', '-c', '-o', os.path.join(ctx.tmp, 'out', name[:-1] + 'o'), source]).returncode == 0
        files = ['r/a.c', 'r/b.c']
        objects = g.arrows.objects_of(files, ['out'])
        assert dict(g.arrows.call_arrows(files, objects)) == {('r/a.c', 'r/b.c'): {'b'}}
