# SPDX-License-Identifier: MIT
"""Runner, guardian or both are killed while a thread of the program stands at a named point of the engine in it (an agent
built with tests/process/points.c waits there), or the agent fails there. The program lives on unharmed, and the next
session counts exactly."""
import os
import re
import signal
import subprocess
import threading
import time

from support import NO_GUARDIAN, PAIR, finish, runner, state_of, tracer_of, wait_state
from test_points import Program, told_where, wait_end

TELL, WAIT, PROGRAM_WAITS = FDS = 100, 101, 102  # as points.c has them
HEADER = 'engine/core/base/race.h'
PATCHING = ('auto', 'spin', 'stop')
FAILED = 'failed (signal 4 at agent+'


def names_of_points(root):
    with open(os.path.join(root, HEADER)) as f:
        return re.findall(r'^\tRP_(\w+),', re.search(r'enum tl_race \{(.*?)\};', f.read(), re.S).group(1), re.M)


class Points(threading.Thread):
    """Lets threads go on from their points; at one of them somebody is killed first."""

    def __init__(self, claimed):
        super().__init__(daemon=True)
        self.claimed = claimed  # the point at which it is a thread of the program
        self.told, tell = os.pipe()
        wait, self.go = os.pipe()
        program_waits, self.program_goes = os.pipe()
        for fd, number in zip((tell, wait, program_waits), FDS):
            os.dup2(fd, number)
            os.close(fd)
        self.lock = threading.Lock()
        self.arm(None, None)
        self.start()

    def arm(self, fatal, kill):
        """fatal: a point, and its how many-th visit. kill() may say what is answered there."""
        self.seen, self.fatal, self.kill, self.error = [], fatal, kill, None

    def run(self):
        while byte := os.read(self.told, 1):
            with self.lock:
                point, answer = byte[0], None
                self.seen.append(point)
                if (point, self.seen.count(point)) == self.fatal:
                    try:
                        answer = self.kill()
                    except Exception as e:
                        self.error = e
            os.write(self.program_goes if point == self.claimed else self.go, answer or b'g')

    def close(self):
        """Ends the thread: the program, which has the other end, too, is gone."""
        for fd in FDS:
            os.close(fd)
        self.join(10)
        for fd in (self.told, self.go, self.program_goes):
            os.close(fd)


def someone_is_stopped(pid):
    return any(state_of(pid, int(tid)) == 't' for tid in os.listdir('/proc/%d/task' % pid))


