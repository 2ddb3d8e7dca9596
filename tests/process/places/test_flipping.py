# SPDX-License-Identifier: MIT
"""A program protects text of its own, or unmaps it and maps it anew, every millisecond, while sessions come to it and go:
probes there are armed or refused with a reason, and nothing of them stays."""
import os
import re
import subprocess

from support import ALL, Before, runner, start, tap
from test_points import BRIEF

FUNCTIONS = ['flips%d' % i for i in range(8)]


class Target:
    def __init__(self, ctx, how):
        path = ctx.target('flipping')
        self.p = start(ctx, path, how, stdin=subprocess.PIPE)
        self.module = tap.counter(ctx.tmp, path, FUNCTIONS + ['main'], name='brief', source=BRIEF, begin='leave')
        self.before = Before(self.p.pid, os.path.basename(path))
        self.say('g', 'flips\n')

    def say(self, what, answer):
        self.p.stdin.write(what)
        self.p.stdin.flush()
        said = self.p.stdout.readline()
        assert said == answer, (said, self.p.poll())

    def end(self):
        self.say('x', 'wrong 0 same 1\n')
        self.before.check()
        assert self.p.communicate(timeout=300)[0] == '' and self.p.returncode == 7


def session(ctx, t):
    r = ctx.run([runner(ctx), '-v', t.module, '-x', str(t.p.pid)], timeout=300)
    refused = re.findall(r'ERROR: function\("(.*)"\): probe refused \[(\w+)\]', r.stderr)
    assert 'promise' not in r.stderr, r.stderr
    assert all(f in FUNCTIONS and why in ('PROTECTED', 'NOT_TEXT', 'TEXT_RO') for f, why in refused), r.stderr
    if refused:
        assert r.returncode == 1, r.stderr
    else:
        assert r.returncode == 0 and '%d probes armed' % (len(FUNCTIONS) + 1) in r.stderr, r.stderr
    return not refused


def sessions(ctx, how):
    t = Target(ctx, how)
    for _ in range(60 if ctx.long else 20):
        session(ctx, t)
    t.end()


def test_readable(ctx):
    sessions(ctx, 'r')


def test_inaccessible(ctx):
    sessions(ctx, '0')


def test_unmapped(ctx):
    sessions(ctx, 'u')


test_readable.variants = test_inaccessible.variants = test_unmapped.variants = ALL
