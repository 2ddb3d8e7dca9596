# SPDX-License-Identifier: MIT
"""--trace-events in processes: counts and values are what programs have done, and what strace counts."""
import collections
import os
import re
import shutil

LINE = re.compile(r'^ *(\d+)\.(\d{6}) +(\d+) (.*)\((\d+)\) (\S+)(?: (.*))?$')
FIELD = re.compile(r'(\$?\w+)=("(?:[^"\\]|\\.)*"|\S*)')


class Event:
    def __init__(self, line):
        m = LINE.match(line)
        assert m, line
        self.us = int(m[1]) * 1000000 + int(m[2])
        self.tid, self.program, self.pid, self.name = int(m[3]), m[4], int(m[5]), m[6]
        self.fields = dict(FIELD.findall(m[7] or ''))


def traced(ctx, events, command, *options, status=0):
    """Its events, and what was said."""
    out = os.path.join(ctx.tmp, 'events.out')
    p = ctx.run([ctx.bin('trapless'), '-v', '-o', out, '--trace-events', events, *options, '-c', command], timeout=300)
    assert p.returncode == status, p
    assert not re.search(r'lost.*[1-9]', p.stderr), p.stderr
    return [Event(line) for line in open(out).read().splitlines()], p.stderr


def program(ctx, *how, name='events'):
    """Made anew each time: it has the header's code."""
    path = os.path.join(ctx.tmp, name)
    source = os.path.join(ctx.root, 'tests', 'targets', 'events.c')
    if not os.path.exists(path):
        p = ctx.run(['gcc', '-O2', '-g', '-pthread', *how, '-I', os.path.join(ctx.root, 'include'), '-o', path, source])
        assert p.returncode == 0, p
    return path


def by_name(events, name):
    return [e for e in events if e.name == name]


def test_system_calls(ctx):
    """As many as were made, each with its result, in the order of time."""
    events, _ = traced(ctx, 'sys_*', program(ctx) + ' 500')
    calls = [e for e in by_name(events, 'sys_enter') if e.fields['name'] == 'getppid']
    results = [e for e in by_name(events, 'sys_exit') if e.fields['name'] == 'getppid']
    assert (len(calls), len(results)) == (500, 500)
    assert {e.program for e in events} == {'events'}, events[0].program
    assert len({(e.tid, e.pid) for e in events}) == 1 and events[0].tid == events[0].pid
    assert all(a.us <= b.us for a, b in zip(events, events[1:]))
    assert {e.fields['nr'] for e in calls} == {'110'} and len({e.fields['ip'] for e in calls}) == 1
    assert all(int(e.fields['ret']) > 0 for e in results)
    last = by_name(events, 'sys_enter')[-1]
    assert last.fields['name'] == 'exit_group' and last.fields['arg1'] == '0x0', last.fields


def test_counts_are_those_of_strace(ctx):
    if not shutil.which('strace'):
        ctx.skip('there is no strace')
    command = [program(ctx), '20', '3', '2']
    told = os.path.join(ctx.tmp, 'strace.out')
    p = ctx.run(['strace', '-f', '-c', '-U', 'calls,name', '-o', told, *command])
    if p.returncode:
        ctx.skip('strace may not trace: ' + p.stderr)
    want = {m[2]: int(m[1]) for m in re.finditer(r'^ *(\d+) (\w+)$', open(told).read(), re.M) if m[2] != 'total'}
    events, _ = traced(ctx, 'sys_enter', ' '.join(command))
    found = collections.Counter(e.fields['name'] for e in events)
    assert (found.pop('exit_group'), found.pop('exit')) == (4, 2), found
    # It counts calls that return, and sees the program start. Threads wait for each other, or find that there is no need.
    for name in ('execve', 'futex'):
        found.pop(name, None)
        want.pop(name, None)
    assert found == want, (found, want)


def test_family(ctx):
    """Children and threads: each begins and ends once, and is what its parent was told."""
    events, _ = traced(ctx, 'fork,exec,exit,thread_*', program(ctx) + ' 0 3 4')
    main = events[0].pid
    made = {int(e.fields['child']) for e in by_name(events, 'fork')}
    begun = {e.pid for e in by_name(events, 'exec')}
    ended = [e.pid for e in by_name(events, 'exit')]
    threads = {e.tid for e in by_name(events, 'thread_begin')}
    assert (len(made), len(begun), len(ended), len(threads)) == (7, 4, 4, 4), [vars(e) for e in events]
    assert begun == set(ended) and made | {main} == begun | threads, (made, begun, threads)
    assert threads == {e.tid for e in by_name(events, 'thread_end')}
    assert {e.fields['parent'] for e in by_name(events, 'exec') if e.pid != main} == {str(main)}
    assert by_name(events, 'exec')[0].fields['args'] == '"%s 0 3 4"' % program(ctx)


def test_programs_of_a_shell(ctx):
    events, _ = traced(ctx, 'exec,exit', "sh -c '/bin/echo a \"b c\" >/dev/null; /bin/true; exit 3'", status=3)
    begun = [e.fields['args'] for e in by_name(events, 'exec')]
    assert '"/bin/echo a b c"' in begun and '"/bin/true"' in begun, begun
    assert {e.program for e in by_name(events, 'exit')} == {'sh', 'echo', 'true'}


