# SPDX-License-Identifier: MIT
"""A session that runs is asked for its probes, and they are switched."""
import os
import re
import signal
import subprocess

from context import wait_until
from scripted import attach, environment, finish, script_file, words
from support import ALL, NO_BREAKPOINTS, PAIR, Before, runner, runtime_folder, start, text_of

SCRIPT = 'global n, m probe process.function("work") { n++ } probe process.function("idle").return { m++ } ' \
         'probe timer.s(100) { } probe end { printf("work %d idle %d\\n", n, m) }'


class Session:
    """The target steps.c, and a session on it."""

    def __init__(self, ctx, *args, script=SCRIPT):
        self.ctx = ctx
        path = ctx.target('steps')
        self.target = start(ctx, path, stdin=subprocess.PIPE)
        self.before = Before(self.target.pid, os.path.basename(path))
        self.p = attach(ctx, script, *args, pid=self.target.pid)

    def steps(self, *what):
        for line in what:
            self.target.stdin.write(line + '\n')
            self.target.stdin.flush()
            assert self.target.stdout.readline() == 'done\n'

    def ask(self, *args, status=0):
        r = self.ctx.run([runner(self.ctx)] + list(args) + ['--session', str(self.p.pid)], timeout=300)
        assert r.returncode == status, (args, r)
        return r.stdout

    def probe(self, nr):
        """Hits, missed, rung and state of a probe in the list."""
        line = re.search(r'^ *%d +(\d+) +(\d+) +(\S+) .*$' % nr, self.ask('--sessions'), re.M)
        state = re.search(r'\[(\w+)\]$', line.group(0))
        return int(line.group(1)), int(line.group(2)), line.group(3), state.group(1) if state else ''

    def end(self):
        out, err = finish(self.p)
        self.before.check()
        self.target.stdin.close()
        assert self.target.wait(timeout=300) == 7
        return out, err


def test_list(ctx):
    """Hits, states and rungs, while the program runs."""
    s = Session(ctx)
    s.steps('work 10', 'idle 3')
    state = '' if ctx.variant.endswith('traps') else 'OPTIMIZED'
    for nr, hits in ((0, 10), (1, 3)):
        got = s.probe(nr)
        assert got[:2] == (hits, 0) and got[3] == state and (got[2] == 'trap') == (not state), got
    assert s.probe(2)[::3] == (0, '')
    head = s.ask('--sessions')
    assert re.search(r'process %d \(steps\S*\): [1-9]\d* bytes of detours, \d+ of at most \d+ mappings' %
                     s.target.pid, head), head
    assert s.end()[0] == 'work 10 idle 3\n'


test_list.variants = ALL


def test_switch(ctx):
    """One that is off costs nothing: its text is as it was. The others go on; every hit is counted."""
    s = Session(ctx)
    s.steps('work 1', 'idle 1')
    assert '1 probe disabled' in s.ask('--disable', 'wor?')
    assert s.probe(0)[2:] == ('-', 'DISABLED') and s.probe(1)[3] != 'DISABLED'
    s.steps('work 100', 'idle 1')
    assert '1 probe disabled' in s.ask('--disable', '*"idle*')
    for text, name in zip(s.before.text, s.before.names):
        assert text_of(s.target.pid, name) == text
    s.steps('work 100', 'idle 100')
    assert '1 probe enabled' in s.ask('--enable', '0')
    s.steps('work 10', 'idle 100')
    s.ask('--enable', '*')
    s.steps('work 10', 'idle 10')
    assert s.probe(0)[0] == 21 and s.probe(1)[0] == 12
    assert s.end()[0] == 'work 21 idle 12\n'


test_switch.variants = ALL


def test_aliases(ctx):
    """A probe is shown by its alias, wildcards resolved, and found by that and by its place."""
    s = Session(ctx, script='global n, m probe its.work = process.function("work") { } probe its.idle = process.function("idle") { } '
                            'probe its.w* { n++ } probe its.idle { m++ } probe end { printf("%d %d\\n", n, m) }')
    for name in ('work', 'idle'):
        assert re.search(r' its\.%s( |$)' % name, s.ask('--sessions'), re.M)
    s.steps('work 1', 'idle 1')
    assert '1 probe disabled' in s.ask('--disable', 'its.w*')
    s.steps('work 10', 'idle 10')
    assert '1 probe disabled' in s.ask('--disable', '*function("idle*')
    assert '2 probes enabled' in s.ask('--enable', 'its.*')
    s.steps('work 100', 'idle 100')
    assert s.end()[0] == '101 111\n'


