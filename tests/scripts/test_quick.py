# SPDX-License-Identifier: MIT
"""Quick halves of handlers: whatever sends one to the whole handler, what the script says is done once."""
from test_values import built

CALLS = 4 * 3 * 500
SAY = ' probe end { foreach (k in a) { n++; if (@count(a[k]) == 12) twelve++ } println(n, " ", twelve) }'


def run(ctx, script, *options, status=0):
    """What is printed, and said of errors; the first handler has a quick half."""
    program = built(ctx, 'keys.c', 'gcc', '-O2')
    text = script.replace('keyed', 'process("%s").function("keyed")' % program)
    c = ctx.run([ctx.bin('trapless'), '-p3', *options, '-e', text], timeout=300)
    assert c.returncode == 0 and '_whole(struct' in c.stdout, c
    p = ctx.run([ctx.bin('trapless'), *options, '-c', program, '-e', text], timeout=300)
    assert p.returncode == status, p
    return p.stdout, p.stderr


def test_threads_share_an_array(ctx):
    """Elements are made once, locks that are taken are waited for, no hit is lost."""
    say = SAY.replace('@count(a[k])', 'a[k]')
    assert run(ctx, 'global a, n, twelve probe keyed { a[int_arg(1)]++ }' + say)[0] == '500 500\n'
    assert run(ctx, 'global a, n, twelve probe keyed { a[long_arg(1)] <<< int_arg(2) }' + SAY)[0] == '500 500\n'
    assert run(ctx, '''global a, n, neg, all probe keyed { a[int_arg(1)] <<< int_arg(2) }
        probe end { foreach (k in a) { n += @count(a[k]); if (@min(a[k]) == @max(a[k])) all++; if (@sum(a[k]) < 0) neg++ }
        println(n, " ", all, " ", neg) }''')[0] == '%d 500 499\n' % CALLS


def test_ways_through(ctx):
    """`next` and conditions, elements that are read only, locals, scalars behind a lock."""
    out, _ = run(ctx, '''global a, seen, last
        probe keyed { x = -int_arg(2); if (x & 1) next; if (a[x]) { seen++ } else { a[x] = x + 1 } }
        probe end { foreach (k in a) last += a[k] - k; println(last, " ", seen) }''')
    assert out == '250 %d\n' % (CALLS // 2 - 250), out


def test_nothing_is_changed_twice(ctx):
    """A half that finds an element missing has changed none before."""
    say = ' probe end { println(a[1], " ", a[2], " ", [2] in a) }'
    once = 'global a probe begin { a[1] = 5 } probe keyed { if (long_arg(1) == 7919) %s }'
    twelve_times = 5 * 2 ** 12
    assert run(ctx, once % 'a[1] = a[2] - 2 * a[1]' + say)[0] == '%d 0 0\n' % twelve_times
    assert run(ctx, once % 'a[1] = (x = a[2]) + 2 * a[1]' + say)[0] == '%d 0 0\n' % twelve_times
    assert run(ctx, once % 'if (!a[2]) a[1] = 2 * a[1]' + say)[0] == '%d 0 0\n' % twelve_times


def test_what_has_no_number(ctx):
    """Without registers an argument is an error, as ever; so is one on the stack that cannot be read."""
    program = built(ctx, 'keys.c', 'gcc', '-O2')
    p = ctx.run([ctx.bin('trapless'), '-c', program, '-e', 'global a probe begin { a[int_arg(1)]++ }'], timeout=300)
    assert 'cannot access function args in this context near identifier' in p.stderr, p


def test_full(ctx):
    """An array that is full is an error with its place, once a hit; one that wraps drops its oldest elements."""
    _, err = run(ctx, 'global a[10] probe keyed { a[int_arg(1)]++ }', status=1)
    assert 'Array overflow, check size limit (10) near identifier \'a\' at <input>:1:' in err, err
    out, _ = run(ctx, 'global a%[10] probe keyed { a[int_arg(1)]++ } probe end { foreach (k in a) n++; println(n) }')
    assert out == '10\n', out


def test_several_locks(ctx):
    """Who needs two has no quick half, and works."""
    program = built(ctx, 'keys.c', 'gcc', '-O2')
    script = 'global on, a, b probe begin { on = 1 } probe process("%s").function("keyed") { if (on) a[tid()]++ } ' \
             'probe process("%s").function("keyed") { b[1] <<< a[2] } ' \
             'probe end { foreach (t in a) n += a[t]; println(n, " ", @count(b[1])) }' % (program, program)
    p = ctx.run([ctx.bin('trapless'), '-c', program, '-e', script], timeout=300)
    assert (p.returncode, p.stdout) == (0, '%d %d\n' % (CALLS, CALLS)), p


def locking(ctx, script):
    """How many of its handlers take locks."""
    c = ctx.run([ctx.bin('trapless'), '-p3', '-e', script], timeout=300)
    assert c.returncode == 0, c
    return c.stdout.count('static const uint16_t locks[]')


def test_what_begin_has_said_is_not_locked(ctx):
    """A number or text that no other handler writes stays as it is."""
    program = built(ctx, 'keys.c', 'gcc', '-O2')
    script = 'global base, name, all, n probe begin { base = 40; name = "x" } %s ' \
             'probe process("' + program + '").function("keyed") { all[name] += base; n++ } probe end { println(all["x"] == 40 * n, " ", n > 0) }'
    # begin itself, and two the array.
    assert locking(ctx, script % '') == 3
    p = ctx.run([ctx.bin('trapless'), '-c', program, '-e', script % ''], timeout=300)
    assert p.stdout == '1 1\n', p
    read = 'global base probe begin { base = 40 } %s probe process("' + program + '").function("keyed") { println(base) }'
    assert locking(ctx, read % '') == 1
    for other in ('probe timer.s(9) { base++ }', 'probe end { base = 1 }', 'probe process("%s").function("main") { base = 1 }' % program,
                  'function f() { base = 1 } probe timer.s(9) { f() }'):
        assert locking(ctx, read % other) >= 3, other
