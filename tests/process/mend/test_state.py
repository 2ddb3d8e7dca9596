# SPDX-License-Identifier: MIT
"""Handlers run with the processor as the program has set it, do what they do elsewhere, and leave it so."""
from scripted import launch
from support import ALL

ROUNDS = 10
CALLS = 7 * ROUNDS
SCRIPT = '''
global calls, names, sum, wrong, digits, all
probe process.function("probed") {
	names[user_string($o->name), $a %% 7]++
	sum += $o->number + $o->half
	if (user_string($o->name) =~ "^mis(.*), and" && matched(1) != "aligned")
		wrong++
	all <<< $a & 1
	if (calls %% 2 && @variance(all, 1) > 1)
		wrong++
	calls++
}
probe process.function("probed").return {
	if ($return != @entry($a) + 1 || @entry($o->number) != 1000)
		wrong++
	digits = digits . sprintf("%%d", $return %% 10) . %s
}
probe end {
	foreach ([name, n] in names)
		if (name != "misaligned, and longer than a word" || names[name, n] != %d)
			wrong++
	printf("calls %%d sum %%d wrong %%d digits %%d\\n", calls, sum, wrong, strlen(digits))
}
'''


def check(ctx, more='""'):
    path = ctx.target('state')
    r = launch(ctx, SCRIPT % (more, ROUNDS), '%s %d' % (path, ROUNDS))
    assert (r.returncode, r.stdout) == (13, 'calls %d wrong 0\n' % CALLS), (r.returncode, r.stdout, r.stderr)
    assert r.script == 'calls %d sum %d wrong 0 digits %d\n' % (CALLS, CALLS * 1007, CALLS), (r.script, r.stderr)


def test_flags(ctx):
    """Alignment checked, string instructions backwards, others' rounding: arrays, text, misaligned reads."""
    check(ctx)


test_flags.variants = ALL


def test_flags_in_stacks(ctx):
    """The same, where the handler walks the stack."""
    check(ctx, 'substr(sprint_ubacktrace(), 0, 0)')
