# SPDX-License-Identifier: MIT
"""Several sessions on one process, with probes at the same addresses: each has its own data, and leaves by itself."""
import ctypes
import os
import re
import signal
import subprocess
import time

import scripted
from support import ALL, NO_BREAKPOINTS, PAIR, Before, attach, end_count, finish, has_worked, hits, runner, start, start_count, tap, tracer_of

MOST = 8


class Together:
    """The target steps.c, the sessions on it, and how many calls each of them has seen."""

    def __init__(self, ctx):
        self.ctx, self.path = ctx, ctx.target('steps')
        self.module = tap.counter(ctx.tmp, self.path, ['work'])
        self.target = start(ctx, self.path, stdin=subprocess.PIPE)
        self.before = Before(self.target.pid, os.path.basename(self.path))
        self.sessions, self.seen = [], []

    def steps(self, *steps):
        for step in steps:
            self.target.stdin.write(step + '\n')
            self.target.stdin.flush()
            said = self.target.stdout.readline()
            assert said == 'done\n', (step, said, self.target.poll())

    def work(self, n):
        self.steps('work %d' % n)
        self.seen = [k + n for k in self.seen]

    def join(self, *args):
        self.sessions.append(attach(self.ctx, self.module, self.target.pid, args=args))
        self.seen.append(0)
        return self.sessions[-1]

    def join_at_once(self, n):
        argv = [runner(self.ctx), self.module, '-v', '-x', str(self.target.pid)]
        new = [self.ctx.start(argv, stderr=subprocess.PIPE) for _ in range(n)]
        for p in new:
            p.seen = ''
            for line in p.stderr:
                p.seen += line
                if 'probes armed' in line:
                    break
            else:
                raise AssertionError('did not attach: ' + p.seen)
        self.sessions += new
        self.seen += [0] * n

    def leave(self, i):
        s, seen = self.sessions.pop(i), self.seen.pop(i)
        out, err = finish(s)
        assert hits(out) == seen, (i, out, seen, err)

    def kill(self, i):
        s = self.sessions.pop(i)
        self.seen.pop(i)
        s.kill()
        s.wait(timeout=300)

    def ask(self, session, *args):
        r = self.ctx.run([runner(self.ctx)] + list(args) + ['--session', str(session.pid)], timeout=300)
        assert r.returncode == 0, r
        return r.stdout

    def end(self):
        self.before.check()
        self.target.stdin.close()
        assert self.target.wait(timeout=300) == 7


def in_order(ctx, n, order):
    t = Together(ctx)
    for i in range(n):
        t.join()
        t.work(100 + i)
    for i in order:
        t.leave(i)
        t.work(10)
    t.end()


def test_two(ctx):
    in_order(ctx, 2, (0, 0))
    in_order(ctx, 2, (1, 0))


def test_eight(ctx):
    """The first one, whose guardian serves all, goes first, last, and in between."""
    dice = ctx.dice('order')
    for order in ((0,) * MOST, range(MOST - 1, -1, -1), [dice.randrange(k) for k in range(MOST, 0, -1)]):
        in_order(ctx, MOST, order)


def test_at_once(ctx):
    """All come at the same moment: one of them becomes the first."""
    t = Together(ctx)
    t.join_at_once(MOST)
    t.work(1000)
    while t.sessions:
        t.leave(0)
        t.work(10)
    t.end()


def test_come_and_go(ctx):
    """A place that was left is taken again, by one whose data begin anew."""
    dice = ctx.dice('come and go')
    t = Together(ctx)
    for _ in range(24):
        if len(t.sessions) == MOST or (t.sessions and dice.random() < 0.4):
            t.leave(dice.randrange(len(t.sessions)))
        else:
            t.join()
        t.work(dice.randrange(100))
    while t.sessions:
        t.leave(dice.randrange(len(t.sessions)))
    t.end()


def test_library_comes_while_one_leaves(ctx):
    """Its memory must wait while a stack holds addresses of it: nothing is armed for it meanwhile."""
    lib = ctx.target('plugin', cflags=('-O2', '-g', '-shared', '-fPIC'))
    t = Together(ctx)
    script = ('global n  probe process("%s").library("%s").function("plugin") { n++ }  probe process.function("work") { n++ }  '
              'probe end { println(n) }' % (t.path, lib))
    for _ in range(3):
        stays, leaves = (scripted.attach(ctx, script, pid=t.target.pid) for _ in range(2))
        t.steps('cling -')
        assert scripted.finish(leaves)[0] == '0\n'
        t.steps('load ' + lib, 'call 3', 'close -', 'work 2', 'load ' + lib, 'close -')
        out = scripted.finish(stays)
        assert out[0] == '7\n', out  # its constructor calls, too
    t.end()


