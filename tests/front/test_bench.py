# SPDX-License-Identifier: MIT
"""The tables of `make bench`: every row is measured, and every script's count is exact."""
import os
import re

once = 'there are rows for jumps and for traps'


def test_rows(ctx):
    p = ctx.run([os.path.join(ctx.root, 'bench', 'run'), '--quick'], timeout=300)
    assert p.returncode == 0, p.stdout + p.stderr
    own = dict(re.findall(r'^own +(\S.*?)  +[\d.-]+ +[\d.]+ +[\d.]+ *(\S*)$', p.stdout, re.M))
    assert {'bare call', 'empty', 'counting', 'return pair, counting', 'trap path, counting',
            'bare int3 and SIGTRAP'} <= set(own), p.stdout
    for name, rung in own.items():
        assert (rung == 'trap') == name.startswith('trap'), (name, rung)
    rows = re.findall(r'^injected +(\S.*?)  +(-?[\d.]+) +([\d.]+) +[\d.]+ +(\S+) *(.*)$', p.stdout, re.M)
    names = [r[0] for r in rows]
    assert {'empty', 'counting', 'return pair', 'trap path, counting'} <= set(names), p.stdout
    for name, _, _, rung, counted in rows:
        assert counted == ('' if name == 'empty' else 'every call'), (name, counted)
        assert ('trap' in rung) >= name.startswith('trap'), (name, rung)
    assert re.search(r'^injected +bare int3 and ptrace +[\d.]+ +[\d.]+ +[\d.]+$', p.stdout, re.M), p.stdout


def test_no_such_row(ctx):
    p = ctx.run([os.path.join(ctx.root, 'bench', 'run'), '--quick', 'zzz'])
    assert p.returncode == 2 and p.stderr == 'no row holds zzz\n', p


def test_start(ctx):
    p = ctx.run([os.path.join(ctx.root, 'bench', 'start'), '--quick'])
    assert p.returncode == 0, p.stdout + p.stderr
    rows = re.findall(r'^(cold|cached) +(\S.*?)' + r'  +([\d.]+)' + 6 * r' +([\d.]+)' + '$', p.stdout, re.M)
    assert [r[0] for r in rows] == ['cold', 'cached'] * 3, p.stdout
    for _, _, median, lowest, highest, analyse, _, attach, still in rows:
        assert 0 < float(lowest) <= float(median) <= float(highest), p.stdout
        assert 0 < float(analyse) and 0 < float(attach) and 0 < float(still), p.stdout


test_start.long = True


def test_memory(ctx):
    p = ctx.run([os.path.join(ctx.root, 'bench', 'memory')])
    assert p.returncode == 0, p.stdout + p.stderr  # a row above the mark fails
    rows = re.findall(r'^ +(\S.*?)  +(\d+) +([\d.]+)$', p.stdout, re.M)
    assert len(rows) == 5 and all(int(r[1]) > 50 for r in rows), p.stdout


test_memory.long = True


def test_size(ctx):
    p = ctx.run([os.path.join(ctx.root, 'bench', 'size')])
    assert p.returncode == 0, p.stdout + p.stderr  # a file above its mark fails
    rows = re.findall(r'^ +(\S.*?)  +([\d.]+) +([\d.]+)', p.stdout, re.M)
    assert len(rows) == 4 and all(float(whole) >= float(bare) > 0.1 for _, whole, bare in rows), p.stdout
