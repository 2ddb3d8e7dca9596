# SPDX-License-Identifier: MIT
"""Probes with a condition are in the program only while it holds."""
import time

from scripted import environment, launch
from support import ALL, NO_BREAKPOINTS, text_of, wait_until
from test_control import Session

GATED = 'global on, n, m probe process.function("work") if (on) { n++ } ' \
        'probe process.function("idle") { on = !on } ' \
        'probe process.function("idle").return if (on > 0 && n >= 3) { m++ } ' \
        'probe end { printf("work %d idle %d\\n", n, m) }'


def comes_to(s, nr, *states):
    """Until the probe is in one of these states; what it is else says the message."""
    wait_until(lambda: s.probe(nr)[3] in states, lambda: s.ask('--sessions'))


def is_in(s, nr):
    comes_to(s, nr, '', 'OPTIMIZED')


def is_out(s, nr):
    comes_to(s, nr, 'CONDITION')


def test_out_and_in(ctx):
    """Out from the start on; in once a handler of the program has made it true, and out again."""
    s = Session(ctx, script=GATED)
    assert s.probe(0)[2:] == ('-', 'CONDITION') and s.probe(2)[3] == 'CONDITION'
    s.steps('work 10', 'idle 1')
    is_in(s, 0)
    assert s.probe(2)[3] == 'CONDITION'
    s.steps('work 3')
    is_in(s, 2)
    s.steps('idle 1')  # false at its return
    is_out(s, 0)
    is_out(s, 2)
    hits = s.probe(0)[0]
    s.steps('work 10', 'idle 1')
    is_in(s, 0)
    is_in(s, 2)
    assert s.probe(0)[0] == hits  # nobody came by
    s.steps('work 2', 'idle 2')
    assert s.end()[0] == 'work 5 idle 1\n'


test_out_and_in.variants = ALL


def test_text_is_the_programs(ctx):
    """A probe that has seen enough takes itself out: nothing of it is left in the text."""
    s = Session(ctx, script='global n probe process.function("work") if (n < 3) { n++ } probe end { println(n) }')
    is_in(s, 0)
    s.steps('work 100')
    is_out(s, 0)
    for text, name in zip(s.before.text, s.before.names):
        assert text_of(s.target.pid, name) == text
    s.steps('work 100')
    assert s.end()[0] == '3\n'


test_text_is_the_programs.variants = ALL


def test_wildcards_and_arrays(ctx):
    """One condition for all that a pattern matches; elements, texts and statistics are globals, too."""
    s = Session(ctx, script='global a, s, t probe process.function("[wi][od]*[ke]") if (a["x"] > 1 && t == "go" && '
                '@count(s) < 3) { s <<< 1 } probe timer.ms(20) { a["x"]++ t = "go" } probe end { println(@count(s)) }')
    is_in(s, 0)
    is_in(s, 1)
    s.steps('work 1', 'idle 1', 'work 5')
    is_out(s, 0)
    is_out(s, 1)
    assert s.end()[0] == '3\n'


def test_with_the_users_own_switch(ctx):
    """Who has disabled a probe keeps it out, whatever its condition says; enabled, it is its condition's again."""
    s = Session(ctx, script=GATED)
    s.ask('--disable', '0')
    assert s.probe(0)[3] == 'DISABLED'
    s.steps('idle 1', 'work 1')
    time.sleep(0.2)
    assert s.probe(0)[3] == 'DISABLED'
    s.ask('--enable', '0')
    is_in(s, 0)
    s.steps('work 2', 'idle 1')
    is_out(s, 0)
    assert '1 probe enabled' in s.ask('--enable', '0')
    assert s.probe(0)[3] == 'CONDITION'
    assert s.end()[0] == 'work 2 idle 0\n'


BEGUN = 'global on, off = 1, n, never probe begin { on = 1 off = 0 } probe process.function("work") if (on) { n++ } ' \
        'probe process.function("work").return if (off) { never++ } probe end { printf("%d %d\\n", n, never) }'


def test_begin_has_its_say(ctx):
    """What `begin` makes true or false holds from the program's first instruction on."""
    r = launch(ctx, BEGUN, ctx.target('steps'), input='work 7\n')
    assert r.script == '7 0\n', r
    s = Session(ctx, script=BEGUN)
    is_in(s, 1)
    is_out(s, 2)
    s.steps('work 7')
    assert s.end()[0] == '7 0\n'


def test_timers(ctx):
    """A timer whose condition is false does not run, and begins anew."""
    script = 'global on, n, ticks probe timer.ms(5) if (on) { n++ if (n == 3) on = 0 } ' \
             'probe timer.ms(50) { ticks++ if (ticks == 4) on = 1 if (ticks == 8) exit() } ' \
             'probe end { printf("%d %d\\n", n, ticks) }'
    r = ctx.run([ctx.bin('trapless'), '-e', script], timeout=300, env=environment(ctx))
    assert r.stdout == '3 8\n', r


def test_preloaded(ctx):
    r = launch(ctx, BEGUN, ctx.target('steps'), '--preload', input='work 7\n')
    assert r.script == '7 0\n', r


test_preloaded.jumps_only = NO_BREAKPOINTS
