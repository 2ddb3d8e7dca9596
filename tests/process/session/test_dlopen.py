# SPDX-License-Identifier: MIT
"""Objects that are loaded while the session runs: probes are live before their constructors. And objects that are
unloaded: their probes are gone, and come back with them."""
import os

import scripted
from support import ALL, PAIR, attach, finish, hits, runner, start, tap


def plugin(ctx):
    return ctx.target('plugin', cflags=('-O2', '-g', '-shared', '-fPIC'))


def test_attached(ctx):
    lib = plugin(ctx)
    p = start(ctx, ctx.target('late'), lib, 100, stdin=-1)
    module = tap.counter(ctx.tmp, lib, ['plugin'], library=lib)
    s = attach(ctx, module, p.pid)
    p.stdin.write('go\n')
    p.stdin.close()
    assert p.wait(timeout=300) == 7
    out, err = s.communicate(timeout=300)
    assert s.returncode == 0 and hits(out) == 101, (out, s.seen + err)
    assert 'never armed' not in err, err


def test_launched(ctx):
    lib, path = plugin(ctx), ctx.target('late')
    module = tap.counter(ctx.tmp, lib, ['plugin'], library=lib)
    r = ctx.run([runner(ctx), module, '-c', '%s %s 50' % (path, lib)], input='go\n')
    assert r.returncode == 7 and hits(r.stdout) == 51, r
    r = ctx.run([runner(ctx), module, '-c', '%s %s 50' % (path, '/nonexistent')], input='go\n')
    assert r.returncode == 2 and 'never armed: 1 probe: %s was not loaded' % os.path.realpath(lib) in r.stderr, r


def test_musl(ctx):
    lib = ctx.target('plugin', cflags=('-O2', '-g', '-shared', '-fPIC'), cc='musl-gcc')
    module = tap.counter(ctx.tmp, lib, ['plugin'], library=lib)
    path = ctx.target('late', cc='musl-gcc')
    r = ctx.run([runner(ctx), module, '-c', '%s %s 50' % (path, lib)], input='go\n')
    assert r.returncode == 7 and hits(r.stdout) == 51, r


# --- unloaded, and loaded again ------------------------------------------------------------------

ROUNDS, CALLS = 8, 20
REOPEN = '''global entries, returns
probe process("%(path)s").library("%(lib)s").function("plugin") { entries++ }
probe process("%(path)s").library("%(lib)s").function("plugin").return { returns++ }
probe end { printf("entries %%d returns %%d\\n", entries, returns) }
'''


def other(ctx):
    """Stays loaded where `plugin` has been: that one has to go elsewhere."""
    return ctx.target('plugin', cflags=('-O2', '-g', '-shared', '-fPIC', '-DOTHER'))


def reopened(ctx, lib, seen, err, calls):
    """Every call was seen, and every time it went was told."""
    assert 'entries %d returns %d\n' % (calls, calls) in seen, (calls, seen, err)
    assert err.count('gone     %s was unloaded with 2 probes' % os.path.realpath(lib)) == ROUNDS, err


def test_reopened(ctx):
    lib, path = plugin(ctx), ctx.target('reopen')
    for more in ((), (other(ctx),)):
        r = scripted.launch(ctx, REOPEN % dict(path=ctx.target("reopen"), lib=lib), ' '.join((path, lib, str(ROUNDS), str(CALLS)) + more), input='go\n')
        assert r.returncode == 7 and 'called %d' % (ROUNDS * CALLS) in r.stdout, r
        reopened(ctx, lib, r.script, r.stderr, ROUNDS * (CALLS + 1))


def test_reopened_attached(ctx):
    """It is there when we come: its first constructor has run before."""
    lib = plugin(ctx)
    p = start(ctx, ctx.target('reopen'), lib, ROUNDS, CALLS, other(ctx), 'loaded')
    s = scripted.attach(ctx, REOPEN % dict(path=ctx.target("reopen"), lib=lib), pid=p.pid)
    p.stdin.write('go\n')
    p.stdin.close()
    assert p.wait(timeout=300) == 7
    out, err = scripted.finish(s, sig=None)
    reopened(ctx, lib, out, err, ROUNDS * (CALLS + 1) - 1)


def test_named_as_mapped(ctx):
    """The program does not need it, its process has mapped it: by file name, or by a wildcard."""
    lib, path = plugin(ctx), ctx.target('reopen')
    first = os.path.basename(lib)
    p = start(ctx, path, lib, 1, CALLS, other(ctx), 'loaded')
    for name, found in ((first, 1), (first[:-1] + '?', 1), ('no-' + first, 0)):
        r = ctx.run([ctx.bin('trapless'), '-p2', '-x', str(p.pid), '-e',
                     'probe process.library("%s").function("plugin") { }' % name])
        assert r.returncode == (0 if found else 1) and r.stdout.count('library("%s")' % lib) == found, (name, r)
    r = ctx.run([ctx.bin('trapless'), '-p2', '-e', 'probe process("%s").library("%s").function("plugin") { }' % (path, first)])
    assert r.returncode == 1 and 'LIBRARY_UNKNOWN' in r.stderr, r
    p.kill()


def test_reopened_meanwhile(ctx):
    """It goes and comes all the time: the loader rests, or waits for us, wherever text is read or written."""
    lib = plugin(ctx)
    p = start(ctx, ctx.target('reopen'), lib, 1 << 30, CALLS, stdin=-1)
    module = tap.counter(ctx.tmp, lib, ['plugin'], library=lib)
    p.stdin.write('go\n')
    p.stdin.flush()
    for _ in range(60 if ctx.long else 10):
        s = attach(ctx, module, p.pid)
        out, err = finish(s)
        assert 'NOT_TEXT' not in err, err
    assert p.poll() is None
    p.kill()


test_reopened_meanwhile.variants = PAIR
test_reopened.variants = test_reopened_attached.variants = PAIR
test_attached.variants = ALL
test_launched.variants = PAIR
