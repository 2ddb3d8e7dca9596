# SPDX-License-Identifier: MIT
"""--format and --convert: each format, read by another program or parser, has what the script prints as text."""
import collections
import csv
import json
import os
import re
import signal
import struct
import subprocess

from context import wait_until

# Numbers at their limits, in each way to print them; texts with all bytes that there are.
VALUES = r"""
function bytes:string(from:long, to:long) {
  text = ""
  for (i = from; i < to; i++) text .= sprintf("%c", i)
  return text
}
probe begin {
  low = -9223372036854775807 - 1
  minus = -1 two = -2 eight = 8 high = 9223372036854775807 none = ""
  printf("%d %u %x %#o %d\n", low, minus, two, eight, high)
  all = bytes(1, 256)
  printf("%s|%s\n", all, none)
  digits = ""
  for (i = 0; i < 400; i++) digits .= "0123456789"
  printf("%s\n", digits)
  a = 65 quote = 34 number = 42 text = "cut, not here" one = 1
  printf("%c%-5c|%*d|%.2s\n", a, quote, 7, number, text)
  print("one ")
  print(one)
  println(" and ", 2, one + number)
  printf("no value\n")
  println(pp(), pid())
  println(pid(), pid())
  printf("no end of a line")
}
"""
LOW, HIGH = -2**63, 2**63 - 1
ALL = bytes(range(1, 256))


def converted(ctx, raw, form):
    out = os.path.join(ctx.tmp, 'out.' + form)
    r = ctx.run([ctx.bin('trapless'), '--convert', raw, '--format', form, '-o', out])
    return r, out


def recording(ctx, script, *args, status=0):
    raw = os.path.join(ctx.tmp, 'recording')
    r = ctx.run([ctx.bin('trapless'), '-e', script, '--format', 'raw', '-o', raw, *args], timeout=600)
    assert r.returncode == status, r.stderr
    return raw


def json_lines(path):
    with open(path) as f:
        return [json.loads(line) for line in f]


def events(lines):
    return [line for line in lines if line['type'] == 'event']


def exact(fields, name):
    """The bytes of a text."""
    return bytes.fromhex(fields[name + '_hex']) if name + '_hex' in fields else fields[name].encode()


def ctf_events(folder):
    """What babeltrace2 reads: name, and fields as it writes them."""
    p = subprocess.run(['babeltrace2', '--clock-gmt', '--no-delta', '--names=none', folder], stdout=subprocess.PIPE, check=True)
    out = []
    for line in p.stdout.splitlines():
        m = re.fullmatch(rb'\[[\d:.]+\] (?:\S+ )?(.*?): \{ (.*?) \}, \{ ?(.*?) ?\}', line, re.S)
        assert m, line
        out.append((m[1].decode(), m[2], m[3]))
    return out


def is_told(name):
    """Of the session, not of a handler or a global."""
    return name.startswith('trapless:')


def unescaped(text):
    """A text of babeltrace2's, in quotes."""
    out, i = bytearray(), 0
    simple = dict(zip(b'abtnvfre"\'\\?', b'\a\b\t\n\v\f\r\x1b"\'\\?'))
    while i < len(text):
        if text[i] != 0x5c:
            out.append(text[i])
            i += 1
        elif text[i + 1] == 0x78:
            out.append(int(text[i + 2:i + 4], 16))
            i += 4
        else:
            out.append(simple[text[i + 1]])
            i += 2
    return bytes(out)


def test_values(ctx):
    """In all formats the same: numbers at their limits, every byte, long texts, lines of several prints."""
    raw = recording(ctx, VALUES, '-DMAXSTRINGLEN=8192')
    r, text = converted(ctx, raw, 'text')
    pid = str(events(json_lines(converted(ctx, raw, 'json')[1]))[0]['pid'])
    long = b'0123456789' * 400
    expected = [b'%d %d %x %s %d' % (LOW, 2**64 - 1, 2**64 - 2, b'010', HIGH), ALL[:9] + b'\n' + ALL[10:] + b'|', long,
                b'A"    |     42|cu', b'one 1 and 243', b'no value', b'begin' + pid.encode(), pid.encode() * 2,
                b'no end of a line']
    assert open(text, 'rb').read() == b'\n'.join(expected), open(text, 'rb').read()
    check_json(converted(ctx, raw, 'json')[1], pid)
    check_csv(converted(ctx, raw, 'csv')[1], pid)
    check_ctf(converted(ctx, raw, 'ctf')[1], pid)


