# SPDX-License-Identifier: MIT
"""Signals that meet the program in code of ours: its handlers find it where it would be without us."""
import re

from scripted import launch
from support import ALL, PAIR, tap

FAULTING = ('at_first', 'inside', 'long_one', 'through', 'through_first', 'divides')
ROUNDS = 20
CALLS = ROUNDS * 2 * 17  # 6 cases, each left, mended and skipped (but one); with a fault, and without
QUEUED = 16  # signals a round of a profiler's
AGAIN = ROUNDS * 3  # mended, and the probed instruction itself was run again


def counting(names, point='process.function("%s")'):
    return 'global n\n' + ''.join('probe %s { n++ }\n' % (point % f) for f in names) + 'probe end { println(n) }\n'


def test_at_their_address(ctx):
    """SIGSEGV and SIGFPE of probed instructions, and of those that a window covers: left, mended, skipped."""
    path = ctx.target('faults')
    r = launch(ctx, counting(FAULTING), '%s %d' % (path, ROUNDS))
    assert (r.returncode, r.stdout) == (7, 'right %d\n' % ROUNDS), (r.stdout, r.stderr)
    assert r.script == '%d\n' % (CALLS + AGAIN), (r.script, r.stderr)
    if ctx.variant == 'opt':
        windows = [line for line in r.stderr.splitlines() if line.startswith('window ')]
        assert len(windows) == 4, r.stderr


def test_probed_themselves(ctx):
    """Each faulting instruction has the probe: mended, it is run through that once more."""
    path = ctx.target('faults')
    symbols = tap.elf_symbols(open(path, 'rb').read())
    points = ['0x%x' % symbols[name + '_faulty'][0] for name in FAULTING]
    r = launch(ctx, counting(points, 'process("%s").statement(%%s)' % path), '%s %d' % (path, ROUNDS))
    assert (r.returncode, r.stdout) == (7, 'right %d\n' % ROUNDS), (r.stdout, r.stderr)
    assert r.script == '%d\n' % (CALLS + ROUNDS * len(FAULTING)), (r.script, r.stderr)
    assert ctx.variant != 'opt' or 'retarget ' in r.stderr, r.stderr


def test_thrown_from(ctx):
    """An exception thrown by the handler goes through the instruction that has faulted."""
    path = ctx.target('nullthrow.cc', cc='g++', cflags=('-O2', '-fnon-call-exceptions'))
    r = launch(ctx, counting(('load',)), '%s 100' % path)
    assert (r.returncode, r.stdout, r.script) == (4, 'seen 100\n', '100\n'), (r.stdout, r.script, r.stderr)


def profiled(ctx, script, rounds, *args):
    """(samples, those that lead to main()): of as many rounds as asked for, fewer on a slow machine."""
    path = ctx.target('profiled')
    names = ('work', 'flags_now', 'backwards')
    r = launch(ctx, script(names), ' '.join((path, str(rounds)) + args), '-D', 'MAXACTION=100000', timeout=300)
    assert r.returncode == 7, (r.returncode, r.stdout, r.stderr)
    said = re.fullmatch(r'samples (\d+) to main (\d+) queued (\d+) in order \3 wrong 0 stepped 0\n', r.stdout)
    assert said, (r.stdout, r.stderr)
    samples, to_main, queued = map(int, said.groups())
    assert 0 < samples <= rounds and queued == samples * QUEUED, r.stdout
    calls = int(re.search(r'^calls (\d+)$', r.stderr, re.M).group(1))
    assert r.script.split()[0] == str(calls * len(names)), (r.script, calls, r.stderr)
    return samples, to_main


def test_profiled(ctx):
    """By a signal that is sent thread to thread; its handler's backtrace leads to main(). Queued ones come in order."""
    samples, to_main = profiled(ctx, counting, 50)
    assert to_main == samples, (to_main, samples)


def test_profiled_own_stack(ctx):
    """With a stack of its own for the handlers."""
    samples, to_main = profiled(ctx, counting, 50, 'own')
    assert to_main == samples, (to_main, samples)


def test_profiled_long(ctx):
    """A handler that takes long runs to its end first, without a step for each instruction."""
    def long(names):
        return 'global m\n' + counting(names).replace('n++', 'n++; for (i = 0; i < 5000; i++) m <<< i')
    samples, to_main = profiled(ctx, long, 20)
    assert to_main == samples, (to_main, samples)


for _f in (test_profiled, test_profiled_own_stack, test_profiled_long):
    _f.variants = ALL
for _f in (test_at_their_address, test_probed_themselves, test_thrown_from):
    _f.variants = PAIR