class Killer:
    """Sessions on a program, and who of each is killed."""

    def __init__(self, ctx, who):
        ctx.env['TRAPLESS_RUN'] = os.path.join(ctx.root, 'build', 'points', 'trapless-run')
        self.ctx, self.who, self.names = ctx, who, names_of_points(ctx.root)
        self.points = Points(self.names.index('CLAIMED'))
        self.program = Program(ctx, pass_fds=FDS)

    def kill(self):
        """Its guardian may be at anything, where a thread of the program is at a point: it is stopped before we look."""
        pid = self.program.p.pid
        self.guardian = tracer_of(pid)
        os.kill(self.guardian, signal.SIGSTOP)
        wait_state(self.guardian, 'T')
        time.sleep(0.03)  # a thread that makes a call for it comes to its end
        self.helpless = someone_is_stopped(pid)
        if self.who != 'guardian':
            self.session.kill()
            self.session.wait(timeout=300)
        os.kill(self.guardian, signal.SIGCONT if self.who == 'runner' else signal.SIGKILL)
        if self.who != 'runner':
            wait_end(self.guardian)

    def brief_session(self, fatal):
        """Was it killed? It may have passed fewer."""
        self.guardian = None
        with self.points.lock:  # nobody is killed before the session is known
            self.points.arm(fatal, self.kill)
            self.session = self.ctx.start([runner(self.ctx), self.program.brief, '-x', str(self.program.p.pid)],
                                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.said = self.session.communicate(timeout=300)[1]
        if self.guardian:
            wait_end(self.guardian)
        with self.points.lock:
            self.points.fatal = None
            if self.points.error:
                raise self.points.error
        return self.guardian is not None

    def at_point(self, point, most):
        """At each of its visits, or the first few; how many there were."""
        n = 0
        while n < most and self.brief_session((point, n + 1)):
            n += 1
            with told_where(self.who, 'at visit %d of %s' % (n, self.names[point])):
                # While all are stopped for a change of text nothing is promised of a guardian's end: trapless-run(8).
                if self.helpless and self.who != 'runner':
                    self.program.was_helpless()
                else:
                    self.look_after()
        return n

    def look_after(self):
        self.program.next_session()
        self.program.left_nothing()

    def end(self):
        self.program.end()
        self.points.close()


class Failing(Killer):
    """It is the agent that fails, in sessions beside another one or not."""

    def __init__(self, ctx):
        super().__init__(ctx, 'agent')
        self.names = ['' if n == 'CLAIMED' else n for n in self.names]  # a thread of the program is there

    def kill(self):
        self.guardian, self.helpless = tracer_of(self.program.p.pid), False
        return b'x'

    def brief_session(self, fatal):
        return bool(self.names[fatal[0]]) and super().brief_session(fatal)

    def with_another(self, point):
        """It hears of it, the brief one perhaps not any more."""
        other = self.program.attached()
        if self.brief_session((point, 1)):
            said = other.seen + other.communicate(timeout=300)[1]
            assert FAILED in said, said
        else:
            finish(other)
        with told_where(self.who, 'beside another session, at %s' % self.names[point]):
            self.left_little()

    def look_after(self):
        assert FAILED in self.said, self.said
        self.left_little()

    def left_little(self):
        """A copy of a page of code that is to take its place is not in the books."""
        self.program.next_session()
        self.program.something_stays('executable', 'fds', 'threads', 'memfds')


def killed_at_points(ctx, who):
    killer, seen = Killer(ctx, who), set()
    most = 1 if not ctx.long else 6 if ctx.variant == 'opt' else 2
    for how in PATCHING if ctx.long else ('spin', 'stop'):
        ctx.env['TRAPLESS_PATCHING'] = how
        seen |= {name for point, name in enumerate(killer.names) if killer.at_point(point, most)}
    killer.end()
    never = {'TRAPPED'}  # in an injected agent: who runs into a breakpoint is led on by the guardian
    if 'traps' in ctx.variant:
        never |= {'SPIN_HEAD', 'SPIN_TAIL'}  # a breakpoint is one store
    assert seen == set(killer.names) - never, seen


def test_runner(ctx):
    """Its guardian goes on, and takes the probes out."""
    killed_at_points(ctx, 'runner')


def test_guardian(ctx):
    """Another one cleans up."""
    killed_at_points(ctx, 'guardian')


def test_both(ctx):
    """The next session cleans up."""
    killed_at_points(ctx, 'both')


def test_agent_fails(ctx):
    """All its sessions end, and say why; the next one cleans up."""
    failing = Failing(ctx)
    for how in PATCHING if ctx.long and ctx.variant == 'opt' else ('auto', 'stop') if ctx.long else ('auto',):
        ctx.env['TRAPLESS_PATCHING'] = how
        for point in range(len(failing.names)):
            failing.at_point(point, 2)
            failing.with_another(point)
    failing.end()


def test_stopped_behind_a_breakpoint(ctx):
    """Who has run into one as everyone is stopped has its signal first, and goes on as if nothing had been."""
    failing = Failing(ctx)
    ctx.env['TRAPLESS_PATCHING'] = 'stop'
    for _ in range(30 if ctx.long else 6):
        failing.with_another(failing.names.index('STOPPED'))
    failing.end()


test_runner.variants = test_stopped_behind_a_breakpoint.variants = PAIR
test_both.long = True
test_guardian.jumps_only = test_both.jumps_only = NO_GUARDIAN