def check_json(path, pid):
    lines = json_lines(path)
    fields = [e['fields'] for e in events(lines)]
    assert [list(f.values()) for f in fields[:1]] == [[LOW, 2**64 - 1, 2**64 - 2, 8, HIGH]]
    assert exact(fields[1], 'all') == ALL and fields[1]['none'] == ''
    assert fields[2] == {'digits': '0123456789' * 400}
    assert list(fields[3].values()) == ['A', '"', 42, 'cut, not here'], fields[3]
    assert fields[4] == {'one': 1, 'one_number': 43}, fields[4]
    assert fields[5] == {'text': 'no value'}
    assert fields[6] == {'pp': 'begin', 'pid': int(pid)} and fields[7] == {'pid': int(pid), 'pid_2': int(pid)}
    assert fields[8] == {'text': 'no end of a line'} and len(fields) == 9
    head, end = lines[0], lines[-1]
    assert head['type'] == 'session' and end['type'] == 'end' and (end['lost'], end['errors']) == (0, 0), (head, end)
    assert 0 <= events(lines)[0]['time_ns'] - head['realtime_ns'] < 3600 * 10**9
    assert head['monotonic_ns'] <= head['boottime_ns'] < head['realtime_ns']


def check_csv(path, pid):
    with open(path, encoding='latin-1', newline='') as f:
        rows = list(csv.DictReader(f))
    assert [r['type'] for r in rows] == ['event'] * 9 + ['hits']
    rows.pop()
    assert len(rows) == 9 and {r['event'] for r in rows} == {'begin'}
    assert [rows[0][n] for n in ('low', 'minus', 'two', 'eight', 'high')] == [
        str(LOW), str(2**64 - 1), hex(2**64 - 2), '010', str(HIGH)], rows[0]
    assert rows[1]['all'] == ALL.decode('latin-1') and rows[2]['digits'] == '0123456789' * 400
    assert rows[5]['text'] == 'no value' and rows[8]['text'] == 'no end of a line'
    assert rows[6]['pid'] == rows[6]['pid_2'] == pid, rows[6]
    # The second one of a print that has two is named at the end.
    assert rows[7]['pid_2'] == pid and rows[7]['more'] == 'pid_2=' + pid, rows[7]


def check_ctf(folder, pid):
    got = [fields for name, context, fields in ctf_events(folder) if not is_told(name)]
    assert got[0] == b'%d, %d, 0x%X, 010, %d' % (LOW, 2**64 - 1, 2**64 - 2, HIGH), got[0]
    m = re.fullmatch(rb'"(.*)", ""', got[1], re.S)
    assert m and unescaped(m[1]) == ALL, got[1]
    assert got[2] == b'"' + b'0123456789' * 400 + b'"'
    assert got[4] == b'1, 43', got[4]
    assert got[5] == b'"no value"' and got[6] == b'"begin", %s' % pid.encode() and len(got) == 9


THREADS = 'probe process.function("work") { printf("%d %d %d\\n", tid(), $thread, $call) }'


def test_threads(ctx):
    """Of many threads: each event is its thread's, in order of time, live and from a recording."""
    command = '%s 4 500' % ctx.target('throng')
    live = os.path.join(ctx.tmp, 'live')
    r = ctx.run([ctx.bin('trapless'), '-e', THREADS, '--format', 'json', '-o', live, '-c', command])
    assert (r.returncode, r.stdout) == (0, 'ready\ndone\n'), r
    of_live = check_threads(json_lines(live))
    raw = recording(ctx, THREADS, '-c', command)
    lines = json_lines(converted(ctx, raw, 'json')[1])
    assert check_threads(lines) == of_live, 'what a live session gives differs from a recording'
    in_ctf = [context for name, context, _ in ctf_events(converted(ctx, raw, 'ctf')[1]) if not is_told(name)]
    in_ctf = collections.Counter(context.split(b',')[1].strip() for context in in_ctf)
    assert sorted(in_ctf.values()) == of_live, in_ctf


def check_threads(lines):
    """How many events each thread has."""
    found = events(lines)
    assert found and all(e['tid'] == e['fields']['tid'] and e['pid'] == found[0]['pid'] for e in found)
    assert found[0]['comm'].startswith('throng') and len({e['comm'] for e in found}) == 1
    times = [e['time_ns'] for e in found]
    assert times == sorted(times)
    assert lines[-1]['type'] == 'end' and lines[-1]['records'] == len(found), lines[-1]
    counts = collections.Counter(e['tid'] for e in found)
    assert sorted(counts.values()) == [500] * 4, counts
    for tid in counts:
        assert [e['fields']['call'] for e in found if e['tid'] == tid] == list(range(500))
    return sorted(counts.values())


