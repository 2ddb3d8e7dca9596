# SPDX-License-Identifier: MIT
"""`trapless --coverage FILE`: what it counts, and that it counts right."""
import glob
import os
import re
import shutil
import subprocess

from support_front import good, trapless

once = 'nothing is probed'

LAST = re.compile(r'placeable (\S+) % of (\d+) instructions, (\S+) % of (\d+) entries')
LIBRARIES = '/lib/x86_64-linux-gnu', '/usr/lib/x86_64-linux-gnu', '/usr/lib64', '/lib64'
MARKED = 'libc.so.6', 'libstdc++.so.6', 'libcrypto.so.3', 'libsqlite3.so.0', 'git', 'python3'


def find(name):
    """The path of a library or program, None: it is not installed."""
    return next((p for d in LIBRARIES + ('/usr/bin',) for p in [os.path.join(d, name)] if os.path.exists(p)), None)


def figures(p):
    """The last line: share of instructions, their number, share of entries, their number."""
    m = LAST.fullmatch(p.stdout.splitlines()[-1])
    assert m, p.stdout[-500:]
    return float(m.group(1)), int(m.group(2)), float(m.group(3)), int(m.group(4))


def text_bytes(p):
    """All, unproved, and the shares that the first line tells."""
    m = re.search(r'^\S+: (\d+) executable bytes: function (\S+) %, PLT (\S+) %, padding (\S+) %, unproved \S+ % \((\d+)\)$',
                  p.stdout, re.M)
    assert m, p.stdout[:300]
    return int(m.group(1)), int(m.group(5)), tuple(float(m.group(i)) for i in (2, 3, 4))


def counted(ctx, stripped=False):
    path = ctx.target('counted.S', cflags=('-shared', '-nostdlib'), ldflags=('-Wl,-z,separate-code',))
    if not stripped:
        return path
    out = os.path.join(ctx.tmp, 'stripped.so')
    subprocess.run(['strip', '-o', out, path], check=True)
    return out


def sites(p):
    """Address to rung; where only a symbol names the function, its bounds behind it."""
    return dict(line.split(' ', 1) for line in p.stdout.splitlines() if line.startswith('0x'))


def test_every_byte_of_a_small_file(ctx):
    path = counted(ctx)
    p = good(ctx, '--coverage', path, '-v')
    assert figures(p) == (88.88, 9, 100.0, 4), p.stdout
    assert text_bytes(p) == (64, 9, (43.75, 0.0, 42.19)), p.stdout
    assert 'functions: 3 by .eh_frame, 1 more by symbols' in p.stdout, p.stdout
    symbols = dict(line.split()[::-2] for line in ctx.run(['nm', path]).stdout.splitlines())
    at = {name: int(symbols[name], 16) for name in 'fghl'}
    found = sites(p)
    assert len(found) == 9
    bounds = ' in 0x%x+0x7' % at['g']
    assert found[hex(at['f'])] == found[hex(at['l'])] == 'whole'
    assert found[hex(at['g'])] == 'whole' + bounds
    assert found[hex(at['f'] + 5)] == 'retarget'
    assert found[hex(at['g'] + 5)] == 'refused NO_RELOCATE' + bounds
    assert {at['f'] + 10, at['h'], at['h'] + 3, at['l'] + 5} <= {int(a, 16) for a in found}


def test_the_same_without_symbols(ctx):
    p = good(ctx, '--coverage', counted(ctx, stripped=True))
    assert figures(p) == (100.0, 7, 100.0, 3), p.stdout
    assert text_bytes(p)[1] == 16, p.stdout
    # Without the host, the runner knows what the unwind table knows.
    alone = ctx.run([ctx.bin('trapless-run'), '--coverage', counted(ctx)])
    assert figures(alone) == (100.0, 7, 100.0, 3), alone.stdout


def test_a_static_program_without_symbols(ctx):
    path = os.path.join(ctx.tmp, 'bare')
    subprocess.run(['strip', '-o', path, ctx.target('count', cflags=('-O2', '-static'))], check=True)
    p = good(ctx, '--coverage', path)
    placed, insns, entries_placed, entries = figures(p)
    assert placed > 99 and insns > 50000 and entries_placed > 99 and entries > 500, p.stdout
    subprocess.run(['objcopy', '--remove-section', '.eh_frame', path], check=True)
    p = trapless(ctx, '--coverage', path)
    assert p.returncode == 1 and 'it has no .eh_frame, and no symbols were given' in p.stderr, p


def test_where_most_is_unproved_the_last_line_says_so(ctx):
    """No symbols, and unwind entries for one function of many."""
    path, parts = os.path.join(ctx.tmp, 'most.so'), []
    for name, functions, tables in (('few', 1, ''), ('many', 50, 'no-')):
        with open(os.path.join(ctx.tmp, name + '.c'), 'w') as f:
            f.write(''.join('long %s%d(long a) { return a * %d + 1; }\n' % (name, i, i + 3) for i in range(functions)))
        parts.append(os.path.join(ctx.tmp, name + '.o'))
        subprocess.run(['gcc', '-O1', '-fPIC', '-f%sasynchronous-unwind-tables' % tables, '-c', f.name, '-o', parts[-1]], check=True)
    subprocess.run(['gcc', '-shared', '-nostdlib', '-s', '-fvisibility=hidden', '-Wl,--version-script=/dev/stdin', '-o', path] + parts,
                   input='{ local: *; };', text=True, check=True)
    p = good(ctx, '--coverage', path)
    everything, unproved, _ = text_bytes(p)
    assert unproved > everything / 2, p.stdout
    assert p.stdout.endswith('; %.2f %% of the executable bytes are unproved, and not among them\n' % (100 * unproved / everything)), p.stdout


