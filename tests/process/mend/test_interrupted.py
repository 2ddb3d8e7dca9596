# SPDX-License-Identifier: MIT
"""A signal handler of the program has interrupted a probe's handler and waits in it: nobody waits for that."""
import os
import subprocess

import scripted
from support import ALL, PAIR, Before, has_threads, start

# Nearly all of the worker's time goes by in here.
SCRIPT = '''global n
probe process("%s").function("work") { for (i = 0; i < 20000; i++) n += i }
probe end { println("end") }
'''
STANDS = 'thread %d (worker) of process %d still stands in probe memory: that memory is given back when it has left\n'


class Worker:
    def __init__(self, ctx, *args):
        self.ctx, self.path = ctx, ctx.target('interrupted')
        self.target = start(ctx, self.path, *args, stdin=subprocess.PIPE)
        has_threads(self.target.pid, 2)
        self.tid, = (t for t in map(int, os.listdir('/proc/%d/task' % self.target.pid)) if t != self.target.pid)
        self.before = Before(self.target.pid, os.path.basename(self.path))

    def tell(self, c):
        self.target.stdin.write(c)
        self.target.stdin.flush()
        assert self.target.stdout.readline() == 'done\n'

    def attach(self, script=SCRIPT):
        return scripted.attach(self.ctx, script % self.path, '-DMAXACTION=100000', pid=self.target.pid)

    def finish(self, s):
        out, err = scripted.finish(s)
        assert out.startswith('end\n') and STANDS % (self.tid, self.target.pid) in err, (out, err)
        self.before.check_text()

    def end(self):
        self.target.stdin.close()
        assert self.target.wait(timeout=300) == 7


def in_the_way(ctx, *args):
    w = Worker(ctx, *args)
    s = w.attach()
    w.tell('s')
    w.finish(s)
    w.tell('r')
    w.before.check()
    w.end()


def test_at_the_end(ctx):
    in_the_way(ctx)


def test_own_stack(ctx):
    in_the_way(ctx, 'own')


def test_next_session(ctx):
    """It comes while the memory of the one before is still in use, and again when it is not."""
    w = Worker(ctx)
    s = w.attach()
    w.tell('s')
    w.finish(s)
    second = w.attach()
    w.tell('r')
    w.tell('s')
    w.finish(second)
    third = w.attach()
    w.tell('r')
    out, err = scripted.finish(third)
    assert out.startswith('end\n') and 'still stands' not in err, (out, err)
    w.before.check()
    w.end()


def ask(w, s, *args):
    r = w.ctx.run([w.ctx.bin('trapless-run')] + list(args) + ['--session', str(s.pid)], timeout=300)
    assert r.returncode == 0, r
    return r.stdout


def test_switched_off(ctx):
    """In a session that goes on; and on again, before and after the handler has ended."""
    w = Worker(ctx)
    s = w.attach()
    w.tell('s')
    ask(w, s, '--disable', '*')
    w.before.check_text()
    ask(w, s, '--enable', '*')
    ask(w, s, '--disable', '*')
    w.tell('r')
    ask(w, s, '--enable', '*')
    w.tell('s')
    w.tell('r')
    out, err = scripted.finish(s)
    assert out.startswith('end\n') and 'still stands' not in err, (out, err)
    w.before.check()
    w.end()


test_at_the_end.variants = ALL
test_own_stack.variants = PAIR
test_next_session.variants = PAIR
test_switched_off.variants = PAIR