LOSING = """global n
probe process.function("work") { n++ printf("%d\\n", $call) }
probe end { printf("%d hits\\n", n) }"""


def test_losses(ctx):
    """Recorded and lost are all, for each format."""
    raw = recording(ctx, LOSING, '-DRINGSIZE=4096', '-c', '%s 1 20000' % ctx.target('throng'))
    counts = {}
    for form in ('json', 'csv', 'ctf'):
        r, out = converted(ctx, raw, form)
        assert r.returncode == 0, r.stderr
        counts[form] = COUNTED[form](out)
    assert len(set(counts.values())) == 1, counts
    got, lost, hits = counts['json']
    assert lost and got + lost == hits + 1, counts


def lost_in_json(path):
    lines = json_lines(path)
    lost = sum(line['count'] for line in lines if line['type'] == 'lost')
    assert lost == lines[-1]['lost']
    assert lines[-1]['records'] == len([line for line in lines if line['type'] in ('event', 'row')]), lines[-1]
    return len(events(lines)), lost, events(lines)[-1]['fields']['n']


def lost_in_csv(path):
    with open(path, newline='') as f:
        rows = list(csv.DictReader(f))
    got = [r for r in rows if r['type'] == 'event']
    return len(got), sum(int(r['text']) for r in rows if r['type'] == 'lost'), int(got[-1]['n'])


def lost_in_ctf(folder):
    all = ctf_events(folder)
    lost = sum(int(fields) for name, _, fields in all if name.endswith('trapless:lost'))
    got = [fields for name, _, fields in all if not is_told(name) and name != 'n']
    return len(got), lost, int(got[-1])


COUNTED = {'json': lost_in_json, 'csv': lost_in_csv, 'ctf': lost_in_ctf}

TOLD = """probe begin { warn("be careful") }
probe process.function("work") { if ($call == 3) error("three") printf("%d\\n", $call) }"""


def test_errors_and_warnings(ctx):
    """They are events, and are told on the standard error output as where text is written."""
    command = '%s 1 5' % ctx.target('throng')
    text = ctx.run([ctx.bin('trapless'), '-e', TOLD, '-c', command, '-o', os.path.join(ctx.tmp, 'text')])
    for form in ('json', 'csv'):
        r = ctx.run([ctx.bin('trapless'), '-e', TOLD, '-c', command, '--format', form, '-o', os.path.join(ctx.tmp, form)])
        assert (r.returncode, r.stderr) == (text.returncode, text.stderr) and r.returncode == 1, (r, text)
    lines = json_lines(os.path.join(ctx.tmp, 'json'))
    error = [line for line in lines if line['type'] == 'error']
    assert len(error) == 1 and error[0]['text'].startswith('three near') and 'function("work' in error[0]['probe'], error
    assert [line['text'] for line in lines if line['type'] == 'warning'] == ['be careful']
    with open(os.path.join(ctx.tmp, 'csv'), newline='') as f:
        kinds = [row['type'] for row in csv.DictReader(f)]
    assert kinds.count('error') == kinds.count('warning') == 1, kinds


ROWS = r"""global calls, text, number, all, none, wide, nested
probe process.function("work") {
  calls[tid(), execname()] <<< $call
  all <<< $call - 100
  wide[$call % 3] <<< $call
  number++
  text[$call % 2 ? "odd" : "even"] .= "x"
  nested[$thread, value(), "k"] = 1
}
function value() { return 7 }
probe end {
  foreach ([t, e] in calls) printf("%d %s %d %d %d %d %d\n", t, e, @count(calls[t, e]), @min(calls[t, e]),
    @max(calls[t, e]), @sum(calls[t, e]), @avg(calls[t, e]))
  print(@hist_log(all))
  foreach (k in wide) print(@hist_linear(wide[k], 10, 100, 20))
}"""


def drawn(lines):
    """Counts by the first number of a bucket, as a histogram's drawing has them; "<" and ">" are kept."""
    rows = [re.fullmatch(r' *([<>]?-?\d+) \|@* *(\d+)', line) for line in lines]
    return {m[1]: int(m[2]) for m in rows if m and int(m[2])}


