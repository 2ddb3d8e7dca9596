# SPDX-License-Identifier: MIT
"""Threads that the kernel makes for a program's io_uring: they are listed among its own, share its thread pointer, and
never run it. Nothing of the session is about them."""
import os
import subprocess

from scripted import attach, environment, finish, launch, number
from support import ALL, Before, has_threads

SCRIPT = '''
global n, r, began, ended
probe process.function("work") { n++ }
probe process.function("work").return { r++ }
probe process.thread.begin { began++ }
probe process.thread.end { ended++ }
probe end { printf("%d %d %d %d\\n", n, r, began, ended) }
'''
CALLS, SUM = 100, sum(3 * i + 1 for i in range(100))


def ringed(ctx, *how):
    path = ctx.target('ringed')
    p = ctx.start([path] + list(how), stdin=subprocess.PIPE)
    if p.stdout.readline() == 'no io_uring\n':
        ctx.skip('no io_uring here')
    has_threads(p.pid, 2 + len(how))
    return p


def turn(p, n):
    p.stdin.write('\n')
    p.stdin.flush()
    assert p.stdout.readline() == 'sum %d\n' % (n * SUM)


def end(p):
    p.stdin.close()
    assert p.wait(timeout=300) == 7, p.returncode


def counted(s, times):
    out, err = finish(s)
    assert out == '%d %d 0 0\n' % (times * CALLS, times * CALLS) and number(err, 'hits missed') == 0, (out, err)


def around(ctx, *how):
    """They are there when the session comes, and stay when it goes."""
    p = ringed(ctx, *how)
    before = Before(p.pid, os.path.basename(ctx.target('ringed')))
    turn(p, 1)
    for n in (2, 4):
        s = attach(ctx, SCRIPT, pid=p.pid)
        turn(p, n)
        turn(p, n + 1)
        counted(s, 2)
        before.check()
    turn(p, 6)
    end(p)


def test_workers(ctx):
    around(ctx)


def test_polled(ctx):
    around(ctx, 'polled')


def test_ends(ctx):
    """The program ends in the session, and they with it."""
    p = ringed(ctx, 'polled')
    s = attach(ctx, SCRIPT, pid=p.pid)
    turn(p, 1)
    end(p)
    out, err = s.communicate(timeout=300)
    assert (out, s.returncode) == ('100 100 0 0\n', 0), (out, err)


def test_from_start(ctx):
    """They come in the session."""
    end(ringed(ctx, 'polled'))
    r = launch(ctx, SCRIPT, ctx.target('ringed') + ' polled', input='\n\n')
    assert r.returncode == 7 and r.script == '200 200 0 0\n', (r.returncode, r.script, r.stderr)


for _f in (test_workers, test_polled, test_ends, test_from_start):
    _f.variants = ALL
