# SPDX-License-Identifier: MIT
"""trapless trace: the calls of a program, against uftrace and callgrind, and as slices for Perfetto."""
import collections
import json
import os
import re

from support_front import good, shop, trapless

PAIR = ('opt', 'traps')
SQL = 'create table t(a, b); insert into t values(1, 2), (3, 4), (5, 6); select a, sum(b) from t group by a order by b'
SQLITE = ('sqlite3', ':memory:', SQL)
MINE = ('main', 'tail', 'leaf', 'jumps', 'deep', 'again', 'sleeps', 'other', 'finish')


def returning(ctx, **kw):
    return ctx.target('returning', **kw)


def traced(ctx, *words):
    path = os.path.join(ctx.tmp, 'calls')
    good(ctx, 'trace', '-o', path, *words)
    with open(path) as f:
        return f.read()


def entries(listing, names=MINE):
    """(depth, name) of each call, in order; both listings are indented by two. The outermost of those names has depth 0."""
    found = re.findall(r'^(?:.*\| )?( *)(\w+)\(\)(?:;| \{)', listing, re.M)
    found = [(len(indent) // 2, name) for indent, name in found if name in names]
    least = min(depth for depth, name in found)
    return [(depth - least, name) for depth, name in found]


def test_trace_as_uftrace_replays(ctx):
    """A program built for uftrace: which function calls which, tail calls and longjmp included."""
    path = returning(ctx, cflags=('-O2', '-g', '-pg'))
    data = os.path.join(ctx.tmp, 'uftrace')
    p = ctx.run(['uftrace', 'record', '-d', data, path, '20'])
    assert p.returncode == 0, p.stderr
    theirs = ctx.run(['uftrace', 'replay', '-d', data, '-f', 'none']).stdout
    ours = traced(ctx, '--', path, 20)
    assert len(entries(theirs)) > 100 and entries(ours) == entries(theirs), (ours, theirs)


test_trace_as_uftrace_replays.variants = PAIR


def test_trace_of_a_program_as_it_is(ctx):
    """No rebuild; every way in which a call ends, and two threads, each nesting by itself."""
    out = traced(ctx, '--', returning(ctx), 3, 'threads')
    by_thread = collections.defaultdict(list)
    for tid, line in re.findall(r'\[ *(\d+)\] \| (.*)$', out, re.M):
        by_thread[tid].append(line)
    assert len(by_thread) == 2, out
    second = [lines for lines in by_thread.values() if lines[0].startswith('other')][0]
    first = [lines for lines in by_thread.values() if lines is not second][0]
    again = [(1, 'again'), (2, 'again'), (3, 'again'), (4, 'leaf')]
    assert entries('\n'.join(second)) == [(0, 'other')] + 3 * again and second[-1] == '} /* other */', out
    text = '\n'.join(first)
    assert text.count('deep(); /* left without a return */') == 3, out
    assert text.count('} /* deep: left without a return */') == 6, out
    assert re.search(r'^ *finish\(\); /\* no return until the end \*/\n *\} /\* main: no return until the end \*/$', text, re.M), out
    depths = {name: depth for depth, name in entries(text)}
    assert depths['main'] == 0 and depths['jumps'] == depths['tail'] == depths['sleeps'] == depths['finish'] == 1, out


test_trace_of_a_program_as_it_is.variants = PAIR + ('nobody',)


def test_times_of_calls(ctx):
    """None is shorter than what it calls, and the one that sleeps takes as long."""
    out = traced(ctx, '--', returning(ctx))
    unit = {'us': 1, 'ms': 1e3, 's': 1e6}
    within = collections.defaultdict(float)
    for number, name_of_unit, indent in re.findall(r'^ *([\d.]+) (us|ms|s) +\[ *\d+\] \| ( *)', out, re.M):
        depth, us = len(indent) // 2, float(number) * unit[name_of_unit]
        assert us * 1.001 + 0.002 >= within.pop(depth + 1, 0), (depth, us, out)
        within[depth] += us
    assert re.search(r'^ *(2\d|[3-9]\d|\d{3})\.\d+ ms \[ *\d+\] \|  *sleeps\(\);$', out, re.M), out


def recorded(ctx, *words):
    path = os.path.join(ctx.tmp, 'recording')
    good(ctx, 'trace', '--format', 'raw', '-o', path, '--', *words)
    return path


def converted(ctx, recording, kind, *limits):
    path = os.path.join(ctx.tmp, kind)
    good(ctx, '--convert', recording, '--format', kind, '-o', path, *limits)
    return path


def listed(ctx, recording, *limits):
    with open(converted(ctx, recording, 'calls', *limits)) as f:
        return f.read()


def test_less_is_shown(ctx):
    """The same recording, with and without what is too deep or too short."""
    recording = recorded(ctx, returning(ctx))
    whole = listed(ctx, recording)
    for depth in 2, 3:
        assert entries(listed(ctx, recording, '--depth', depth)) == [c for c in entries(whole) if c[0] < depth - 1], whole
    slow = listed(ctx, recording, '--min', '20ms')
    ended = re.compile(r'^ *[\d.]+ (?:us|ms|s) .*$', re.M)
    of_20_ms = [line for line in ended.findall(whole) if re.match(r' *([2-9]\d|\d{3})\.\d+ ms| *[\d.]+ s ', line)]
    shown = ended.findall(slow)
    assert [names(line) for line in shown] == [names(line) for line in of_20_ms] and 'sleeps' in str(shown), (whole, slow)


def names(line):
    return re.findall(r'\w+', line.split('|')[1])


def callgrind(ctx, command):
    """Calls of each function; callgrind counts those within themselves apart."""
    path = os.path.join(ctx.tmp, 'callgrind')
    p = ctx.run(['valgrind', '--tool=callgrind', '--callgrind-out-file=' + path, *command])
    assert p.returncode == 0, p.stderr
    names, calls = {}, collections.Counter()
    with open(path) as f:
        for line in f:
            named = re.match(r'(c?)fn=\((\d+)\)(?: (.*))?$', line)
            if named:
                called, number, name = named.groups()
                if name:
                    names[number] = name.split("'")[0]
                callee = number if called else None
            elif line.startswith('calls='):
                calls[names[callee]] += int(line[6:].split()[0])
    return calls


def test_counts_as_callgrind_has_them(ctx):
    """All of sqlite3's library that has names: no call more, none less."""
    theirs = {name: n for name, n in callgrind(ctx, SQLITE).items() if name.startswith('sqlite3_')}
    out = traced(ctx, 'libsqlite3.so.0:sqlite3_*', '-w', '--', *SQLITE)
    ours = collections.Counter(re.findall(r'\| *(\w+)\(\)', out))
    assert len(theirs) > 30 and ours == theirs, (ours, theirs)


test_counts_as_callgrind_has_them.variants = PAIR


def fields(data):
    """Of a protobuf message: (number, value), values of variable length as bytes."""
    at, found = 0, []

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value
    while at < len(data):
        key = varint()
        value = varint()
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        found.append((key >> 3, value))
    return found


def slices(path):
    """(depth, name) of each slice by track; each ends in the track that it began in, and not before what is in it."""
    with open(path, 'rb') as f:
        packets = [dict(fields(packet)) for number, packet in fields(f.read())]
    tracks = collections.defaultdict(list)
    for packet in packets:
        if 11 in packet:
            event = dict(fields(packet[11]))
            tracks[event[11]].append((packet[8], event[9], event.get(23, b'').decode()))
    found = {}
    for track, events in tracks.items():
        depth, found[track] = 0, []
        assert [time for time, kind, name in events] == sorted(time for time, kind, name in events)
        for time, kind, name in events:
            if kind == 1:
                found[track].append((depth, name))
            depth += {1: 1, 2: -1, 3: 0}[kind]
            assert depth >= 0, events
    return [of for of in found.values() if of]


def test_the_same_calls_for_perfetto(ctx):
    """One recording, written as both."""
    recording = recorded(ctx, returning(ctx), 5)
    for limits in (), ('--depth', 3), ('--min', '20ms'):
        (ours,) = slices(converted(ctx, recording, 'perfetto', *limits))
        listing = listed(ctx, recording, *limits)
        assert ours == entries(listing, MINE + ('_start',)), (ours, listing)


def test_trace_for_perfetto_at_once(ctx):
    """Two threads are two tracks."""
    path = os.path.join(ctx.tmp, 'drawn')
    good(ctx, 'trace', '--format', 'perfetto', '-o', path, '--', returning(ctx), 5, 'threads')
    found = slices(path)
    assert len(found) == 2 and [(0, 'other')] + 5 * [(1, 'again'), (2, 'again'), (3, 'again'), (4, 'leaf')] in found, found


def test_trace_as_json(ctx):
    path = os.path.join(ctx.tmp, 'out')
    good(ctx, 'trace', 'sell', 'price_of', '--format', 'json', '-o', path, '--', shop(ctx), 1, 90)
    with open(path) as f:
        counts = collections.Counter(e['event'] for e in map(json.loads, f) if e['type'] == 'event')
    assert counts == {'sell.call': 90, 'sell.return': 90, 'price_of.call': 90, 'price_of.return': 90}, counts


def test_limits_want_calls(ctx):
    for words, said in ((('trace', '--min', '1us', '--format', 'json', '--', 'true'), 'which this format does not show'),
                        (('--depth', 2, '-e', 'probe begin { exit() }'), 'which this format does not show'),
                        (('trace', '--min', 'long', '-x', 1), 'with ns, us, ms or s behind the number'),
                        (('trace', '--depth', 0, '-x', 1), 'invalid value')):
        p = trapless(ctx, *words)
        assert p.returncode == 2 and said in p.stderr and not p.stdout, (words, p)
