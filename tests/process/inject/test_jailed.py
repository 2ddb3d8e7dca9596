# SPDX-License-Identifier: MIT
"""Handlers make no system call: programs whose seccomp filters kill are traced unharmed, or refused before any harm."""
import signal

from scripted import attach, check_rung, environment, finish, launch, script_file, words
from support import ALL, FILTERED, PAIR, start

SCRIPT = '''
global hits, right, wild
probe process("%s").function("work") {
    hits++
    if (user_string($text) == "jailed" && user_string($it->text) == "jailed" && $it->value == $n
        && substr(execname(), 0, 6) == "jailed" && tid() > 0 && pid() > 0 && gettimeofday_ns() > 0) right++
    try { println(user_string($it->wild)) } catch { wild++ }
}
probe end { printf("hits %%d right %%d wild %%d\\n", hits, right, wild) }
'''
MODES = ('strict 300', 'allow 300', 'allow 300 threads', 'allow 30 naps', 'allow 30 fork', 'allow 30 forbidden')
HITS = {'threads': 5}


def bare(ctx, path, mode):
    r = ctx.run([path] + mode.split())
    if r.returncode == 77:
        ctx.skip('no seccomp filters here: ' + r.stderr.strip())
    return r


def expected(mode):
    n = int(mode.split()[1]) * HITS.get(mode.split()[-1], 1)
    return 'hits %d right %d wild %d\n' % (n, n, n)


def test_launched(ctx):
    """Each sets its filter while it is traced: output and status are those of the bare run, counts are exact."""
    path = ctx.target('jailed')
    for mode in MODES:
        want = bare(ctx, path, mode)
        r = launch(ctx, SCRIPT % path, '%s %s' % (path, mode))
        assert r.stdout == want.stdout, (mode, want, r)
        # a program that a signal has ended gives 128 and its number
        status = want.returncode if want.returncode >= 0 else 128 - want.returncode
        assert r.returncode == status, (mode, want.returncode, r)
        assert r.script == expected(mode), (mode, r.script, r.stderr)
        check_rung(ctx, r.stderr)


def test_session_ends_first(ctx):
    """exit() while the program, jailed meanwhile, sleeps and works on."""
    path = ctx.target('jailed')
    want = bare(ctx, path, 'allow 60 naps')
    r = launch(ctx, '''global n
        probe process("%s").function("work") { if (++n == 20) exit() }
        probe end { println(n) }''' % path, '%s allow 60 naps' % path)
    assert (r.stdout, r.returncode) == (want.stdout, 9), r
    assert 20 <= int(r.script) <= 60, r.script  # calls go on until the runner has heard of it
    stays = 'our memory stays there, unused: process' in r.stderr and 'seccomp' in r.stderr
    assert stays == (ctx.user is not None), r.stderr


def waiting(ctx, mode):
    path = ctx.target('jailed')
    bare(ctx, path, 'allow 1')
    p = start(ctx, path, *mode.split(), 'wait')
    return path, p


def test_attached_as_root(ctx):
    """The filter stays in force for all but our own calls: a forbidden one ends the program as ever."""
    for mode, status in (('strict 300', 9), ('allow 300', 9), ('allow 300 threads', 9), ('allow 30 forbidden', -signal.SIGSYS)):
        path, p = waiting(ctx, mode)
        s = attach(ctx, SCRIPT % path, pid=p.pid)
        out, _ = p.communicate('\n', timeout=300)
        assert p.returncode == status and out.startswith('sum '), (mode, p.returncode, out)
        out, err = finish(s, sig=None)
        assert out == expected(mode), (mode, out, err)
        check_rung(ctx, err)


def test_left_as_root(ctx):
    path, p = waiting(ctx, 'allow 30 forbidden')
    before = open('/proc/%d/maps' % p.pid).read().count('\n')
    for _ in range(3):
        finish(attach(ctx, SCRIPT % path, pid=p.pid))
    left = open('/proc/%d/maps' % p.pid).read()
    assert 'memfd:trapless' not in left and left.count('\n') <= before + 2, left
    out, _ = p.communicate('\n', timeout=300)
    assert p.returncode == -signal.SIGSYS and out.startswith('sum '), (p.returncode, out)


def test_attach_is_refused(ctx):
    """As anybody else there is nothing to be done: said before anything was."""
    for mode in ('strict 10', 'allow 10'):
        path, p = waiting(ctx, mode)
        r = ctx.run(words(ctx, '-x', p.pid) + [script_file(ctx, SCRIPT % path)], env=environment(ctx))
        assert r.returncode == 1 and 'seccomp' in r.stderr and 'root' in r.stderr, r
        out, _ = p.communicate('\n', timeout=300)
        assert p.returncode == 9 and out.startswith('sum '), (mode, p.returncode, out)


FAULTY = '''
global n, bad
probe process("%s").function("work") {
    n++
    try { println(user_string($nowhere)) } catch { bad++ }
    try { println(user_string($behind_end)) } catch { bad++ }
    if (user_string2($nowhere, "no") == "no") bad++
}
probe end { printf("calls %%d bad %%d\\n", n, bad) }
'''


def test_faults_stay_ours(ctx):
    """Reading what is not there: the program's own handlers of such faults never hear of it, and are still there."""
    faults(ctx, 'wait')


def test_handlers_set_later_stay(ctx):
    """Set after we came, the first bad read comes while its signal is blocked: the kernel resets the handler then."""
    faults(ctx, 'late')


def faults(ctx, how):
    path = ctx.target('faulty')
    p = start(ctx, path, 200, how)
    s = attach(ctx, FAULTY % path, pid=p.pid)
    if 'traps' not in ctx.variant:  # else from the start
        assert any(line.startswith('  watch ') for line in s.stderr)
    p.stdin.write('\n')
    p.stdin.flush()
    assert p.stdout.readline() == 'half\n'
    out, _ = p.communicate('\n', timeout=300)
    assert (p.returncode, out) == (7, 'right 600\n'), (p.returncode, out)
    out, err = finish(s, sig=None)
    assert out == 'calls 400 bad 1200\n', (out, err)
    check_rung(ctx, err)


def test_faults_stay_ours_launched(ctx):
    path = ctx.target('faulty')
    r = launch(ctx, FAULTY % path, path + ' 3')
    assert r.returncode == 7 and r.script == 'calls 6 bad 18\n', r


test_launched.variants = test_session_ends_first.variants = ALL
test_attached_as_root.variants = PAIR
test_attach_is_refused.variants = ('nobody', 'nobody-traps')
test_attached_as_root.root_only = test_left_as_root.root_only = FILTERED
test_attach_is_refused.user_only = 'root may attach'
test_faults_stay_ours.variants = test_handlers_set_later_stay.variants = ALL
