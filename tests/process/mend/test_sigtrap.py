# SPDX-License-Identifier: MIT
"""Traps in threads that block SIGTRAP: the program's mask and disposition stay as it set them."""
from support import LIBC, Before, attach, finish, has_threads, has_worked, hits, start, tap


def rounds_of(ctx, n, *mode, probed='work', library=None, **how):
    path = ctx.target('sigtrap', **how)
    p = start(ctx, path, n, *mode)
    s = attach(ctx, tap.counter(ctx.tmp, path, [probed], library=library), p.pid)
    out, _ = p.communicate('go\n', timeout=300)
    assert (p.returncode, out) == (7, 'right %d\n' % n), (p.returncode, out)
    got, err = s.communicate(timeout=300)
    assert s.returncode == 0 and hits(got) >= n, (got, s.seen + err)


def test_disposition(ctx):
    """Set anew before every hit, to two handlers, ignore and default."""
    rounds_of(ctx, 400)


def test_disposition_static(ctx):
    rounds_of(ctx, 100, cflags=('-O2', '-static'))


def test_disposition_musl(ctx):
    rounds_of(ctx, 100, cc='musl-gcc', cflags=('-O2',))


def test_probes_in_libc(ctx):
    """The function that sets it is probed itself."""
    rounds_of(ctx, 200, probed='sigaction', library=LIBC)


def test_blocked_alone(ctx):
    """SIGTRAP alone is blocked: known because the mask has not changed since we came."""
    rounds_of(ctx, 200, 'alone')


def test_inside_the_handler(ctx):
    """The program's own handler runs into a probe: SIGTRAP is blocked there, and there alone."""
    rounds_of(ctx, 200, 'inside')


def test_raised_while_threads_come_and_go(ctx):
    """Each breakpoint in a thread that blocks SIGTRAP takes the handler away for a moment: none comes amid that."""
    n, path = 1000 if ctx.long else 200, ctx.target('raiser')
    p = start(ctx, path, n)
    s = attach(ctx, tap.counter(ctx.tmp, path, ['work']), p.pid)
    out, _ = p.communicate('\n', timeout=300)
    assert (p.returncode, out) == (7, 'right %d\n' % n), (p.returncode, out)
    got, err = s.communicate(timeout=300)
    assert s.returncode == 0 and hits(got) == n, (got, s.seen + err)


def test_raised_and_hit_inside_by_several(ctx):
    """... nor where three threads raise it, and the handler itself hits a breakpoint with SIGTRAP blocked."""
    n, path = 2000 if ctx.long else 300, ctx.target('raiser')
    p = start(ctx, path, n, 'inside')
    s = attach(ctx, tap.counter(ctx.tmp, path, ['work']), p.pid)
    out, _ = p.communicate('\n', timeout=300)
    assert (p.returncode, out) == (7, 'right %d\n' % n), (p.returncode, out)
    got, err = s.communicate(timeout=300)
    assert s.returncode == 0 and hits(got) == 9 * n, (got, s.seen + err)


def test_raised_while_sessions_come_and_go(ctx):
    """... and not while the breakpoints are put there and taken out either."""
    path = ctx.target('raiser')
    p = start(ctx, path, 100000000, 'inside')
    p.stdin.write('\n')
    p.stdin.flush()
    has_threads(p.pid, 1 + 3)
    has_worked(p.pid)
    module, before = tap.counter(ctx.tmp, path, ['work']), Before(p.pid, 'raiser')
    for _ in range(40 if ctx.long else 8):
        s = attach(ctx, module, p.pid)
        has_worked(p.pid)
        out, _ = finish(s)
        assert p.poll() is None, p.returncode
        assert hits(out) > 0
    before.check()
    p.kill()


def masked(ctx, handled, probed=('work',), library=None, **how):
    path = ctx.target('masks', **how)
    p = start(ctx, path, 20, handled)
    s = attach(ctx, tap.counter(ctx.tmp, path, probed, library=library), p.pid)
    out, _ = p.communicate('go\n', timeout=300)
    assert (p.returncode, out) == (7, 'right\n'), (p.returncode, out)
    got, err = s.communicate(timeout=300)
    assert s.returncode == 0 and hits(got) >= 20 * 7, (got, s.seen + err)


def test_blocked_later(ctx):
    """SIGTRAP alone comes to be blocked in the session, in every way there is, in threads beside each other."""
    masked(ctx, 0)


def test_blocked_later_handled(ctx):
    """... by a program that has a handler for it."""
    masked(ctx, 1)


def test_blocked_later_musl(ctx):
    masked(ctx, 1, cc='musl-gcc', cflags=('-O2',))


def test_blocked_later_libc(ctx):
    """... and the functions that block it are probed."""
    masked(ctx, 1, ('pthread_sigmask', 'sigaction', 'sigsuspend', 'ppoll', 'raise', 'swapcontext', 'syscall'), LIBC)


for _f in (test_disposition, test_disposition_static, test_disposition_musl, test_probes_in_libc, test_blocked_alone,
           test_inside_the_handler, test_blocked_later, test_blocked_later_handled, test_blocked_later_musl,
           test_blocked_later_libc, test_raised_while_threads_come_and_go, test_raised_and_hit_inside_by_several):
    _f.variants = ('traps',)
test_raised_while_sessions_come_and_go.variants = ('opt', 'traps', 'nobody-traps')
test_disposition.variants = ('opt', 'traps', 'nobody-traps')