def test_rows(ctx):
    """Globals are rows with named keys, histograms have their bounds, and hits are told: as the text of the same run has them."""
    raw = recording(ctx, ROWS, '-c', '%s 3 300' % ctx.target('throng'))
    text = open(converted(ctx, raw, 'text')[1]).read()
    printed, *drawings = re.split(r' *value \|', text)
    lines = json_lines(converted(ctx, raw, 'json')[1])
    rows = collections.defaultdict(list)
    for line in lines:
        if line['type'] == 'row':
            rows[line['event']].append(line['fields'])
    assert [list(f) for f in rows['calls'][:1]] == [['tid', 'execname', 'count', 'min', 'max', 'sum', 'avg']], rows['calls']
    assert sorted(' '.join(str(v) for v in f.values()) for f in rows['calls']) == sorted(printed.splitlines()), (rows, printed)
    assert rows['number'] == [{'value': 900}] and rows['none'] == [{'value': 0}], rows
    assert sorted(f['value'] for f in rows['text']) == ['x' * 450] * 2
    assert sorted(f['thread'] for f in rows['nested']) == [0, 1, 2] and rows['nested'][0]['key_value'] == 7, rows['nested']
    assert rows['nested'][0]['value'] == 1 and len(rows['nested'][0]) == 4
    check_buckets(rows, drawings)
    hits = [line for line in lines if line['type'] == 'hits']
    assert [line['count'] for line in hits if 'work' in line['probe']] == [900] and lines[-1]['type'] == 'end', hits
    assert not [line for line in events(lines) if line['event'] == 'none'], 'an unread global is there twice'
    with open(converted(ctx, raw, 'csv')[1], newline='') as f:
        table = [r for r in csv.DictReader(f) if r['type'] == 'row' and r['event'] == 'calls']
    assert sorted(int(r['sum']) for r in table) == sorted(f['sum'] for f in rows['calls']), table


def test_rows_while_it_runs(ctx):
    """With --every they come again and again; a histogram without a sample has no row."""
    script = 'global n, s, never probe timer.ms(10) { n++ s <<< n } probe end { println(n, @count(s)) if (0) never <<< 1 }'
    p = ctx.start([ctx.bin('trapless'), '-e', script, '--format', 'json', '--every', '1'], stderr=subprocess.PIPE)
    seen = []
    while len(seen) < 3:
        line = json.loads(p.stdout.readline())
        assert line['type'] in ('session', 'row') and line.get('event') != 'never', line
        if line.get('event') == 'n':
            seen.append(line['fields']['value'])
    assert 0 < seen[0] < seen[1] < seen[2], seen
    p.send_signal(signal.SIGINT)
    rest = [json.loads(line) for line in p.stdout]
    end = [line['fields'] for line in rest if line['type'] == 'event']
    rows = {line['event']: line['fields'] for line in rest if line['type'] == 'row'}
    assert p.wait(300) == 0 and end[0]['n'] == rows['n']['value'] == rows['s']['count'] >= seen[2], rest
    for words in (['--format', 'json', '--every', '0'], ['--every', '1']):
        r = ctx.run([ctx.bin('trapless'), '-e', 'probe begin { exit() }', *words])
        assert r.returncode and 'every' in r.stderr, r


def check_buckets(rows, drawings):
    log, *linear = [drawn(d.splitlines()) for d in drawings if d.strip()][:4]
    got = {str(f['low'] if f['low'] >= 0 else f['high']): f['count'] for f in rows['all.buckets']}
    assert got == log and sum(got.values()) == 900, (got, log)
    assert all(f['low'] <= f['high'] for f in rows['all.buckets'] + rows['wide.buckets'])
    for key, want in zip({f['call_3']: None for f in rows['wide.buckets']}, linear):
        of = [f for f in rows['wide.buckets'] if f['call_3'] == key]
        first = lambda f: '<10' if f['low'] == LOW else '>90' if f['high'] == HIGH else str(f['low'])
        assert {first(f): f['count'] for f in of} == want and sum(f['count'] for f in of) == 300, (of, want)


def test_processes(ctx):
    """What the runner tells of a thread is that thread's, not the runner's."""
    script = 'probe process.begin { println(pid(), " ", execname()) } probe process.thread.end { println(tid()) }'
    raw = recording(ctx, script, '-c', '/bin/sh -c "/bin/true; /bin/true"')
    all = events(json_lines(converted(ctx, raw, 'json')[1]))
    begun = [e for e in all if e['event'] == 'process.begin']
    assert len({e['pid'] for e in begun}) == 3, all
    for e in begun:
        assert (e['pid'], e['comm']) == (e['fields']['pid'], e['fields']['execname']), e


