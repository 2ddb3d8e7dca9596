# SPDX-License-Identifier: MIT
"""Runner, guardian or both are killed before each step of a session's coming and going (tests/targets/killer.c tells what a
step is): one that attaches, one that starts its program, and one that joins others. The program lives on unharmed; the
next session counts exactly and leaves it as it was."""
import contextlib
import json
import os
import re
import signal
import subprocess

from support import NO_GUARDIAN, PAIR, REAPER, Before, attach, finish, hits, runner, start, tap, tracer_of, wait_until

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
# What trapless-run(8) says of a guardian that is killed: while the last of our code is given back the program may die,
# and where it has just begun, without a library, also in calls that a thread of it makes; what is not in the books yet
# may stay.
HELPLESS = re.compile('is on foot')
HELPLESS_AT_EXEC = re.compile('is lent|is on foot')
LENT = re.compile('is lent')
UNKNOWN = re.compile('not registered')
MAY_STAY = dict(mappings=1, fds=0)


def has_ended(pid):
    try:
        with open('/proc/%d/stat' % pid) as f:
            return f.read().rsplit(')', 1)[1].split()[0] == 'Z'
    except (FileNotFoundError, ProcessLookupError):
        return True


def wait_end(pid):
    wait_until(lambda: has_ended(pid), 'process %d does not end' % pid)


class Program:
    """One that notices what is done to it, and the sessions that come to it."""

    def __init__(self, ctx, **kw):
        self.ctx, self.path, self.kw = ctx, ctx.target('steady'), kw
        self.brief = tap.counter(ctx.tmp, self.path, ['turn', 'work'], name='brief', source=BRIEF, begin='leave')
        self.count = tap.counter(ctx.tmp, self.path, ['work'])
        self.begin()

    def begin(self):
        self.p = start(self.ctx, self.path, **self.kw)
        self.before = Before(self.p.pid, os.path.basename(self.path))

    def end(self):
        out, _ = self.p.communicate(timeout=300)
        assert (self.p.returncode, out) == (7, 'bad 0\n'), (self.p.returncode, out)

    def work(self):
        try:
            self.p.stdin.write('%d\n' % CALLS)
            self.p.stdin.flush()
        except BrokenPipeError:
            raise AssertionError('it has ended: status %d' % self.p.wait(timeout=300)) from None
        said = self.p.stdout.readline()
        assert said == 'did %d\n' % CALLS, (said, self.p.wait(timeout=300))

    def brief_session(self, who, step, *joined):
        """One that is killed before that step: its guardian and where that was, or that there are no more."""
        r = self.ctx.run([self.ctx.target('killer'), str(who), str(step), *joined, runner(self.ctx), self.brief, '-x',
                          str(self.p.pid)])
        return re.search(r'killer: (?:guardian (\d+) )?(.*)', r.stderr).groups()

    def session_killed(self, who, step):
        guardian, at = self.brief_session(who, step)
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
        out, self.said = finish(s)
        assert hits(out) == CALLS, (out, self.said)
        self.work()

    def left_nothing(self):
        try:
            self.before.check()
        except AssertionError as e:
            raise AssertionError('%s\nthe last session said:\n%s' % (e, self.said)) from e

    def was_helpless(self):
        """It has died by a fault, or its thread goes on with what was to be put back: nothing more is promised."""
        self.p.send_signal(signal.SIGTERM)
        assert self.p.wait(timeout=300) in (-signal.SIGTERM, -signal.SIGSEGV, -signal.SIGILL), self.p.returncode
        self.begin()

    def something_stays(self, *same):
        now = self.before.look()
        assert all(now[what] == self.before.state[what] for what in same), (self.before.state, now)
        for what, most in MAY_STAY.items():
            count = lambda state: state if isinstance(state, int) else len(state)
            assert count(now[what]) - count(self.before.state[what]) <= most, (what, self.before.state, now)
        self.before.check_text()
        self.before = Before(self.p.pid, os.path.basename(self.path))


@contextlib.contextmanager
def told_where(who, at):
    """Whatever fails in there says where who was killed."""
    try:
        yield
    except subprocess.TimeoutExpired as e:
        raise subprocess.TimeoutExpired('%s killed %s: %s' % (who, at, e.cmd), e.timeout, e.output, e.stderr) from e
    except Exception as e:
        raise AssertionError('%s killed %s' % (who, at)) from e


def at_each_step(ctx, first, kill, every=1):
    """kill(step) says where that was. every: fewer of them, in the long form too."""
    stride = 29 if not ctx.long else every if ctx.variant == 'opt' else 7 * every
    step, at = first, ''
    while not at.endswith('steps'):
        at = kill(step)
        step += stride
    assert step > 100, 'only %s' % at