def test_knob(ctx):
    """Off: all on breakpoints. On: all jump again, by and by; no hit is lost."""
    s = Session(ctx)
    s.ask('--optimize', 'off')
    s.steps('work 50', 'idle 50')
    assert [s.probe(i)[::2] for i in (0, 1)] == [(50, 'trap')] * 2
    s.ask('--optimize', 'on')
    for _ in range(1000):
        s.steps('work 1')
        if s.probe(0)[3] == s.probe(1)[3] == 'OPTIMIZED':
            break
    hits, _, rung, _ = s.probe(0)
    assert rung != 'trap' and s.end()[0] == 'work %d idle 50\n' % hits


test_knob.jumps_only = 'a session on breakpoints only stays on them'


def ask_all(ctx, *args):
    """Others than this test's may run, and be busy."""
    r = ctx.run([runner(ctx)] + list(args), timeout=300)
    return r.returncode, r.stdout + r.stderr


def test_several_sessions(ctx):
    """Listed by name and age. What changes them names one; and who started that one is told."""
    named = [Session(ctx, '-m', name) for name in ('second', 'first')] + [Session(ctx)]
    pids = [str(s.p.pid) for s in named]
    heads = re.findall(r'^session (\d+): (\S+), for ', ask_all(ctx, '--sessions')[1], re.M)
    assert [h for h in heads if h[0] in pids] == list(zip(pids, ('second', 'first', 's'))), heads
    heads = re.findall(r'^session (\d+): ', ask_all(ctx, '--sessions', '--session', 'all')[1], re.M)
    assert [pid for pid in heads if pid in pids] == pids, heads
    for change in (['--disable', '*'], ['--optimize', 'off'], ['--enable', '0']):
        status, told = ask_all(ctx, *change)
        assert status == 1 and re.fullmatch(r'trapless-run: \d+ sessions run: say which .*\n', told), told
    named[1].ask('--disable', 'work')
    for s in named:
        s.steps('work 3', 'idle 1')
    for s in named:
        out, err = s.end()
        changed = re.findall(r'changed by another command: (.*)', err)
        assert changed == (['session %d: 1 probe disabled' % s.p.pid] if s is named[1] else []), err
        assert out == 'work %d idle 1\n' % (0 if s is named[1] else 3)


def test_quiet_session(ctx):
    """With -w a change is not told."""
    s = Session(ctx, '-w')
    s.ask('--disable', 'work')
    assert 'changed by' not in s.end()[1]


def test_gone(ctx):
    """A probe in a library that is closed is GONE, and back when it is loaded again; its hits stay."""
    lib = ctx.target('plugin', cflags=('-O2', '-g', '-shared', '-fPIC'))
    s = Session(ctx, script='global n probe process("%s").library("%s").function("plugin") { n++ } '
                'probe process.function("work") { n++ } probe end { printf("%%d\\n", n) }' % (ctx.target('steps'), lib))
    armed = '' if ctx.variant.endswith('traps') else 'OPTIMIZED'
    assert s.probe(0) == (0, 0, '-', 'PENDING')
    for hits in (4, 8):  # its constructor calls, too
        s.steps('load ' + lib, 'call 3')
        assert s.probe(0)[::3] == (hits, armed)
        s.steps('close -', 'work 1')
        assert s.probe(0) == (hits, 0, '-', 'GONE') and s.probe(1)[3] == armed
    assert s.end()[0] == '10\n'


test_gone.variants = PAIR


def test_arming(ctx):
    """A session is seen before it can answer."""
    path = script_file(ctx, 'probe begin { for (i = 0; i < 1000; i++) mdelay(1000) } probe timer.s(1) { }')
    p = ctx.start(words(ctx, '-g', path), stdin=subprocess.DEVNULL, env=environment(ctx))
    armed = re.compile(r'^session %d: its probes are being armed$' % p.pid, re.M)
    wait_until(lambda: armed.search(ask_all(ctx, '--sessions')[1]), 'it is seen')
    status, told = ask_all(ctx, '--disable', '*', '--session', str(p.pid))
    assert status == 1 and 'session %d is arming its probes' % p.pid in told, told
    p.kill()
    p.wait()
    assert 'session %d:' % p.pid not in ask_all(ctx, '--sessions')[1]


