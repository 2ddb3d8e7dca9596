# SPDX-License-Identifier: MIT
"""Tests of scripts in a virtual machine's kernel: commands that its shell runs, and what they have to say."""
import machine


class Test:
    """`scripts`: name -> text, or the words for trapless, or what makes them for a machine; each lies there as NAME.tap."""

    def __init__(self, name, commands, judge, **scripts):
        self.name, self.commands, self.judge, self.scripts = name, commands, judge, scripts


# An interrupt of each processor, in 6.1 and in newer kernels.
TICK = 'kernel.function("tick_sched_timer")!, kernel.function("tick_nohz_handler")'


def session(tap, then):
    """`then` runs when the probes are armed; the session ends by SIGINT, and its status and output are told.
    What an earlier one said is no sign of this one."""
    return '''rm -f err; trapless-run -v %s >out 2>err & s=$!
until grep -qs 'probes armed in 1 processes' err || ! kill -0 $s 2>/dev/null; do usleep 50000; done
%s
kill -INT $s 2>/dev/null; wait $s; echo "status $?"; cat out; grep -E 'ERROR|WARNING|trapless-run: (the|cannot|this|probes of)' err''' % (tap, then)


def lines(*wanted):
    return lambda out: out == list(wanted) or 'said %r' % (out,)


def has(*words):
    return lambda out: all(any(w in line for line in out) for w in words) or 'said %r' % (out,)


def script(tests, *first):
    """What the machine does."""
    out = ['export PATH=/bin', 'cd /', *first, 'ktext keep before']
    for t in tests:
        out += ['echo "%s %s"' % (machine.MARK, t.name), '( %s ) 2>&1' % t.commands]
    return '\n'.join(out + ['echo "%s"' % machine.MARK, ''])


def compile_all(tests, vm):
    for name, text in {n: s for t in tests for n, s in t.scripts.items()}.items():
        text = text(vm) if callable(text) else text
        vm.compile(name, *(('-e', text) if isinstance(text, str) else text))


def judge(tests, told):
    """A line each, and one for the kernel's log. How many are bad?"""
    bad = 0
    for t in tests:
        verdict = t.judge(told[t.name]) if t.name in told else 'it never ran'
        bad += machine.report(t.name, None if verdict is True else verdict)
    return bad + machine.report('the_kernel_log_is_clean', machine.trouble(told))
