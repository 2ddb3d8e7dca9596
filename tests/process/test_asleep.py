# SPDX-License-Identifier: MIT
"""A thread asleep in memory of ours when a session ends: named, and the memory is given back when it has left."""
import os
import re
import time

from support import ALL, Before, attach, finish, hits, maps, start, tap


def counter_inside(ctx, path):
    """A module that counts hits of the system call instruction itself."""
    m = tap.Module(tap.COUNT, ctx.tmp, 'inside')
    m.shard_size = 64
    m.format('hits %d\n')
    symbols = tap.elf_symbols(open(path, 'rb').read())
    m.probe(tap.SITE, 'hit', m.image(path), symbols['inside'][0], point='statement(inside)', func='nap',
            parts=[symbols['nap'][:2]])
    m.probe(tap.END, 'fin', point='end')
    return m.write()


def wake(p, n):
    p.stdin.write('\n')
    p.stdin.flush()
    assert p.stdout.readline() == 'woken %d\n' % n


def fall_asleep(p):
    """Until the sleeper is in its call again."""
    end = time.time() + 10
    for tid in os.listdir('/proc/%d/task' % p.pid):
        if open('/proc/%d/task/%s/comm' % (p.pid, tid)).read() != 'sleeper\n':
            continue
        while not open('/proc/%d/task/%s/syscall' % (p.pid, tid)).read().startswith('0 '):
            assert time.time() < end
            time.sleep(0.01)


def test_asleep_at_detach(ctx):
    path = ctx.target('asleep')
    p = start(ctx, path)
    time.sleep(0.1)
    before = Before(p.pid)
    s = attach(ctx, counter_inside(ctx, path), p.pid)
    wake(p, 1)  # asleep in the text until now, and from here in the copy
    fall_asleep(p)
    out, err = finish(s)
    assert hits(out) == 1, (out, err)
    assert re.search(r'thread \d+ \(sleeper\) of process %d still stands in probe memory' % p.pid, err), err
    time.sleep(0.5)
    assert 'memfd:trapless' in maps(p.pid) and before.look() != before.state
    wake(p, 2)  # it comes back into the text
    before.check(3.0)
    s = attach(ctx, counter_inside(ctx, path), p.pid)  # and again
    wake(p, 3)
    wake(p, 4)
    fall_asleep(p)
    out, err = finish(s)
    assert hits(out) == 2 and 'still stands' in err, (out, err)
    p.stdin.close()
    assert p.wait(timeout=10) == 7


def test_asleep_in_the_text(ctx):
    """
    Asleep since before the session, the thread stands in the text: nothing has to stay. But where the guardian
    borrows it, its call is begun anew, and that goes by the jump into the copy.
    """
    path = ctx.target('asleep')
    p = start(ctx, path)
    time.sleep(0.1)
    before = Before(p.pid)
    out, err = finish(attach(ctx, counter_inside(ctx, path), p.pid, seconds=0.1))
    assert hits(out) == 0, (out, err)
    by_jump = re.search(r'^ +(pun|evict) .*inside', err, re.M)
    inside = by_jump and 'still stands' in err
    assert inside or 'still stands' not in err, (out, err)
    if inside:
        wake(p, 1)
    before.check(3.0)
    wake(p, 2 if inside else 1)
    p.stdin.close()
    assert p.wait(timeout=10) == 7


test_asleep_at_detach.variants = ALL
test_asleep_in_the_text.variants = ALL
