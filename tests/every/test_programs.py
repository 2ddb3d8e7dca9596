# SPDX-License-Identifier: MIT
"""Proof by running: real programs with every instruction probed, in slices whose union is every instruction, and with
every function's entry and returns probed at once, do what they do without us.

The long form takes as many slices of each program as fit in its time: others in each program, so that files which
several of them share come whole. EVERY_SECONDS=N gives each program N seconds (0: until all is done),
EVERY_PROGRAMS=a,b chooses programs, SEED=N other slices.
"""
import collections
import os
import re
import time

from programs import Work
from support_every import RUNGS, WHOLE, Session, chosen, instructions, seconds, tap

SLICE = 40000
LONG = 'gzip', 'sed', 'grep', 'sqlite3', 'perl', 'openssl', 'git', 'python3'  # cc1: takes an hour
SECONDS = {'opt': 20, 'traps': 30}


def works(ctx):
    for name in chosen(LONG if ctx.long else ('sed',)):
        folder = os.path.join(ctx.tmp, name)
        os.mkdir(folder)
        work = Work(name, folder)
        if work.path is None:
            print('# %s is not installed' % name, flush=True)
        else:
            yield work


def limit(ctx):
    return seconds(SECONDS[ctx.variant] if ctx.long else 5)


def number(said, words):
    m = re.search(r'%s(?: \(.*\))?: (\d+)$' % re.escape(words), said, re.M)
    return int(m.group(1)) if m else 0


def check_rungs(ctx, said):
    """Traps only means that no jump stands anywhere."""
    if ctx.variant == 'traps':
        assert not re.search(r'^(?:  )?(retarget|whole|pun|evict|window) ', said, re.M), said[-1500:]
    refused = number(said, 'probes refused')
    assert number(said, 'child processes that could not be cleaned') == 0, said[-1500:]
    return refused


def slices(sites, rng):
    """In interleaved slices most sites get the rung that they have alone; in contiguous ones they meet their neighbours."""
    n = len(sites) // SLICE + 1
    apart = [sites[i::n] for i in range(n)]
    dense = [sites[i:i + SLICE // 4] for i in range(0, len(sites), SLICE // 4)]
    rng.shuffle(apart)
    rng.shuffle(dense)
    return apart, dense


def one_program(ctx, work, union):
    known = {f: instructions(ctx.bin('trapless'), f) for f in work.files}
    session = Session(ctx, work)
    sites = [s for f in work.files for s in known[f][0]]
    apart, dense = slices(sites, ctx.dice(work.name))
    begun, done, refused, hits, n = time.monotonic(), set(), 0, 0, 0
    # All of one kind, so that their union is everything, with some of the other kind in between.
    for part in (s for i, a in enumerate(apart) for s in [a] + dense[i:i + 1]):
        if n and time.monotonic() - begun > limit(ctx):
            break
        said, numbers = session.run(session.at_sites(part))
        refused += check_rungs(ctx, said)
        hits += sum(numbers)
        done.update((s.file, s.addr) for s in part)
        n += 1
    union |= done
    if limit(ctx) == WHOLE:
        assert len(done) == len(sites), '%d of %d instructions' % (len(done), len(sites))
    assert hits > 1000, hits
    assert refused <= len(done) / 1000, '%d probes refused' % refused
    print('# %s %s: %d of %d instructions of %d files (%d cannot be probed), %d slices, %d hits, %.0f s' % (
        ctx.variant, work.name, len(done), len(sites), len(work.files), sum(known[f][1] for f in work.files), n, hits,
        time.monotonic() - begun), flush=True)


def test_every_instruction(ctx):
    failures, n, union = [], 0, set()
    for work in works(ctx):
        n += 1
        try:
            one_program(ctx, work, union)
        except AssertionError as e:
            failures.append('%s: %s' % (work.name, e))
    print('# %s: %d instructions of %d files' % (ctx.variant, len(union), len({file for file, _ in union})), flush=True)
    assert not failures, '\n'.join(failures)
    assert n >= (6 if ctx.long and not os.environ.get('EVERY_PROGRAMS') else 1), n


hits_of = {}  # (program, variant): hits of each point that is armed


# They read the list of their mappings, which is longer the more detours there are.
LOOK_AT_MAPPINGS = 'grep',


def reads(work):
    """The points of read()."""
    libc = next(f for f in work.files if os.path.basename(f) == 'libc.so.6')
    at = 'libc.so.6:0x%x' % tap.elf_symbols(open(libc, 'rb').read(), (11,))['read'][0]
    return {at, at + '.return'}


def same_hits(work):
    """Breakpoints and jumps see the same calls, wherever both stand: a program's memory may lie elsewhere, which costs a few."""
    name = work.name
    jumps, traps = hits_of.get((name, 'opt')), hits_of.get((name, 'traps'))
    if not jumps or not traps:
        return
    both = jumps.keys() & traps.keys()
    if name in LOOK_AT_MAPPINGS:
        assert both >= reads(work), reads(work)
        both -= reads(work)
    a, b = sum(jumps[p] for p in both), sum(traps[p] for p in both)
    print('# %s: %d hits by jumps, %d by breakpoints at %d points that have both' % (name, a, b, len(both)), flush=True)
    most = sorted(both, key=lambda p: -abs(jumps[p] - traps[p]))[:10]
    assert abs(a - b) <= b / 1000, '%d hits by jumps, %d by breakpoints: %s' % (
        a, b, ', '.join('%s %d, %d' % (p, jumps[p], traps[p]) for p in most))


def entries_and_returns(ctx, work):
    """All of them at once. Each is armed, or refused with a reason."""
    session, begun = Session(ctx, work), time.monotonic()
    m, points = session.at_functions(session.all_functions())
    said, numbers = session.run(m, '--explain')
    check_rungs(ctx, said)
    told = {point: rung for rung, point in re.findall(r'^(%s|refused) +\S+ +([^\s;]+)' % RUNGS, said, re.M)}
    hits = dict(zip(points, numbers))
    missing = [p for p in points if p not in told]
    assert not missing and len(numbers) == len(points), (len(missing), missing[:5], len(numbers), said[-1500:])
    assert sum(numbers) > 1000, sum(numbers)
    refused = list(told.values()).count('refused')
    reasons = collections.Counter(re.findall(r'^refused .*\[(\w+)\]', said, re.M))
    assert refused <= len(points) / 100, '%d of %d probes refused: %s' % (refused, len(points), reasons)
    hits_of[work.name, ctx.variant] = {p: n for p, n in hits.items() if told[p] != 'refused'}
    print('# %s %s: %d functions, %d probes refused, %d hits, %.0f s' % (
        ctx.variant, work.name, len(points) // 2, refused, sum(numbers), time.monotonic() - begun), flush=True)
    same_hits(work)


def test_every_function(ctx):
    failures = []
    for work in works(ctx):
        try:
            entries_and_returns(ctx, work)
        except AssertionError as e:
            failures.append('%s: %s' % (work.name, e))
    assert not failures, '\n'.join(failures)


for _test in (test_every_instruction, test_every_function):
    _test.variants = ('opt', 'traps')
    _test.timeout = 0  # each run is watched
test_every_function.together = True  # same_hits()
