# SPDX-License-Identifier: MIT
"""A library that is mapped more than once: in namespaces of its own (dlmopen), for auditors of the loader (LD_AUDIT), as
one file under several names. All copies are probed, each with its own data, and gone with it."""
import os
import shutil
import subprocess

import scripted
import support
from support import PAIR

LIBRARY = ('-O2', '-g', '-shared', '-fPIC')
SCRIPT = '''global n, r, held, marks, named
probe process.library("%(lib)s").function("plugged") { n[$a]++  held[$a] = $state  named[usymname(uaddr())]++ }
probe process.library("%(lib)s").function("plugged").return { r[@entry($a)] = $return }
probe process.library("%(lib)s").mark("plugged") { marks[$arg1]++ }
probe end {
    foreach (k+ in n) printf("%%d: %%d %%d %%d %%d\\n", k, n[k], r[k], held[k], marks[k])
    foreach (s in named) println(s)
}'''


def library(ctx):
    return ctx.target('plugged', LIBRARY)


class Copies:
    def __init__(self, ctx, *first):
        path = ctx.target('copies', ldflags=('-ldl',))
        self.p = support.start(ctx, path, stdin=subprocess.PIPE)
        self.n, self.sums = 0, {}
        for line in first:
            self.map(line)

    def say(self, line):
        self.p.stdin.write(line + '\n')
        self.p.stdin.flush()
        return self.p.stdout.readline().strip()

    def map(self, line):
        self.n += 1
        assert self.say(line) == '%d mapped' % self.n
        self.sums[self.n] = 0

    def close(self, i):
        assert self.say('x %d' % i) == '0'
        self.sums[i] = None

    def call(self, how='c'):
        """Each copy has summed up its own calls."""
        sums = {i: None if s is None else s + 10 * i for i, s in self.sums.items()}
        assert self.say(how) == ' '.join(str(s or 0) for s in sums.values())
        if how == 'c':
            self.sums = sums

    def end(self):
        self.p.stdin.close()
        assert self.p.wait(timeout=300) == 7


def attach(ctx, copies, lib):
    return scripted.attach(ctx, SCRIPT % dict(lib=lib), pid=copies.p.pid)


def row(i, calls, before=0):
    """Of the copy i, which has been called that often in all."""
    seen = calls - before
    return '%d: %d %d %d %d\n' % (i, seen, i * calls, i * (calls - 1), seen)


def seen(out, rows, more=''):
    assert out == more + ''.join(rows) + 'plugged\n', out


def test_attached(ctx):
    lib = library(ctx)
    c = Copies(ctx, 'o ' + lib, 'n ' + lib, 'n ' + lib)
    before = support.Before(c.p.pid, os.path.basename(lib))
    c.call()
    s = attach(ctx, c, lib)
    for _ in range(20):
        c.call()
    c.call('f')
    seen(scripted.finish(s)[0], [row(i, 220, 10) for i in (1, 2, 3)])
    before.check()
    c.call()
    c.end()


def test_later(ctx):
    """They come while the session runs, go, and come again; the constructor of each is seen."""
    lib = library(ctx)
    c = Copies(ctx)
    s = attach(ctx, c, lib)
    c.map('n ' + lib)
    c.call()
    c.map('o ' + lib)
    c.call()
    c.map('n ' + lib)
    c.call()
    c.close(2)
    c.call()
    c.map('o ' + lib)
    c.call()
    out, err = scripted.finish(s)
    seen(out, [row(1, 50), row(2, 20), row(3, 30), row(4, 10)], '0: 4 0 0 4\n')
    assert 'was unloaded with 3 probes' in err, err
    c.call()
    c.end()


def test_launched(ctx):
    lib = library(ctx)
    lines = ''.join('n %s\n' % lib for _ in range(3)) + 'c\n' * 5
    r = scripted.launch(ctx, SCRIPT % dict(lib=lib), ctx.target('copies', ldflags=('-ldl',)), input=lines)
    seen(r.script, [row(i, 50) for i in (1, 2, 3)], '0: 3 0 0 3\n')


def named(ctx, lib, i):
    return shutil.copy(lib, os.path.join(ctx.tmp, 'lib%d.so' % i))


def test_one_file_under_two_names(ctx):
    lib = library(ctx)
    c = Copies(ctx, 'o ' + lib, 'o ' + named(ctx, lib, 2))
    s = attach(ctx, c, lib)
    c.call()
    seen(scripted.finish(s)[0], [row(1, 10), row(2, 10)])
    c.end()


def test_more_than_there_is_room_for(ctx):
    """Sixteen are probed; of the others it is told."""
    lib = library(ctx)
    c = Copies(ctx, *('o ' + named(ctx, lib, i) for i in range(1, 19)))
    s = attach(ctx, c, lib)
    c.call()
    out, err = scripted.finish(s)
    assert len(out.splitlines()) == 16 + 1 and '6 probes in further copies of mapped libraries are left out' in err, (out, err)
    c.end()


def test_auditor(ctx):
    """The loader maps an auditor, and what that one needs, before the program's own libraries, and apart from them."""
    lib = library(ctx)
    auditor = ctx.target('auditor', LIBRARY, ldflags=(lib,))
    for flags, command in ((), 'env LD_AUDIT=%s %%s' % auditor), (('-Wl,--audit=' + auditor,), '%s'):
        program = ctx.target('linked', ldflags=(lib,) + flags)
        script = SCRIPT.replace('process.library', 'process("%s").library' % program)
        r = scripted.launch(ctx, script % dict(lib=lib), command % program)
        assert r.stdout == 'ready\nlisteners 1\n', r
        sums = [i * (i + 1) // 2 for i in range(101)]
        rows = ['%d: 1 %d %d 1\n' % (i, sums[i], sums[i - 1]) for i in range(1, 101)]
        seen(r.script, rows + ['1000: 1 1000 0 1\n'], '0: 2 0 0 2\n')


def test_c_library_apart(ctx):
    """A namespace has a C library of its own: its calls are seen, too; later ones where another library is probed."""
    lib = ctx.target('allocating', LIBRARY)
    script = '''global n probe process.library("libc.so.6").function("malloc") { if (int_arg(1) == 54321) n++ } probe end { println(n) }'''
    c = Copies(ctx, 'o ' + lib, 'n ' + lib)
    for more, calls in ('', 20), ('probe process.library("%s").function("plugged") {}' % lib, 30):
        s = scripted.attach(ctx, script + more, pid=c.p.pid)
        if more:
            c.map('n ' + lib)
        c.say('c')
        assert scripted.finish(s)[0] == '%d\n' % calls
    c.end()


def test_preloaded(ctx):
    """There copies are not probed; it is said."""
    lib = library(ctx)
    for lines, passed_over in ('o %s\nc\n' % lib, 0), ('o %s\nn %s\nc\n' % (lib, lib), 1), ('o %s\no %s\nc\n' % (lib, named(ctx, lib, 2)), 1):
        script = 'global n probe process.library("%s").function("plugged") { n++ } probe end { println(n) }' % lib
        r = scripted.launch(ctx, script, ctx.target('copies', ldflags=('-ldl',)), '--preload', input=lines)
        assert r.script == '11\n' and r.stderr.count('leave --preload out') == passed_over, (lines, r.script, r.stderr)


test_preloaded.jumps_only = support.NO_BREAKPOINTS
for test in test_attached, test_later, test_launched:
    test.variants = PAIR