def test_killed_runners(ctx):
    """By SIGKILL, the first and others; who stays counts on."""
    for order in ((0, 1), (1, 0), (2, 0), (0, 0)):
        t = Together(ctx)
        for _ in range(3):
            t.join()
        t.work(100)
        for i in order:
            t.kill(i)
            t.work(100)
        t.leave(0)
        t.end()


def test_killed_guardian(ctx):
    """All runners notice and fail, whoever of them takes the probes out."""
    t = Together(ctx)
    for _ in range(3):
        t.join()
    t.work(100)
    os.kill(tracer_of(t.target.pid), signal.SIGKILL)
    for s in t.sessions:
        out, err = s.communicate(timeout=300)
        assert s.returncode == 1 and hits(out) == 100 and 'was killed' in err, (s.returncode, out, err)
    t.work(100)
    t.end()


def test_running(ctx):
    """Joined and left while threads hit the probes; the program's output is its own."""
    p, module, before = start_count(ctx, 4)
    dice = ctx.dice('running')
    sessions = []
    for _ in range(20):
        if len(sessions) < MOST and (not sessions or dice.random() < 0.6):
            sessions.append(attach(ctx, module, p.pid))
        else:
            has_worked(p.pid)
            out, _ = finish(sessions.pop(dice.randrange(len(sessions))))
            assert hits(out) > 0
        time.sleep(0.02)
    for s in sessions:
        finish(s)
    before.check()
    assert re.fullmatch(r'calls \d+\n', end_count(p))


def test_target_ends(ctx):
    """All sessions end with it, and have seen all of it."""
    t = Together(ctx)
    for _ in range(3):
        t.join()
    t.work(500)
    t.target.stdin.close()
    assert t.target.wait(timeout=300) == 7
    for s in t.sessions:
        out, err = s.communicate(timeout=300)
        assert s.returncode == 0 and hits(out) == 500, (s.returncode, out, err)


def test_asked(ctx):
    """Each is listed with its own counts, and switched by itself."""
    t = Together(ctx)
    first, second = t.join(), t.join()
    t.work(100)
    t.ask(first, '--disable', 'work')
    t.work(10)
    t.ask(first, '--enable', 'work')
    t.work(1)
    for s, want in ((first, 101), (second, 111)):
        listed = t.ask(s, '--sessions')
        assert re.search(r'^ *0 +%d +0 ' % want, listed, re.M), listed
    t.seen[0] -= 10
    t.leave(0)
    t.leave(0)
    t.end()


def test_scripts(ctx):
    """Entries and returns of the same function, in globals of each session's own."""
    path = ctx.target('steps')
    p = start(ctx, path, stdin=subprocess.PIPE)
    before = Before(p.pid, os.path.basename(path))
    script = 'global n, m probe process.function("work") { n++ } probe process.function("work").return { m += $return } ' \
             'probe end { printf("%%d %%d %d\\n", n, m) }'
    sessions = []
    for i in range(3):
        sessions.append(scripted.attach(ctx, script % i, pid=p.pid))
        p.stdin.write('work 10\n')
        p.stdin.flush()
        assert p.stdout.readline() == 'done\n'
    for i, s in enumerate(sessions):
        out, err = scripted.finish(s)
        calls = 10 * (3 - i)
        assert out == '%d %d %d\n' % (calls, sum(a * 3 + 1 for a in range(10)) * (3 - i), i), (out, err)
    before.check()
    p.stdin.close()
    assert p.wait(timeout=300) == 7


def test_kinds(ctx):
    """One that wants breakpoints only, and one that does not."""
    t = Together(ctx)
    t.join()
    t.join('--traps-only')
    t.work(100)
    t.leave(1)
    t.work(100)
    t.join('--traps-only')
    t.leave(0)
    t.work(100)
    t.leave(0)
    t.end()


