# SPDX-License-Identifier: MIT
"""Arrays whose size nobody has said grow with their elements, as far as the memory for all of them reaches."""
import os
import random
import re

from test_values import built

KEYS, HITS, NAMES = 200000, 300000, 100003
SCRIPT = '''
global n, sum, stats, dropped
probe process.function("given") {
    n[$a]++
    sum[sprintf("key %d", $a % NAMES)] += $b
    stats[$a, $c] <<< $b
    dropped[$a] = $b
    if ($a % 3 == 0) delete dropped[$a]
}
probe end {
    foreach (k in n) printf("n %d %d\\n", k, n[k])
    foreach (s in sum) printf("sum %s %d\\n", s, sum[s])
    foreach ([k, c] in stats) printf("stats %d %d %d %d\\n", k, c, @count(stats[k, c]), @sum(stats[k, c]))
    foreach (k in dropped-) printf("left %d %d\\n", k, dropped[k])
    delete n
    n[7] = 1
    foreach (k in n) printf("new %d %d\\n", k, n[k])
}
'''.replace('NAMES', str(NAMES))
UNBOUND = ['--no-global-var-display', '-D', 'MAXACTION_INTERRUPTIBLE=100000000']


def hits():
    r = random.Random(4)
    keys = [r.getrandbits(40) for _ in range(KEYS)]
    chosen = keys + [r.choice(keys) for _ in range(HITS - KEYS)]
    return [(k, r.randrange(-1000, 1000), k % 5) for k in chosen]


def counted(given):
    """What the script must print, line by line; of `left` the order of what is equal is left open."""
    n, sums, stats, left = {}, {}, {}, {}
    for a, b, c in given:
        n[a] = n.get(a, 0) + 1
        name = 'key %d' % (a % NAMES)
        sums[name] = sums.get(name, 0) + b
        count, total = stats.get((a, c), (0, 0))
        stats[a, c] = count + 1, total + b
        if a % 3:
            left[a] = b
    return ['n %d %d' % e for e in n.items()] + ['sum %s %d' % e for e in sums.items()] + [
        'stats %d %d %d %d' % (*k, *v) for k, v in stats.items()], left


def test_200000_keys_are_counted_as_python_does(ctx):
    program, given = built(ctx, 'numbers.c', 'gcc', '-O2'), hits()
    path = os.path.join(ctx.tmp, 'given')
    with open(path, 'w') as f:
        f.writelines('%d %d %d\n' % three for three in given)
    p = ctx.run([ctx.bin('trapless'), *UNBOUND, '-e', SCRIPT, '-c', '%s < %s' % (program, path)], timeout=300)
    assert (p.returncode, p.stderr) == (0, ''), p.stderr[-2000:]
    wanted, left = counted(given)
    lines = p.stdout.splitlines()
    assert lines[:len(wanted)] == wanted, next(pair for pair in zip(lines, wanted) if pair[0] != pair[1])
    rest = [line.split() for line in lines[len(wanted):-1]]
    values = [int(v) for _, _, v in rest]
    assert {int(k): int(v) for _, k, v in rest} == left and len(rest) == len(left)
    assert values == sorted(values, reverse=True) and lines[-1] == 'new 7 1', lines[-1]


def overflow(ctx, *words):
    """How many elements there were, and what the error said of them."""
    script = 'global a, s probe oneshot { try { for (i = 0; i < 3000000; i++) { a[i] = i; n++ } } catch (m) { println(n, " ", m) } s["x"] = "y" }'
    p = ctx.run([ctx.bin('trapless'), *UNBOUND, *words, '-e', script], timeout=120)
    assert (p.returncode, p.stderr) == (0, ''), p
    return re.fullmatch(r'(\d+) Array overflow, check MAXMAPENTRIES \((\d+) elements(.*)\)\n', p.stdout).groups()


def test_an_overflow_says_the_limit_and_how_to_raise_it(ctx):
    n, said, rest = overflow(ctx)
    assert n == said == '1048576' and rest == '; -D MAXMAPENTRIES=N sets another limit', (n, said, rest)
    n, said, rest = overflow(ctx, '-D', 'MAXMAPENTRIES=5')
    assert n == said == '5' and rest == '; -D MAXMAPENTRIES=N sets another limit', (n, said, rest)
    n, said, rest = overflow(ctx, '-D', 'MAPMEMORY=6')
    assert n == said and rest == ' fill its memory; -D MAPMEMORY=MIB gives more, up to 960', (n, said, rest)
    assert int(overflow(ctx, '-D', 'MAPMEMORY=12')[0]) == 2 * int(n)
    assert overflow(ctx, '-D', 'MAPMEMORY=1')[0] == '13107'


def test_an_array_with_a_size_has_that(ctx):
    script = 'global a[5000], b%%[5000], c%% probe oneshot { for (i = 0; i < 9000; i++) { b[i] = c[i] = i; if (i < %d) a[i] = i } ' \
             'foreach (k in b) n++; foreach (k in c) m++; println(n, " ", m) }'
    good = ctx.run([ctx.bin('trapless'), *UNBOUND, '-e', script % 5000])
    assert (good.returncode, good.stdout, good.stderr) == (0, '5000 2048\n', ''), good
    bad = ctx.run([ctx.bin('trapless'), *UNBOUND, '-e', script % 5001])
    assert bad.returncode == 1 and 'Array overflow, check size limit (5000)' in bad.stderr, bad
