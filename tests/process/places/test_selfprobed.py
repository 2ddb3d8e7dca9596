# SPDX-License-Identifier: MIT
"""A program that probes itself (libtrapless) and a session: one or the other, whoever comes first."""
import os
import subprocess

from scripted import attach, environment, finish, launch, script_file, words
from support import PAIR, Before

COUNT = 'global n\nprobe process("%s").function("work") { n++ }\nprobe end { println(n) }\n'
SUM = sum(3 * i + 1 for i in range(1000))


def library(ctx, name):
    return os.path.join(ctx.root, 'build', 'lib', name)


def target(ctx, *linked):
    flags = ('-O2', '-g', '-I', os.path.join(ctx.root, 'include'))
    return ctx.target('selfprobed', cflags=flags + (('-DLINKED',) if linked else ()), ldflags=linked + ('-pthread',))


def begin(ctx, path, *args):
    p = ctx.start([path] + list(args), stdin=subprocess.PIPE)
    said = [p.stdout.readline()]
    while said[-1] not in ('ready\n', ''):
        said.append(p.stdout.readline())
    return p, said[:-1]


def end(p):
    out, _ = p.communicate('x', timeout=300)
    assert p.returncode == 7, (p.returncode, out)
    return out


def is_refused(ctx, path, name, *args):
    p, said = begin(ctx, path, *args)
    before = Before(p.pid)
    r = ctx.run(words(ctx, '-x', p.pid) + [script_file(ctx, COUNT % path)], env=environment(ctx), timeout=300)
    assert r.returncode == 1 and 'libtrapless is in %s' % name in r.stderr and 'tl_engine_exit' in r.stderr, r
    before.check()
    assert said == ['registered: yes\n'] and end(p) == 'sum %d hits 1000\n' % SUM


def test_attach(ctx):
    """A program that has loaded libtrapless is not attached to, and goes on with its own probes."""
    path = target(ctx)
    is_refused(ctx, path, 'libtrapless.so', 'at-once', library(ctx, 'libtrapless.so'))


def test_attach_linked(ctx):
    """Nor one that it is linked into."""
    path = target(ctx, library(ctx, 'libtrapless.a'))
    is_refused(ctx, path, os.path.basename(path))


def test_launch_linked(ctx):
    """Started by us, it is traced before it begins to probe itself, which is refused then."""
    path = target(ctx, library(ctx, 'libtrapless.a'))
    r = launch(ctx, COUNT % path, path, input='x')
    assert r.returncode == 7 and r.script == '1000\n', r
    assert r.stdout == 'registered: SESSION\nready\nsum %d hits 0\n' % SUM, r


def test_session_first(ctx):
    """A program that is traced gets no probes of its own until the session has ended."""
    path = target(ctx)
    p, _ = begin(ctx, path, 'later', library(ctx, 'libtrapless.so'))
    s = attach(ctx, COUNT % path, pid=p.pid)
    out = end(p)
    script, err = finish(s, sig=None)
    assert out == 'registered: SESSION\nsum %d hits 0\n' % SUM, (out, err)
    assert script == '1000\n', (script, err)


def test_session_before(ctx):
    path = target(ctx)
    p, _ = begin(ctx, path, 'later', library(ctx, 'libtrapless.so'))
    finish(attach(ctx, COUNT % path, pid=p.pid))
    out = end(p)
    assert out == 'registered: yes\nsum %d hits 1000\n' % SUM, out


for _f in (test_attach, test_attach_linked, test_launch_linked, test_session_first, test_session_before):
    _f.variants = PAIR
