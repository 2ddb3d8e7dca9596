# SPDX-License-Identifier: MIT
"""A program moves its own text away (mremap) while it is probed, and back when the session is over: it is what it was."""
import os
import signal

from scripted import attach, finish
from support import ALL, PAIR, Answering, tracer_of, wait_until

SCRIPT = '''
global n, r, too, beside
probe process.function("moves") { n++ }
probe process.function("moves").return { r++ }
probe process.function("moves_too") { too++ }
probe process.function("stays") { beside++ }
probe end { printf("%d %d %d %d\\n", n, r, too, beside) }
'''
SUM = sum(15 * i + 3 for i in range(1000))


class Target(Answering):
    def __init__(self, ctx):
        super().__init__(ctx, 'moved')

    def call(self):
        self.say('c', 'sum %d' % SUM)

    def end(self):
        """As if nothing had been."""
        self.say('b', 'b 0')
        self.call()
        self.ended()


def moved(ctx, *args):
    t = Target(ctx)
    s = attach(ctx, SCRIPT, *args, pid=t.p.pid)
    t.call()
    t.say('a', 'a 0')
    return t, s


def test_back_when_all_is_over(ctx):
    t, s = moved(ctx)
    assert finish(s)[0] == '1000 1000 1000 1000\n'
    t.end()


def test_back_while_it_runs(ctx):
    t, s = moved(ctx)
    t.say('b', 'b 0')
    t.call()
    t.say('a', 'a 0')
    assert finish(s)[0] == '2000 2000 2000 2000\n'
    t.end()


def test_in_a_child(ctx):
    t, s = moved(ctx, '--no-follow')
    t.say('k', 'k %d' % (SUM % 100))
    assert finish(s)[0] == '1000 1000 1000 1000\n'
    t.end()


def test_runner_killed(ctx):
    t, s = moved(ctx)
    s.send_signal(signal.SIGKILL)
    s.wait()
    let_go(t)
    t.end()


def test_guardian_killed(ctx):
    t, s = moved(ctx)
    os.kill(tracer_of(t.p.pid), signal.SIGKILL)
    s.communicate(timeout=300)
    let_go(t)
    t.end()


def let_go(t):
    wait_until(lambda: not tracer_of(t.p.pid), 'it is still traced')


test_back_when_all_is_over.variants = ALL
test_back_while_it_runs.variants = test_in_a_child.variants = PAIR
test_runner_killed.variants = test_guardian_killed.variants = PAIR
