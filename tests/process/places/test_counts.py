# SPDX-License-Identifier: MIT
"""Hit counts of scripts are exact: against programs that know their own counts, and against the kernel's uprobes."""
import os
import re
import shutil
import subprocess

from scripted import attach, check_rung, environment, finish, launch
from support import ALL, LIBC, PAIR, has_worked, start, tap

THREE = '''
global enter, leave, middle, bad
probe process.function("work") { enter++ }
probe process.function("work").return { leave++; if ($return != @entry($a * 3 + $b)) bad++ }
probe process.statement("work@count.c:%d") { middle++ }
probe end { printf("enter %%d leave %%d middle %%d bad %%d\\n", enter, leave, middle, bad) }
'''


def line_of(ctx, name, text):
    with open(os.path.join(ctx.root, 'tests', 'targets', name)) as f:
        return 1 + next(i for i, line in enumerate(f) if text in line)


def exactly(ctx, threads, calls=5000, **how):
    path = ctx.target('count', **how)
    script = THREE % line_of(ctx, 'count.c', 'return a * 3 + b')
    r = launch(ctx, script, '%s %d %d' % (path, threads, calls))
    n = threads * calls
    assert r.returncode == 7 and 'calls %d\n' % n in r.stdout, r
    assert r.script == 'enter %d leave %d middle %d bad 0\n' % (n, n, n), (r.script, r.stderr)
    check_rung(ctx, r.stderr, n)


def test_one_thread(ctx):
    exactly(ctx, 1)


def test_eight_threads(ctx):
    exactly(ctx, 8)


def test_static(ctx):
    exactly(ctx, 3, cflags=('-O2', '-g', '-static'))


def test_static_without_symbols(ctx):
    """gcc -static writes no .eh_frame_hdr: .eh_frame itself proves where functions lie."""
    path, bare = ctx.target('count', cflags=('-O2', '-g', '-static')), os.path.join(ctx.tmp, 'bare')
    subprocess.run(['strip', '-o', bare, path], check=True)
    assert 'GNU_EH_FRAME' not in ctx.run(['readelf', '-lW', bare]).stdout
    work = next(line.split()[0] for line in ctx.run(['nm', path]).stdout.splitlines() if line.endswith(' work'))
    r = launch(ctx, 'global n probe process("%s").statement(0x%s).absolute { n++ } probe end { println(n) }' % (bare, work),
               '%s 3 5000' % bare)
    assert r.returncode == 7 and r.script == '15000\n', r
    check_rung(ctx, r.stderr, 15000)


def test_static_pie(ctx):
    exactly(ctx, 3, cflags=('-O2', '-g', '-static-pie'))


def test_no_pie(ctx):
    exactly(ctx, 3, cflags=('-O2', '-g', '-no-pie'))


def test_musl(ctx):
    exactly(ctx, 3, cc='musl-gcc', cflags=('-O2', '-g'))


def test_clang(ctx):
    exactly(ctx, 3, cc='clang')


def test_unoptimized(ctx):
    exactly(ctx, 3, cflags=('-O0', '-g'))


test_one_thread.variants = ALL
test_eight_threads.variants = ALL + ('clang',)
for _f in (test_static, test_static_pie, test_no_pie, test_musl, test_clang, test_unoptimized):
    _f.variants = PAIR


def stripped(ctx, extra=()):
    """The program without symbols; work()'s address comes from the one that still has them."""
    full = ctx.target('count', cflags=('-O2', '-g') + tuple(extra))
    bare = os.path.join(ctx.tmp, 'bare')
    subprocess.run(['strip', '-o', bare, full], check=True)
    return bare, tap.elf_symbols(open(full, 'rb').read())['work'][0]


