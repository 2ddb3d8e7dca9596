# SPDX-License-Identifier: MIT
"""Programs that may make no threads, and so none for us."""
import os
import subprocess

from scripted import attach, finish, number
from support import ALL, PAIR, Before, start

SCRIPT = '''
global n, r
probe process.function("work") { n++ }
probe process.function("work").return { r++ }
probe end { println(n, " ", r) }
'''
SUM = sum(3 * i + 1 for i in range(100))


class Threadless:
    def __init__(self, ctx, how):
        path = ctx.target('threadless')
        self.p = start(ctx, path, how, stdin=subprocess.PIPE)
        self.before = Before(self.p.pid, os.path.basename(path))
        self.turns = 0

    def turn(self):
        self.turns += 1
        self.p.stdin.write('\n')
        self.p.stdin.flush()
        said = self.p.stdout.readline()
        assert said == 'sum %d\n' % (self.turns * SUM), said

    def end(self):
        self.turn()
        self.p.stdin.close()
        assert self.p.wait(timeout=300) == 7, self.p.returncode

    def refused(self, ctx, *words):
        try:
            attach(ctx, SCRIPT, pid=self.p.pid)
        except AssertionError as e:
            assert all(w in str(e) for w in words), e
        else:
            raise AssertionError('not refused')
        self.before.check()
        self.end()


def test_soft_limit(ctx):
    """What the program may raise by itself is no obstacle, and it does not see it raised."""
    t = Threadless(ctx, 'soft')
    s = attach(ctx, SCRIPT, pid=t.p.pid)
    t.turn()
    out, err = finish(s)
    assert out == '100 100\n' and number(err, 'hits missed') == 0, (out, err)
    t.before.check()
    t.end()


def test_hard_limit(ctx):
    Threadless(ctx, 'hard').refused(ctx, 'may make no more threads', 'prlimit --nproc', 'pids.max')


def test_left_namespace(ctx):
    """Its children go to another pid namespace, where a thread of it cannot be."""
    Threadless(ctx, 'leaves').refused(ctx, 'may make no threads', 'unshare', '-c', '--preload')


def test_left_later(ctx):
    """Probes that stand by then go on, and its text is restored without a thread; our memory stays, unused."""
    t = Threadless(ctx, 'later')
    s = attach(ctx, SCRIPT, pid=t.p.pid)
    t.turn()
    t.turn()
    out, err = finish(s)
    assert out == '200 200\n' and number(err, 'hits missed') == 0, (out, err)
    t.before.check_text()
    t.end()


test_soft_limit.variants = ALL
test_hard_limit.variants = ('nobody', 'nobody-traps')
test_hard_limit.user_only = 'root may make as many as it likes'
test_left_namespace.variants = test_left_later.variants = PAIR
test_left_namespace.root_only = test_left_later.root_only = 'nobody else may leave his pid namespace'
