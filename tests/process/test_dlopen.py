# SPDX-License-Identifier: MIT
"""Objects that are loaded while the session runs: probes are live before their constructors."""
import os

from support import ALL, PAIR, attach, hits, runner, start, tap


def plugin(ctx):
    return ctx.target('plugin', cflags=('-O2', '-g', '-shared', '-fPIC'))


def test_attached(ctx):
    lib = plugin(ctx)
    p = start(ctx, ctx.target('late'), lib, 100, stdin=-1)
    module = tap.counter(ctx.tmp, lib, ['plugin'], library=lib)
    s = attach(ctx, module, p.pid)
    p.stdin.write('go\n')
    p.stdin.close()
    assert p.wait(timeout=20) == 7
    out, err = s.communicate(timeout=20)
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


test_attached.variants = ALL
test_launched.variants = PAIR