def test_empty_sessions(ctx):
    raw = recording(ctx, 'probe end { }')
    for form, what in [('text', b''), ('csv', b'type,')]:
        assert open(converted(ctx, raw, form)[1], 'rb').read().startswith(what)
    assert [line['type'] for line in json_lines(converted(ctx, raw, 'json')[1])] == ['session', 'hits', 'end']
    assert [name for name, _, _ in ctf_events(converted(ctx, raw, 'ctf')[1])] == ['trapless:hits']


def test_damage(ctx):
    """What came before it is converted; the status says that there is more."""
    raw = recording(ctx, 'probe process.function("work") { println($call) }', '-c', '%s 1 50' % ctx.target('throng'))
    whole = open(raw, 'rb').read()
    size, = struct.unpack_from('<Q', whole, 8)
    first = 16 + 24 + 64 + size
    cut = os.path.join(ctx.tmp, 'cut')

    def of(data, why, least=0):
        with open(cut, 'wb') as f:
            f.write(data)
        r, out = converted(ctx, cut, 'json')
        assert r.returncode == 1 and why in r.stderr and 'next step' in r.stderr, r
        got = events(json_lines(out)) if os.path.getsize(out) else []
        os.unlink(out)
        assert [e['fields']['call'] for e in got] == list(range(len(got))) and least <= len(got) < 51, got

    of(whole[:-10], 'the recording is cut', 50)
    of(whole[:first + 24 * 40], 'the recording is cut', 10)
    of(whole[:first + 24 * 40 + 7], 'the recording is cut', 10)
    of(whole[:first - 8], 'the recording is cut')
    of(whole[:4] + struct.pack('<I', 99) + whole[8:], 'a recording of version 99')
    of(b'#!/bin/sh\n', 'not a recording')
    of(b'', 'not a recording')
    of(whole[:first + 24 * 40] + bytes(64), 'damaged at byte')
    dice = ctx.dice('damage')
    for _ in range(60):
        data = bytearray(whole)
        for _ in range(dice.randrange(1, 4)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        with open(cut, 'wb') as f:
            f.write(data[:dice.randrange(len(data))] if dice.randrange(2) else data)
        r, out = converted(ctx, cut, dice.choice(['json', 'csv', 'text']))
        assert r.returncode in (0, 1), r


def test_outputs(ctx):
    """A full disk, a folder that is not there or has something in it, a reader that has seen enough."""
    command, trapless = '%s 1 3' % ctx.target('throng'), ctx.bin('trapless')
    script = 'probe process.function("work") { println($call) }'
    r = ctx.run([trapless, '-e', script, '--format', 'json', '-o', '/dev/full', '-c', command])
    assert r.returncode == 1 and '/dev/full: No space left' in r.stderr and 'make room' in r.stderr, r
    began, full = (os.path.join(ctx.tmp, name) for name in ('began', 'full'))
    os.makedirs(os.path.join(full, 'something'))
    for form, out, why in [('json', '/nowhere/out', 'No such file'), ('ctf', full, 'not empty'), ('ctf', None, 'writes a folder')]:
        at = ['-o', out] if out else []
        r = ctx.run([trapless, '-e', 'probe process.begin { println(1) }', '--format', form, *at, '-c', 'touch ' + began])
        assert r.returncode and why in r.stderr and 'next step' in r.stderr, r
        assert not os.path.exists(began), 'the program was started all the same'
    script = 'probe timer.ms(1) { println("a line") }'
    p = ctx.start([trapless, '-e', script, '--format', 'json', '-T', '600'], stderr=subprocess.PIPE)
    assert json.loads(p.stdout.readline())['type'] == 'session'
    p.stdout.close()
    assert p.wait(300) == 0, p.stderr.read()


def test_signals(ctx):
    """Whoever is interrupted has written all to its end; what comes is given out as it comes."""
    for sig in (signal.SIGINT, signal.SIGTERM):
        p = ctx.start([ctx.bin('trapless'), '-e', 'probe begin { println("here") } probe end { println("there") }',
                       '--format', 'json'], stderr=subprocess.PIPE)
        lines = [json.loads(p.stdout.readline()) for _ in range(2)]
        assert lines[1]['fields'] == {'text': 'here'}
        p.send_signal(sig)
        rest = [json.loads(line) for line in p.stdout]
        assert [line['type'] for line in rest] == ['event', 'hits', 'hits', 'end'] and rest[0]['fields'] == {'text': 'there'}, rest
        assert p.wait(300) == 0, p.stderr.read()