def interrupted(t, guardian):
    """At each call of a session that joins, from the first fork on; how many there were."""
    argv = [runner(t.ctx), t.module, '-x', str(t.target.pid)]
    for point in range(1, 1000):
        r = t.ctx.run([t.ctx.target('interrupter'), str(point), str(guardian)] + argv, timeout=300)
        assert r.returncode == 0, r
        if r.stdout.startswith('joined'):
            return point
    raise AssertionError('it never joins')


def test_interrupted_on_the_way(ctx):
    """SIGINT before it has joined, or while it does: it ends, and nothing of it stays."""
    t = Together(ctx)
    t.join()
    points = interrupted(t, 0), interrupted(t, tracer_of(t.target.pid))
    assert min(points) > 20, points
    t.work(10)
    t.leave(0)
    t.end()


def test_ninth(ctx):
    t = Together(ctx)
    for _ in range(MOST):
        t.join()
    r = ctx.run([runner(ctx), t.module, '-x', str(t.target.pid)], timeout=300)
    assert r.returncode == 1 and 'traced by %d sessions already' % MOST in r.stderr, r
    t.work(10)
    while t.sessions:
        t.leave(0)
    t.end()


def test_launched(ctx):
    """A program that a session has started is joined when it runs."""
    path = ctx.target('count')
    module = tap.counter(ctx.tmp, path, ['work'])
    first = ctx.start([runner(ctx), module, '-v', '-c', path + ' 2'], stderr=subprocess.PIPE)
    pid = int(first.stdout.readline().split()[1])
    second = attach(ctx, module, pid)
    has_worked(pid)
    out, _ = finish(second)
    assert hits(out) > 0
    os.kill(pid, signal.SIGTERM)
    out, err = first.communicate(timeout=300)
    assert first.returncode == 7 and re.search(r'^hits \d+$', out, re.M), (first.returncode, out, err)
    calls = int(re.search(r'^calls (\d+)$', out, re.M).group(1))
    assert hits(out) == calls, out


def test_children(ctx):
    """Each session sees all that a child does, however soon that is over."""
    path = ctx.target('forks')
    p = start(ctx, path, 40)
    sessions = [attach(ctx, tap.counter(ctx.tmp, path, ['work'], name=n), p.pid) for n in ('a', 'b', 'c')]
    assert p.communicate('\n', timeout=300)[0] == 'forks 40 bad 0\n' and p.returncode == 7
    ends = [s.communicate(timeout=300) for s in sessions]
    assert [hits(out) for out, _ in ends] == [40] * 3, ends


def test_other_tracer(ctx):
    t = Together(ctx)
    libc, seize = ctypes.CDLL(None), 0x4206
    if libc.ptrace(seize, t.target.pid, None, None):
        ctx.skip('ptrace is forbidden here')
    r = ctx.run([runner(ctx), t.module, '-x', str(t.target.pid)], timeout=300)
    assert r.returncode == 1 and 'already traced by python' in r.stderr, r
    t.target.kill()


def test_preloaded(ctx):
    path = ctx.target('count')
    module = tap.counter(ctx.tmp, path, ['work'])
    first = ctx.start([runner(ctx), module, '-v', '--preload', '-c', path + ' 2'], stderr=subprocess.PIPE)
    pid = int(first.stdout.readline().split()[1])
    r = ctx.run([runner(ctx), module, '-x', str(pid)], timeout=300)
    assert r.returncode == 1 and 'a session with --preload' in r.stderr, r
    os.kill(pid, signal.SIGTERM)
    out, err = first.communicate(timeout=300)
    assert first.returncode == 7, (first.returncode, out, err)


def test_other_user(ctx):
    """Another user's session is not joined, not even by root."""
    t = Together(ctx)
    t.join()
    r = subprocess.run([runner(ctx), t.module, '-x', str(t.target.pid)], capture_output=True, text=True, timeout=300)
    assert r.returncode == 1 and 'by a session of trapless of user' in r.stderr, r
    t.leave(0)
    t.end()


for f in (test_two, test_at_once, test_children, test_killed_runners, test_killed_guardian, test_asked, test_scripts):
    f.variants = ALL
for f in (test_eight, test_come_and_go, test_running, test_target_ends, test_interrupted_on_the_way):
    f.variants = PAIR
test_other_user.user_only = 'root is the other one'
test_other_user.by_root = 'root is the other one'
test_preloaded.jumps_only = NO_BREAKPOINTS