def test_requests_that_fail(ctx):
    s = Session(ctx)
    assert 'no probe is' in s.ask('--disable', 'nonsense', status=1)
    assert 'cannot be switched' in s.ask('--disable', '3', status=1)
    assert s.ask('--optimize', 'maybe', status=2) == ''
    s.end()
    s.ask('--sessions', status=1)
    for args in (['--session', '1'], ['--sessions', '--enable', '*'], ['--sessions', '-x', '1']):
        r = ctx.run([runner(ctx)] + args, timeout=300)
        assert r.returncode == 2, r


def test_traps_only_stays(ctx):
    s = Session(ctx)
    assert 'traps-only' in s.ask('--optimize', 'on', status=1)
    s.end()


test_traps_only_stays.traps_only = 'of others the optimization is switched'


def test_never_fired(ctx):
    s = Session(ctx)
    s.steps('work 5')
    assert re.search(r'never fired: .*idle.* \(armed, but nobody came by\)', s.end()[1])
    s = Session(ctx)
    s.ask('--disable', '0')
    s.steps('work 5')
    assert re.search(r'never fired: .*work.* \(it was disabled\)', s.end()[1])


def test_through_the_host(ctx):
    s = Session(ctx)
    r = ctx.run([ctx.bin('trapless'), '--disable', 'work', '--session', str(s.p.pid)], timeout=300)
    assert r.returncode == 0 and '1 probe disabled' in r.stdout, r
    r = ctx.run([ctx.bin('trapless'), '--sessions', '--session', str(s.p.pid)], timeout=300)
    assert r.returncode == 0 and re.search(r'^session %d: ' % s.p.pid, r.stdout, re.M), r
    s.end()


def test_killed_session_is_forgotten(ctx):
    """What a killed runner leaves behind goes when somebody looks."""
    s = Session(ctx)
    s.p.send_signal(signal.SIGKILL)
    s.p.wait()
    s.before.check()
    s.ask('--sessions', status=1)
    r = ctx.run([runner(ctx), '--sessions'], timeout=300)
    assert 'session %d' % s.p.pid not in r.stdout + r.stderr, r
    s.target.stdin.close()
    assert s.target.wait(timeout=300) == 7


def test_stopped_session(ctx):
    """One that cannot answer is told so; the others are listed."""
    runtime_folder(ctx)
    stopped, other = Session(ctx), Session(ctx)
    stopped.p.send_signal(signal.SIGSTOP)
    os.waitpid(stopped.p.pid, os.WUNTRACED)
    told = ask_all(ctx, '--sessions')[1]
    assert re.search(r'^session %d: ' % other.p.pid, told, re.M), told
    assert 'session %d does not answer: it is stopped (SIGSTOP)' % stopped.p.pid in told, told
    stopped.p.send_signal(signal.SIGCONT)
    for s in stopped, other:
        s.end()


def test_of_others(ctx):
    """Nobody but its owner, and root, may ask."""
    if os.getuid():
        ctx.skip('needs root to be somebody else')
    s = Session(ctx)
    other = 65533 if ctx.user else 65534
    r = subprocess.run([runner(ctx), '--sessions', '--session', str(s.p.pid)], user=other, group=other,
                       extra_groups=[], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, text=True)
    assert r.returncode == 1 and not r.stdout, r
    s.end()


def test_preloaded(ctx):
    """With --preload the same."""
    out = os.path.join(ctx.tmp, 'script.out')
    argv = words(ctx, '--preload', '-o', out, '-c', ctx.target('steps')) + [script_file(ctx, SCRIPT)]
    p = ctx.start(argv, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(ctx))
    s = Session.__new__(Session)
    s.ctx, s.p, s.target = ctx, p, p
    assert p.stdout.readline().startswith('ready')
    s.steps('work 7', 'idle 2')
    assert s.probe(0)[0] == 7
    s.ask('--disable', 'work')
    s.steps('work 7', 'idle 2')
    assert s.probe(0)[::3] == (7, 'DISABLED') and s.probe(1)[0] == 4
    s.ask('--enable', 'work')
    s.steps('work 1')
    p.stdin.close()
    p.stdin = None
    p.communicate(timeout=300)
    assert p.returncode == 7 and open(out).read() == 'work 8 idle 4\n'


test_preloaded.jumps_only = NO_BREAKPOINTS