def test_stripped_address(ctx):
    bare, address = stripped(ctx)
    r = launch(ctx, 'global n, s probe process("%s").statement(0x%x) { n++; s += int_arg(2) }\n'
               'probe end { printf("n %%d s %%d\\n", n, s) }' % (bare, address), bare + ' 4 3000')
    assert r.returncode == 7 and r.script == 'n 12000 s 12000\n', (r.script, r.stderr)
    check_rung(ctx, r.stderr, 12000)


def test_amid_a_leaf_without_unwind_entry(ctx):
    """Only the symbol around them proves these instructions; what the leaf keeps below its stack pointer stays."""
    path, sites = ctx.target('redzone.S'), ('long_nop', 'short_nop', 'load', 'sum', 'branch', 'last')
    symbols = tap.elf_symbols(open(path, 'rb').read())
    script = 'global %s\n' % ', '.join('n' + s for s in sites)
    script += ''.join('probe process.statement(0x%x) { n%s++ }\n' % (symbols[s][0], s) for s in sites)
    script += 'probe end { println(%s) }' % ', " ", '.join('n' + s for s in sites)
    r = launch(ctx, script, path)
    assert r.returncode == 7 and r.script == ' '.join(['2000'] * len(sites)) + '\n', (r.returncode, r.script, r.stderr)
    check_rung(ctx, r.stderr, 2000 * len(sites))


def test_stripped_dynsym(ctx):
    bare, _ = stripped(ctx, ('-rdynamic',))
    r = launch(ctx, 'global n, m probe process.function("work") { n++ } probe process.function("work").return { m++ }\n'
               'probe end { printf("n %d m %d\\n", n, m) }', bare + ' 4 3000')
    assert r.returncode == 7 and r.script == 'n 12000 m 12000\n', (r.script, r.stderr)
    check_rung(ctx, r.stderr, 12000)


def test_attached(ctx):
    """Attached to while the program sleeps; with 8 threads that begin later."""
    path = ctx.target('count')
    p = start(ctx, path, 8, 4000, 4)
    s = attach(ctx, THREE % line_of(ctx, 'count.c', 'return a * 3 + b'), pid=p.pid)
    out, _ = p.communicate(timeout=300)
    assert p.returncode == 7 and 'calls 32000' in out
    got, err = finish(s, None)
    assert got == 'enter 32000 leave 32000 middle 32000 bad 0\n', (got, err)
    check_rung(ctx, err, 32000)


def test_attached_in_full_swing(ctx):
    """Whoever is inside the function when probes are armed has no entry: no return is reported for it."""
    path = ctx.target('count')
    p = start(ctx, path, 2)
    for _ in range(3):
        s = attach(ctx, 'global n, wrong probe process.function("work").return { n++; if ($return != @entry($a) * 3 + 1) '
                   'wrong++ } probe end { printf("%d wrong %d\\n", n > 0, wrong) }', pid=p.pid)
        has_worked(p.pid)
        out, err = finish(s)
        assert out == '1 wrong 0\n', (out, err)


test_attached_in_full_swing.variants = PAIR
test_amid_a_leaf_without_unwind_entry.variants = PAIR
test_stripped_address.variants = test_stripped_dynsym.variants = PAIR
test_attached.variants = PAIR + ('clang',)


def uprobes(ctx, command, probes):
    """Counts by the kernel's uprobes: {function: hits} of one run of a command."""
    if os.getuid() or shutil.which('bpftrace') is None:
        ctx.skip('needs root and bpftrace')
    name = os.path.basename(command.split()[0])
    text = ''.join('uprobe:%s:%s /comm == "%s"/ { @n["%s"] = count(); } ' % (path, f, name, f) for path, f in probes)
    # Before it becomes the program, the child of bpftrace runs bpftrace's own code: the name tells them apart. The number of
    # the process would not: the kernel's is another one than ours in a process name space.
    script = os.path.join(ctx.tmp, 'u.bt')
    with open(script, 'w') as f:
        f.write(text)
    r = ctx.run(['bpftrace', '-c', command, script], timeout=300, env=environment(ctx))
    got = {m.group(1): int(m.group(2)) for m in re.finditer(r'^@n\[(\w+)\]: (\d+)$', r.stdout, re.M)}
    if not got:
        ctx.skip('bpftrace counts nothing on this machine: ' + (r.stderr.strip().splitlines() or ['-'])[-1][:150])
    return got


