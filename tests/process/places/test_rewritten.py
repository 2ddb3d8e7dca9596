# SPDX-License-Identifier: MIT
"""A program writes over its own text while it is probed: what it has put there stays, and what is lost is told."""
import os
import re
import subprocess

from scripted import attach, finish, number
from support import PAIR, Before, runner, start

SCRIPT = '''
global n, r, too, beside
probe process.function("over") { n++ }
probe process.function("over").return { r++ }
probe process.function("over_too") { too++ }
probe process.function("beside") { beside++ }
probe end { printf("%d %d %d %d\\n", n, r, too, beside) }
'''
SUM = sum(15 * i + 3 for i in range(1000))


class Target:
    def __init__(self, ctx, how):
        self.path = ctx.target('rewritten')
        self.p = start(ctx, self.path, how, stdin=subprocess.PIPE)
        self.rounds = 0

    def round(self):
        """Of calls. Is the text what it was?"""
        self.p.stdin.write('x')
        self.p.stdin.flush()
        self.rounds += 1
        said = re.match(r'round \d sum (\d+) same (\d)', self.p.stdout.readline())
        assert int(said.group(1)) == SUM * self.rounds
        return said.group(2) == '1'

    def end(self):
        while self.rounds < 3:
            assert self.round()
        assert self.p.wait(timeout=300) == 7


def listed(ctx, session):
    r = ctx.run([runner(ctx), '--sessions', '--session', str(session.pid)], timeout=300)
    return re.findall(r'"(\w+)@?[^"]*"\)\S*.*?\[(\w+)\]$', r.stdout, re.M), r.stdout


def over(ctx, how, look):
    t = Target(ctx, how)
    before = Before(t.p.pid)
    s = attach(ctx, SCRIPT, pid=t.p.pid)
    assert t.round() and t.round()
    if look:
        gone = [name for name, state in listed(ctx, s)[0] if state == 'GONE']
        assert gone == ['over', 'over', 'over_too'], listed(ctx, s)
    out, err = finish(s)
    assert out == '1000 1000 1000 %d\n' % (1000 * t.rounds), (out, err)
    assert number(err, 'probes whose place the program has written over') == 3, err
    if how == 'write':  # else the program itself has changed its mappings
        before.check()
    t.end()


def test_written(ctx):
    over(ctx, 'write', False)


def test_mapped(ctx):
    """Anew, over the old text."""
    over(ctx, 'map', False)


def test_dropped(ctx):
    """By madvise(MADV_DONTNEED): the file's bytes are back."""
    over(ctx, 'drop', False)


def test_listed(ctx):
    """While the session runs."""
    over(ctx, 'write', True)


for _f in (test_written, test_mapped, test_dropped, test_listed):
    _f.variants = PAIR
