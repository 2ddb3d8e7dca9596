# SPDX-License-Identifier: MIT
"""Threads and children, with traps in everything that creates them."""
import re

from support import ALL, LIBC, PAIR, attach, finish, hits, runner, start, tap


def test_children(ctx):
    """fork, vfork, spawn, clone, system: children run unharmed and are counted as untraced."""
    path = ctx.target('children')
    module = tap.counter(ctx.tmp, path, ['work'])
    r = ctx.run([runner(ctx), module, '-c', path + ' 10'], timeout=100)
    calls = int(re.search(r'calls (\d+)', r.stdout).group(1))
    assert r.returncode == 5 and hits(r.stdout) == calls, r
    assert 'child processes that ran untraced: 50' in r.stderr, r.stderr


test_children.variants = ALL


def libc_functions():
    data = open(LIBC, 'rb').read()
    symbols = tap.elf_symbols(data, (11,))
    seen, out = set(), []
    for name, (value, size, kind) in sorted(symbols.items()):
        if kind == 2 and size and value not in seen:
            seen.add(value)
            out.append(name)
    return out


def test_all_of_libc(ctx):
    """Every function of libc probed while the program creates threads and children."""
    path = ctx.target('children')
    module = tap.counter(ctx.tmp, path, libc_functions(), library=LIBC, flags=4)
    r = ctx.run([runner(ctx), module, '-c', path + ' 3'], timeout=170)
    assert r.returncode == 5 and 'calls 123' in r.stdout, (r.returncode, r.stdout[-300:], r.stderr[-800:])
    assert hits(r.stdout) > 1000, r.stdout


test_all_of_libc.variants = PAIR


def comes_and_goes(ctx, module, pid):
    """False: refused, since a process that is always forking could not be stopped just then."""
    try:
        finish(attach(ctx, module, pid, seconds=0.02))
    except AssertionError as e:
        if 'could be stopped (all in vfork or uninterruptible sleep): try again later' not in str(e):
            raise
        return False
    return True


def test_born_at_any_moment(ctx):
    """Forks over and over while sessions come and go: no child loses what lies low in memory, as non-PIE text does."""
    path = ctx.target('forks', cflags=('-O2', '-no-pie'))
    module = tap.counter(ctx.tmp, path, ['work'])
    p = start(ctx, path)
    sessions = 40 if ctx.long else 8
    came = sum(comes_and_goes(ctx, module, p.pid) for _ in range(sessions))
    p.terminate()
    out = p.communicate(timeout=20)[0]
    assert came >= sessions / 2, came
    assert p.returncode == 7 and re.fullmatch(r'forks [1-9]\d+ bad 0\n', out), (p.returncode, out)


test_born_at_any_moment.variants = PAIR
