# SPDX-License-Identifier: MIT
"""A program that turns system calls into SIGSYS gets those that it would have got, and no others."""
import os

from support import ALL, LIBC, Before, attach, finish, has_worked, hits, tap


def begin(ctx, n, *how):
    if tuple(int(x) for x in os.uname().release.split('-')[0].split('.')[:2]) < (6, 4):
        ctx.skip('this kernel does not tell who does so')
    path = ctx.target('dispatched')
    p = ctx.start([path, str(n)] + list(how))
    if p.stdout.readline() != 'ready\n':
        ctx.skip('this kernel has no such thing')
    return path, p


def go(p):
    p.stdin.write('\n')
    p.stdin.flush()


def come_and_go(ctx, *how):
    path, p = begin(ctx, 100000000, *how)
    before = Before(p.pid, 'dispatched')
    go(p)
    module = tap.counter(ctx.tmp, path, ['work'])
    for _ in range(20 if ctx.long else 5):
        s = attach(ctx, module, p.pid)
        has_worked(p.pid)
        out, _ = finish(s)
        assert p.poll() is None, p.returncode
        assert hits(out) > 0
    before.check()
    p.terminate()
    out, _ = p.communicate(timeout=300)
    assert (p.returncode, out) == (7, 'right 0\n'), (p.returncode, out)


def test_sessions_come_and_go(ctx):
    """Our calls in its thread are nothing to its handler."""
    come_and_go(ctx)


def test_inclusive(ctx):
    """... nor where it is the calls of one range that are turned, which the kernel tells as all others that are not."""
    come_and_go(ctx, 'inclusive')


def test_calls_are_probed(ctx):
    """Those of the C library, which are free: their copies lie elsewhere."""
    n = 2000
    path, p = begin(ctx, n)
    data = open(LIBC, 'rb').read()
    value, size, _ = tap.elf_symbols(data, (11,))['getppid']
    at = data.index(b'\x0f\x05', value, value + size)
    m = tap.Module(tap.COUNT, ctx.tmp, 'count')
    m.shard_size = 64
    m.format('hits %d\n')
    image = m.image(LIBC, program=False)
    m.probe(tap.SITE, 'hit', image, at, point='process.statement(%d)' % at, func='getppid', parts=[(value, size)])
    m.probe(tap.END, 'fin', point='end')
    s = attach(ctx, m.write(), p.pid)
    go(p)
    out, _ = p.communicate(timeout=300)
    assert (p.returncode, out) == (7, 'right %d\n' % n), (p.returncode, out)
    got, err = s.communicate(timeout=300)
    assert s.returncode == 0 and hits(got) == n, (got, s.seen + err)


for _f in (test_sessions_come_and_go, test_inclusive, test_calls_are_probed):
    _f.variants = ALL
