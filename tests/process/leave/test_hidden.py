# SPDX-License-Identifier: MIT
"""A program protects its own text while it is probed. The text is still there: it is what it was when the session has
ended, and when the program makes it executable again."""
import os
import re
import signal

from scripted import attach, environment, finish, number
from support import ALL, PAIR, Answering, runner, runtime_folder, tracer_of, wait_until

SCRIPT = '''
global n, r, too, near
probe process.function("hidden") { n++ }
probe process.function("hidden").return { r++ }
probe process.function("hidden_too") { too++ }
probe process.function("beside") { near++ }
probe end { printf("%d %d %d %d\\n", n, r, too, near) }
'''
SHOWN, ALONE = sum(15 * i + 3 for i in range(1000)), sum(7 * i + 1 for i in range(1000))


class Target(Answering):
    def __init__(self, ctx):
        super().__init__(ctx, 'hidden')

    def protect(self, how):
        self.say(how, how + ' 0')

    def call(self, hidden=False):
        self.say('c', 'sum %d' % (ALONE if hidden else SHOWN))

    def end(self):
        """As if nothing had been."""
        self.protect('x')
        self.call()
        self.ended()


def let_go(t):
    wait_until(lambda: not tracer_of(t.p.pid), 'it is still traced')


def hide(ctx, how, script=SCRIPT):
    """A target with its page protected, and the session that has probed it."""
    t = Target(ctx)
    s = attach(ctx, script, pid=t.p.pid)
    t.call()
    t.protect(how)
    t.call(hidden=True)
    return t, s


def leave(ctx, how):
    t, s = hide(ctx, how)
    out, err = finish(s)
    assert out == '1000 1000 1000 2000\n', (out, err)
    assert number(err, 'probes whose place the program has written over') == 0 and 'promise' not in err, err
    t.call(hidden=True)
    t.end()


def test_inaccessible(ctx):
    leave(ctx, '0')


def test_readable(ctx):
    leave(ctx, 'r')


def test_writable(ctx):
    leave(ctx, 'w')


def test_comes_back(ctx):
    """While the session runs: the probes are still there."""
    t, s = hide(ctx, '0')
    t.protect('x')
    t.call()
    assert finish(s)[0] == '2000 2000 2000 3000\n'
    t.end()


def test_runner_killed(ctx):
    t, s = hide(ctx, '0')
    s.send_signal(signal.SIGKILL)
    s.wait()
    let_go(t)
    t.call(hidden=True)
    t.end()


def test_guardian_killed(ctx):
    for how in '0r':
        t, s = hide(ctx, how)
        os.kill(tracer_of(t.p.pid), signal.SIGKILL)
        s.communicate(timeout=300)
        let_go(t)
        t.end()


def test_switched(ctx):
    """One probe, while its text is out of reach."""
    runtime_folder(ctx)
    t, s = hide(ctx, '0')

    def ask(what, name):
        r = ctx.run([runner(ctx), what, name, '--session', str(s.pid)], timeout=300)
        assert r.returncode == 0, r
    ask('--disable', 'hidden_too')
    t.protect('x')
    t.call()
    ask('--enable', 'hidden_too')
    t.call()
    t.protect('0')
    ask('--disable', 'hidden')
    ask('--disable', 'hidden_too')
    t.protect('x')
    t.call()
    assert finish(s)[0] == '3000 3000 2000 5000\n'
    t.end()


def test_mapped_over(ctx):
    """What has been mapped there since is the program's, whatever it is."""
    t, s = hide(ctx, 'm')
    out, err = finish(s)
    assert out == '1000 1000 1000 2000\n', (out, err)
    t.protect('f')
    t.call()
    assert t.p.communicate(timeout=300)[0] == 'same 1\n' and t.p.returncode == 7


def test_before_it_comes(ctx):
    """Where no probe of a script can be placed, and where one cannot, nothing of it runs, and the reason is told."""
    t = Target(ctx)
    t.protect('0')
    both = 'process.function("hidden"), process.function("beside")'
    for points in ('process.function("hidden")', both):
        script = 'probe begin, end { println("run") } probe %s { println("hit") }' % points
        r = ctx.run([ctx.bin('trapless'), '-e', script, '-x', str(t.p.pid)], timeout=300, env=environment(ctx))
        assert r.returncode == 1 and not r.stdout, r
        assert re.match(r'ERROR: process\(.*\)\.function\("hidden@.*: probe refused \[PROTECTED\]: ', r.stderr), r
    t.call(hidden=True)
    t.end()


def test_written_over(ctx):
    """While the guardian does not know it yet: neither a child nor who takes the probes out gets the old bytes."""
    t = Target(ctx)
    s = attach(ctx, SCRIPT, pid=t.p.pid)
    t.call()
    t.say('k', 'k 100')
    t.say('o', 'o 0')
    t.say('k', 'k 42')
    os.kill(tracer_of(t.p.pid), signal.SIGKILL)
    s.communicate(timeout=300)
    let_go(t)
    t.say('k', 'k 42')
    assert t.p.communicate(timeout=300)[0] == 'same 0\n' and t.p.returncode == 7


for _f in (test_readable, test_writable, test_comes_back, test_switched, test_mapped_over, test_written_over):
    _f.variants = PAIR
test_inaccessible.variants = test_runner_killed.variants = test_before_it_comes.variants = ALL
test_guardian_killed.variants = PAIR