def killed_everywhere(ctx, who, first):
    program = Program(ctx)

    def kill(step):
        at = program.session_killed(who, step)
        with told_where(who, at):
            if who != 'runner' and HELPLESS.search(at):
                program.was_helpless()
            else:
                program.next_session()
                if who != 'runner' and UNKNOWN.search(at):
                    program.something_stays()
                program.left_nothing()
        return at
    at_each_step(ctx, first, kill)
    program.end()


def test_runner(ctx):
    killed_everywhere(ctx, 'runner', 1 if ctx.long else 9)


def test_guardian(ctx):
    """Another one cleans up, if the runner lives."""
    killed_everywhere(ctx, 'guardian', 1 if ctx.long else 18)


def test_both(ctx):
    """The next session cleans up."""
    killed_everywhere(ctx, 'both', 1 if ctx.long else 27)


def killed_while_lent(ctx, who):
    """At each step of all that a thread of the program does for the guardian, and the helper that it makes there."""
    program, lent, others, step = Program(ctx), 0, 0, 0
    while not lent or others < 10:  # no two sessions take the same steps
        step += 1
        at = program.session_killed(who, step)
        if at.endswith('steps'):  # it was over before
            break
        if not LENT.search(at):
            others += 1
            continue
        lent, others = lent + 1, 0
        with told_where(who, at):
            program.next_session()
            if UNKNOWN.search(at):
                program.something_stays()
            program.left_nothing()
    assert lent > 10, lent
    program.end()


def test_lent_guardian(ctx):
    killed_while_lent(ctx, 'guardian')


def test_lent_both(ctx):
    killed_while_lent(ctx, 'both')


def launched_everywhere(ctx, who, first):
    """A program that has begun runs to its end; one that has not does not begin."""
    path = ctx.target('count')
    module, out = tap.counter(ctx.tmp, path, ['work']), os.path.join(ctx.tmp, 'out')

    def kill(step):
        r = ctx.run(['/usr/bin/python3', REAPER, '-', ctx.target('killer'), who, str(step), runner(ctx), module, '-o', out,
                     '-c', path + ' 2 20'])
        told = json.loads(r.stdout)
        at = re.search(r'killer: (?:guardian \d+ )?(.*)', told['err']).group(1)
        if who == 'runner' or not HELPLESS_AT_EXEC.search(at):
            assert re.fullmatch(r'(ready .*\ncalls 40\n)?', told['out']), (who, at, told)
            assert set(told['ends']) <= {0, 7, 127, -signal.SIGKILL}, (who, at, told)
        return at
    at_each_step(ctx, first, kill)


def test_launched_runner(ctx):
    launched_everywhere(ctx, 'runner', 1 if ctx.long else 9)


def test_launched_guardian(ctx):
    launched_everywhere(ctx, 'guardian', 1 if ctx.long else 18)


def test_launched_both(ctx):
    launched_everywhere(ctx, 'both', 1 if ctx.long else 27)


def joined_everywhere(ctx, who, first):
    """Two sessions are there, and a third one comes and goes. Who is left counts on exactly: all but the guardian serve
    only themselves."""
    program = Program(ctx)

    def kill(step):
        sessions = [program.attached(), program.attached()]
        program.work()
        at = program.brief_session(sessions[0].pid if who == 'first' else who, step, str(tracer_of(program.p.pid)))[1]
        over = at.endswith('steps')
        with told_where(who, at):
            if who == 'guardian' and not over:
                end_without_guardian(program, sessions, HELPLESS.search(at))
            else:
                program.work()
                if who == 'first' and not over:
                    sessions.pop(0).wait(timeout=300)
                for s in sessions:
                    out, err = finish(s)
                    assert hits(out) == 2 * CALLS, (out, err)
                program.left_nothing()
        return at
    at_each_step(ctx, first, kill, every=3)
    program.end()


def end_without_guardian(program, sessions, helpless):
    """All of them end, and one of the runners cleans up."""
    for s in sessions:
        out, err = s.communicate(timeout=300)
        assert s.returncode == 1 and hits(out) == CALLS and 'was killed' in err, (s.returncode, out, err)
    if helpless:
        program.was_helpless()
    else:
        program.next_session()
        program.before.check()


def test_joined_runner(ctx):
    joined_everywhere(ctx, 'runner', 1 if ctx.long else 9)


def test_joined_first(ctx):
    """The one that the guardian came with."""
    joined_everywhere(ctx, 'first', 1 if ctx.long else 18)


def test_joined_guardian(ctx):
    joined_everywhere(ctx, 'guardian', 1 if ctx.long else 27)


test_runner.variants = test_launched_runner.variants = test_joined_runner.variants = test_joined_first.variants = PAIR
for fn in (test_guardian, test_both, test_lent_guardian, test_lent_both, test_launched_guardian, test_launched_both, test_joined_guardian):
    fn.jumps_only = NO_GUARDIAN
