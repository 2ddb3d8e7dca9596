# SPDX-License-Identifier: MIT
"""--format folded, svg and pprof: the stacks of a real program, counted as the text output of the same run has them."""
import collections
import os
import re
import subprocess
import xml.etree.ElementTree

PROBE = 'probe process.library("libc.so.6").function("malloc") '
GIT = 'git -C {} log -n 2 --oneline'


def recording(ctx, script, *words):
    folder = os.path.join(ctx.tmp, 'repository')
    if not os.path.exists(folder):
        for args in (['init', '-q', folder], ['-C', folder, '-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-q',
                     '--allow-empty', '-m', 'one']):
            subprocess.run(['git', *args], check=True)
    raw = os.path.join(ctx.tmp, 'recording')
    r = ctx.run([ctx.bin('trapless'), '--ldd', '-e', script, '--format', 'raw', '-o', raw, *words, '-c', GIT.format(folder)], timeout=600)
    assert r.returncode == 0, r.stderr
    return raw


def converted(ctx, raw, form):
    out = os.path.join(ctx.tmp, 'out.' + form)
    r = ctx.run([ctx.bin('trapless'), '--convert', raw, '--format', form, '-o', out])
    assert r.returncode == 0, r.stderr
    return out


def name(line):
    """Of a frame, as print_ubacktrace() writes it."""
    m = re.fullmatch(r' 0x[0-9a-f]+ (?:: (.*)\+0x[0-9a-f]+/0x[0-9a-f]+ )?\[(.*?)(?:\+0x[0-9a-f]+/0x[0-9a-f]+)?\]', line)
    assert m, line
    return m[1] or '[%s]' % os.path.basename(m[2])


def printed(path):
    """How often each stack is there: frames from the outermost one on."""
    found = collections.Counter()
    with open(path) as f:
        for text in f.read().split('--\n')[1:]:
            found[tuple(name(line) for line in reversed(text.splitlines()))] += 1
    return found


def folded(path):
    found = collections.Counter()
    with open(path) as f:
        for line in f:
            stack, count = line.rstrip('\n').rsplit(' ', 1)
            found[tuple(stack.split(';'))] += int(count)
    return found


def pprof(path):
    """What `go tool pprof` reads: the types, and for each stack its values."""
    env = {**os.environ, 'HOME': os.path.dirname(path)}
    p = subprocess.run(['go', 'tool', 'pprof', '-raw', path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    assert p.returncode == 0, p.stderr
    head, rest = p.stdout.split('Samples:\n')
    samples, rest = rest.split('Locations\n')
    places = dict(re.findall(r'^ *(\d+): 0x[0-9a-f]+ (?:M=\d+ )?(.*?) :0(?::0)? s=0', rest, re.M))
    types, *lines = samples.splitlines()
    found = {}
    for line in lines:
        values, ids = line.split(':')
        stack = tuple(places[i] for i in reversed(ids.split()))
        found.setdefault(stack, []).append([int(v) for v in values.split()])
    return types.split(), found


def summed(found):
    return {stack: [sum(v) for v in zip(*values)] for stack, values in found.items()}


def widths(path):
    """Of the boxes of a flame graph: samples by name."""
    root = xml.etree.ElementTree.parse(path).getroot()
    found = collections.Counter()
    for title in root.iter('{http://www.w3.org/2000/svg}title'):
        m = re.fullmatch(r'(.*): (\d+) \([\d.]+ %\)', title.text)
        found[m[1]] += int(m[2])
    return found


def test_printed_stacks(ctx):
    """Each event with a stack counts, below its program; a stack is one field of one event."""
    raw = recording(ctx, PROBE + '{ println("--") print_ubacktrace() }')
    want = printed(converted(ctx, raw, 'text'))
    assert len(want) > 20 and max(len(stack) for stack in want) > 8, want
    below = {('git', *stack): n for stack, n in want.items()}
    assert folded(converted(ctx, raw, 'folded')) == below
    types, found = pprof(converted(ctx, raw, 'pprof'))
    assert types == ['malloc.count/count'] and summed(found) == {stack: [n] for stack, n in below.items()}, types
    boxes = widths(converted(ctx, raw, 'svg'))
    assert boxes['all'] == boxes['git'] == sum(want.values()), boxes
    assert boxes['__libc_malloc'] == sum(n for stack, n in want.items() if '__libc_malloc' in stack), boxes


def test_counted_stacks(ctx):
    """Stacks that are keys of a global: its values, and not the events once more."""
    script = 'global s ' + PROBE + '{ println("--") print_ubacktrace() s[execname(), pid() > 0, sprint_ubacktrace()] <<< $bytes }'
    raw = recording(ctx, script + ' probe end { foreach ([a, b, c] in s) total += @sum(s[a, b, c]) println("--") println(total) }',
                    '-DMAXSTRINGLEN=8192')
    with open(converted(ctx, raw, 'text')) as f:
        text = f.read()
    head, _, total = text.rpartition('--\n')
    with open(os.path.join(ctx.tmp, 'head'), 'w') as f:
        f.write(head)
    want = {('git', 'pid_0 1', *stack): n for stack, n in printed(os.path.join(ctx.tmp, 'head')).items()}
    assert folded(converted(ctx, raw, 'folded')) == want
    types, found = pprof(converted(ctx, raw, 'pprof'))
    found = summed(found)
    assert types == ['s.count/count', 's.sum/count'], types
    assert {stack: v[0] for stack, v in found.items()} == want and sum(v[1] for v in found.values()) == int(total), total


def test_addresses_and_folded_texts(ctx):
    """Addresses without names; names with semicolons in a field called stack; several events, each below its name."""
    raw = recording(ctx, PROBE + '{ println(ubacktrace()) } probe begin { stack = "a;b" n = 3 printf("%s %d\\n", stack, n) }')
    with open(converted(ctx, raw, 'text')) as f:
        lines = [line.split() for line in f if line.startswith('0x')]
    want = collections.Counter(('malloc', 'git', *reversed(words)) for words in lines)
    want['begin', 'trapless-run', 'a', 'b'] = 1
    assert folded(converted(ctx, raw, 'folded')) == want


def test_no_stack(ctx):
    for form in ('folded', 'svg', 'pprof'):
        r = ctx.run([ctx.bin('trapless'), '-e', 'probe begin { println(1) exit() }', '--format', form, '-o', os.path.join(ctx.tmp, form)])
        assert r.returncode == 1 and 'no stack in its events' in r.stderr and 'print_ubacktrace' in r.stderr, r