def against_kernel(ctx, command, library, functions):
    """The same deterministic run, counted by both; in a copy, since a uprobe on a library is one in every process."""
    own = os.path.join(ctx.tmp, 'lib')
    os.mkdir(own)
    library = shutil.copy(library, own)
    ctx.env['LD_LIBRARY_PATH'] = own
    kernel = uprobes(ctx, command, [(library, f) for f in functions])
    script = 'global n\n' + ''.join(
        'probe process.library("%s").function("%s") { n["%s"]++ }\n' % (library, f, f) for f in functions)
    r = launch(ctx, script + 'probe end { foreach (f+ in n) printf("%s %d\\n", f, n[f]) }', command)
    assert r.returncode == 0, r
    ours = {line.split()[0]: int(line.split()[1]) for line in r.script.splitlines()}
    assert ours == kernel and sum(ours.values()) > 1000, (ours, kernel, r.stderr)
    check_rung(ctx, r.stderr, 1000)
    return ours


def test_kernel_sqlite(ctx):
    library = '/usr/lib/x86_64-linux-gnu/libsqlite3.so.0'
    if not (os.path.exists(library) and shutil.which('sqlite3')):
        ctx.skip('no sqlite3')
    sql = os.path.join(ctx.tmp, 'work.sql')
    with open(sql, 'w') as f:
        f.write("create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000) "
                'insert into t select i, i * 7 % 1000 from n; create index x on t(b);\n'
                'select count(*), sum(a) from t where b > 500;\n' + 'insert into t values (1, 2);\n' * 300)
    against_kernel(ctx, '/usr/bin/sqlite3 -batch -init %s :memory:' % sql, library,
                   ('sqlite3_step', 'sqlite3_prepare_v2', 'sqlite3_finalize', 'sqlite3_mprintf', 'sqlite3_free',
                    'sqlite3_column_count'))


def test_kernel_git(ctx):
    """Calls of libc in `git log` over this checkout's own kind of history."""
    from real import repository
    repo = repository(ctx)
    against_kernel(ctx, '/usr/bin/git -C %s --no-pager log --stat' % repo, LIBC,
                   ('malloc', 'free', 'calloc', 'realloc', 'write', 'open64', 'close', 'qsort'))


THREADS = '''
import threading, zlib
data = bytes(range(256)) * 40  # long enough for the interpreter's lock to be given up
def work():
    for _ in range(1000):
        zlib.crc32(data)
        zlib.adler32(data)
        zlib.compress(data, 1)
begin = threading.Barrier(8)
threads = [threading.Thread(target=lambda: (begin.wait(), work())) for _ in range(8)]
for t in threads: t.start()
for t in threads: t.join()
'''


def test_kernel_eight_threads(ctx):
    """At once, in a library's own code."""
    library = '/lib/x86_64-linux-gnu/libz.so.1'
    if not (os.path.exists(library) and os.path.exists('/usr/bin/python3')):
        ctx.skip('no python3, or no libz')
    work = os.path.join(ctx.tmp, 'work.py')
    with open(work, 'w') as f:
        f.write(THREADS)
    counts = against_kernel(ctx, '/usr/bin/python3 -S -E ' + work, library, ('crc32', 'adler32', 'deflateEnd'))
    assert counts['crc32'] >= 8000 and counts['deflateEnd'] == 8000, counts


test_kernel_sqlite.variants = test_kernel_git.variants = test_kernel_eight_threads.variants = PAIR
test_kernel_sqlite.root_only = test_kernel_git.root_only = test_kernel_eight_threads.root_only = 'bpftrace counts for root only'