def test_files_and_memory(ctx):
    """Text is quoted, flags have names."""
    events, _ = traced(ctx, 'file_open,mem_*', 'cat /dev/null')
    opened = [e.fields for e in by_name(events, 'file_open')]
    assert {'file': '"/dev/null"', 'flags': 'O_RDONLY'} in opened, opened
    mapped = by_name(events, 'mem_map')
    assert any('PROT_READ' in e.fields['prot'] and 'MAP_PRIVATE' in e.fields['flags'] for e in mapped)
    assert all(int(e.fields['len']) > 0 for e in mapped + by_name(events, 'mem_unmap'))


def values(event):
    return {name: int(value, 0) for name, value in event.fields.items() if name != 'from'}


def test_hooks(ctx):
    """By their names and by patterns, with their parameters by name."""
    events, _ = traced(ctx, 'net:*', program(ctx) + ' 0 0 0 5')
    assert [e.name for e in events] == ['net:packet_in', 'net:packet_out'] * 5
    assert [values(e) for e in events] == [{'len': n} for i in range(5) for n in (i, 2 * i)]
    assert {list(e.fields) == ['len', 'from'] for e in by_name(events, 'net:packet_in')} == {True}
    events, _ = traced(ctx, 'disk:seek', program(ctx) + ' 0 0 0 5')
    assert [values(e) for e in events] == [{'at': 3 * i} for i in range(5)]
    events, _ = traced(ctx, '*:*k*,exit', program(ctx) + ' 0 0 0 2')
    assert [e.name for e in events] == ['net:packet_in', 'net:packet_out', 'disk:seek'] * 2 + ['exit']


def test_marks(ctx):
    """Where a program has marks of <sys/sdt.h>, and no hooks."""
    marks = ctx.target('marks', ldflags=())
    names = re.findall(r'mark\("(\w+)"\)', ctx.run([ctx.bin('trapless'), '-l', 'process("%s").mark("*")' % marks]).stdout)
    p = ctx.run([ctx.bin('trapless'), '-p2', '--trace-events', 'targets:*', '-c', marks], timeout=300)
    assert names and all('.provider("targets").mark("%s")' % n in p.stdout for n in names), p


def made_here(ctx, path):
    """Where the function is that makes the calls, and its size."""
    nm = ctx.run(['nm', '-S', path]).stdout
    return [int(n, 16) for n in re.search(r'^(\w+) (\w+) T made_here$', nm, re.M).groups()]


def callers(ctx, *bounds):
    events, _ = traced(ctx, 'sys_enter', program(ctx) + ' 3', '--trace-caller', *bounds)
    return {e.fields['caller'] for e in events if e.fields['name'] == 'getppid'}


def test_callers(ctx):
    """The nearest one within the bounds, and none that is too deep."""
    _, size = made_here(ctx, program(ctx))
    found, = callers(ctx, '1')
    m = re.fullmatch(r'made_here\+(0x[0-9a-f]+)', found)
    assert m and 0 < int(m[1], 16) < size, found
    assert callers(ctx, '8,' + os.path.basename(program(ctx))) == {found}
    assert callers(ctx, '8,' + program(ctx)) == {found}
    in_libc, = callers(ctx, '8,libc.so.6')
    assert in_libc.startswith('__libc_start') or in_libc.startswith('libc.so.6+0x'), in_libc
    assert callers(ctx, '2,libc.so.6') == {'-'}
    fixed = program(ctx, '-fno-pie', '-no-pie', name='fixed')
    at, size = made_here(ctx, fixed)
    events, _ = traced(ctx, 'sys_enter', fixed + ' 3', '--trace-caller', '9,%#x-%#x' % (at, at + size))
    seen = collections.Counter(e.fields['caller'].split('+')[0] for e in events)
    assert seen['made_here'] == 3 and set(seen) == {'made_here', '-'}, seen


def test_of_a_stripped_program(ctx):
    """Where a place has no name it is its file and the place in it."""
    stripped = os.path.join(ctx.tmp, 'bare')
    assert ctx.run(['strip', '-o', stripped, program(ctx)]).returncode == 0
    events, _ = traced(ctx, 'sys_enter', stripped + ' 3', '--trace-caller', '1')
    found, = {e.fields['caller'] for e in events if e.fields['name'] == 'getppid'}
    assert re.fullmatch(r'bare\+0x[0-9a-f]+', found), found


def test_other_options(ctx):
    """A running process; a time limit; more script; a module that is run elsewhere."""
    p = ctx.start(['sleep', '1000'])
    try:
        s = ctx.run([ctx.bin('trapless'), '--trace-events', 'exec', '-T', '1', '-x', str(p.pid), '-E', 'probe end { println("over") }'], timeout=300)
        assert s.returncode == 0 and re.fullmatch(r' +\d+\.\d+ +%d sleep\(%d\) exec parent=%d args="sleep 1000"\nover\n' % (p.pid, p.pid, os.getpid()), s.stdout), s
    finally:
        p.kill()
        p.wait()
    out = ctx.run([ctx.bin('trapless'), '-p4', '-m', 'ends', '--trace-events', 'exit', '-c', 'true'], timeout=300)
    assert out.stdout == 'ends.tap\n', out
    r = ctx.run([ctx.bin('trapless-run'), 'ends.tap', '-c', 'true'], timeout=300)
    assert r.returncode == 0 and r.stdout.endswith(' exit\n'), r
