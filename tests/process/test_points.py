# SPDX-License-Identifier: MIT
"""Runner, guardian or both are killed before each step of a session's coming and going (tests/targets/killer.c tells what a
step is). The program lives on unharmed; the next session counts exactly and leaves it as it was."""
import os
import re
import signal
import time

from support import PAIR, Before, attach, finish, hits, runner, start, tap

CALLS = 1000
# Comes, and goes at once.
BRIEF = tap.COUNT + '''
int leave(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	struct tl_run run;
	if (!tl_run_enter(&run, p->data, regs, self))
		return 0;
	tl_exit(&run);
	tl_run_leave(&run);
	return 0;
}
'''
# What trapless-run(8) says of a guardian that is killed: where a thread makes a call for it that stands on no code of
# ours the program may die; what is not in its books yet, or not any more, may stay.
HELPLESS = re.compile('is lent|is on foot')
UNKNOWN = re.compile('not registered|unmapping')
MAY_STAY = dict(mappings=1, fds=0)


def wait_end(pid, within=10.0):
    end = time.time() + within
    while os.path.exists('/proc/%d' % pid):
        with open('/proc/%d/stat' % pid) as f:
            if f.read().rsplit(')', 1)[1].split()[0] == 'Z':
                return
        assert time.time() < end, 'process %d does not end' % pid
        time.sleep(0.005)


class Program:
    """One that notices what is done to it, and the sessions that come to it."""

    def __init__(self, ctx):
        self.ctx, self.path = ctx, ctx.target('steady')
        self.brief = tap.counter(ctx.tmp, self.path, ['turn', 'work'], name='brief', source=BRIEF, begin='leave')
        self.count = tap.counter(ctx.tmp, self.path, ['work'])
        self.begin()

    def begin(self):
        self.p = start(self.ctx, self.path)
        self.before = Before(self.p.pid, os.path.basename(self.path))

    def end(self):
        out, _ = self.p.communicate(timeout=20)
        assert (self.p.returncode, out) == (7, 'bad 0\n'), (self.p.returncode, out)

    def work(self):
        self.p.stdin.write('%d\n' % CALLS)
        self.p.stdin.flush()
        said = self.p.stdout.readline()
        assert said == 'did %d\n' % CALLS, (said, self.p.wait(timeout=10))

    def session_killed(self, who, step):
        """Where that was; None: the session has ended before."""
        r = self.ctx.run([self.ctx.target('killer'), who, str(step), runner(self.ctx), self.brief, '-x', str(self.p.pid)])
        guardian, at = re.search(r'killer: (?:guardian (\d+) )?(.*)', r.stderr).groups()
        if guardian:
            wait_end(int(guardian))
        return at

    def attached(self):
        """On a busy machine it may have to be tried again, as it says."""
        for last in (False, False, True):
            try:
                return attach(self.ctx, self.count, self.p.pid)
            except AssertionError as e:
                if last or 'try again' not in str(e):
                    raise

    def next_session(self):
        self.work()
        s = self.attached()
        self.work()
        out, err = finish(s)
        assert hits(out) == CALLS, (out, err)
        self.work()

    def was_helpless(self):
        """It has died by a fault, or its thread goes on with what was to be put back: nothing more is promised."""
        self.p.send_signal(signal.SIGTERM)
        assert self.p.wait(timeout=20) in (-signal.SIGTERM, -signal.SIGSEGV), self.p.returncode
        self.begin()

    def something_stays(self):
        now = self.before.look()
        for what, most in MAY_STAY.items():
            count = lambda state: state if isinstance(state, int) else len(state)
            assert count(now[what]) - count(self.before.state[what]) <= most, (what, self.before.state, now)
        self.before.check_text()
        self.before = Before(self.p.pid, os.path.basename(self.path))


def killed_everywhere(ctx, who, first):
    program = Program(ctx)
    stride = 29 if not ctx.long else 1 if ctx.variant == 'opt' else 7
    step, at = first, ''
    while not at.endswith('steps'):
        at = program.session_killed(who, step)
        try:
            if who != 'runner' and HELPLESS.search(at):
                program.was_helpless()
            else:
                program.next_session()
                if who != 'runner' and UNKNOWN.search(at):
                    program.something_stays()
                program.before.check(10.0)
        except Exception as e:
            raise AssertionError('%s killed %s' % (who, at)) from e
        step += stride
    assert step > 100, 'only %s' % at
    program.end()


def test_runner(ctx):
    killed_everywhere(ctx, 'runner', 1 if ctx.long else 9)


def test_guardian(ctx):
    """Another one cleans up, if the runner lives."""
    killed_everywhere(ctx, 'guardian', 1 if ctx.long else 18)


def test_both(ctx):
    """The next session cleans up."""
    killed_everywhere(ctx, 'both', 1 if ctx.long else 27)


test_runner.timeout = test_guardian.timeout = test_both.timeout = 900
test_runner.variants = PAIR  # without a guardian a program dies at its next breakpoint