def test_a_pipe_is_not_waited_for(ctx):
    path = os.path.join(ctx.tmp, 'pipe')
    os.mkfifo(path)
    for words in ('--coverage', path), ('-l', 'process("%s").function("*")' % path):
        p = trapless(ctx, *words, timeout=300)
        assert p.returncode == 1 and 'not a regular file' in p.stderr, p
    p = ctx.run([ctx.bin('trapless-run'), '--coverage', path], timeout=300)
    assert p.returncode == 1 and 'not a regular file' in p.stderr, p


def test_symbols_out_of_gnu_debugdata(ctx):
    if shutil.which('xz') is None:
        ctx.skip('no xz')
    path, whole, part = counted(ctx, stripped=True), counted(ctx), os.path.join(ctx.tmp, 'part')
    subprocess.run(['objcopy', '--only-keep-debug', whole, part], check=True)
    assert figures(good(ctx, '--coverage', path))[1] == 7
    subprocess.run(['xz', part], check=True)
    subprocess.run(['objcopy', '--add-section', '.gnu_debugdata=%s.xz' % part, path], check=True)
    assert figures(good(ctx, '--coverage', path)) == (88.88, 9, 100.0, 4)


def test_the_c_library(ctx):
    """A lower bound of the mark."""
    libc = find('libc.so.6')
    if libc is None:
        ctx.skip('no glibc')
    p = good(ctx, '--coverage', libc)
    placed, insns, entries_placed, entries = figures(p)
    size, unproved, (function, plt, padding) = text_bytes(p)
    assert insns > 200000 and entries > 2000, p.stdout
    assert placed >= 99.5 and entries_placed >= 99.5, p.stdout
    assert unproved < size / 100 and function > 95 and 0 < plt < 1 and 0 < padding < 5, p.stdout
    # What the listing says is what the table sums up.
    found = list(sites(good(ctx, '--coverage', libc, '-v')).values())
    assert len(found) == insns
    good_ones = sum(v.split()[0] not in ('refused', 'trap') for v in found)
    assert int(good_ones * 10000 / insns) / 100 == placed, (good_ones, insns, placed)


def test_the_mark(ctx):
    """Each site alone, without a trap: 99.9 % of the instructions, and every entry."""
    missing = [name for name in MARKED if not find(name)]
    for name in set(MARKED) - set(missing):
        placed, insns, entries_placed, entries = figures(good(ctx, '--coverage', find(name), timeout=300))
        assert placed >= 99.9 and entries_placed == 100, (name, placed, insns, entries_placed, entries)
    if missing:
        ctx.skip('not installed: ' + ', '.join(missing))


def test_the_mark_of_libnode(ctx):
    """All but four of its entries: another's trap instruction lies where their jump would."""
    if os.environ.get('EVERY_SECONDS') != '0':
        ctx.skip('takes minutes for six million instructions: EVERY_SECONDS=0')
    path = next((p for d in LIBRARIES for p in glob.glob(os.path.join(d, 'libnode.so.*'))), None)
    if path is None:
        ctx.skip('no libnode')
    placed, insns, entries_placed, entries = figures(good(ctx, '--coverage', path, timeout=900))
    assert placed >= 99.9 and entries_placed >= 99.99, (placed, insns, entries_placed, entries)


test_the_mark.long = test_the_mark_of_libnode.long = True


def test_what_is_no_program(ctx):
    text = os.path.join(ctx.tmp, 'text')
    with open(text, 'w') as f:
        f.write('#!/bin/sh\n' + 'true\n' * 100)
    for path in (text, ctx.tmp, os.path.join(ctx.tmp, 'none')):
        for tool in ('trapless', 'trapless-run'):
            p = ctx.run([ctx.bin(tool), '--coverage', path])
            assert p.returncode == 1 and p.stderr and not p.stdout, (tool, path, p)
    assert trapless(ctx, '--coverage', text, '-e', 'probe begin {}').returncode == 2


def test_a_damaged_file(ctx):
    """Any file may be given: cut and with bytes changed, it is refused or counted, without a crash."""
    with open(counted(ctx), 'rb') as f:
        data = bytearray(f.read())
    path = os.path.join(ctx.tmp, 'damaged.so')
    places = list(range(16, 64)) + list(range(64, 64 + 56 * 8, 3))
    for at in places:
        for value in (0, 0x7f, 0xff):
            bad = bytearray(data)
            bad[at] = value
            with open(path, 'wb') as f:
                f.write(bad[:len(bad) if at % 2 else len(bad) // 2])
            p = ctx.run([ctx.bin('trapless-run'), '--coverage', path])
            assert p.returncode in (0, 1), (at, value, p)


def test_by_name(ctx):
    """As process("NAME"): through PATH."""
    p = ctx.run([ctx.bin('trapless'), '--coverage', 'true'], cwd=ctx.tmp)
    assert p.returncode == 0 and 'placeable' in p.stdout, p


def test_a_kernel_is_no_file(ctx):
    """Its name leads to trapless.ko, also where there is a file of that name. Without it, or root, that is what is said."""
    with open(os.path.join(ctx.tmp, 'kernel'), 'w'):
        pass
    for name in 'kernel', 'module("loop")':
        p = trapless(ctx, '--coverage', name, cwd=ctx.tmp, timeout=300)
        assert p.returncode == 1 and p.stderr.startswith('trapless-run: %s: ' % name), p
        assert 'load trapless.ko' in p.stderr or 'need root' in p.stderr, p
