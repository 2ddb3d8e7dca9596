# SPDX-License-Identifier: MIT
"""A thread asleep in memory of ours when a session ends: it goes on sleeping in the text, and the memory is given back."""
import os
import subprocess

import scripted
from support import ALL, Before, attach, finish, hits, start, tap, wake, wait_until


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


def fall_asleep(p):
    """
    Until the sleeper is in its call again, and the main thread in its own: where that still works, the guardian
    may borrow the sleeper. A helper of ours, which may have its name, comes and goes.
    """
    def reads(tid):
        try:
            with open('/proc/%d/task/%s/syscall' % (p.pid, tid)) as f:
                return f.read().startswith('0 ')
        except OSError:
            return False

    def asleep():
        others = [tid for tid in os.listdir('/proc/%d/task' % p.pid) if int(tid) != p.pid]
        return reads(p.pid) and any(map(reads, others))

    wait_until(asleep, 'they do not fall asleep')


def test_asleep_at_detach(ctx):
    path = ctx.target('asleep')
    p = start(ctx, path)
    fall_asleep(p)
    before = Before(p.pid)
    s = attach(ctx, counter_inside(ctx, path), p.pid)
    wake(p, 1)  # asleep in the text until now, and from here in the copy
    fall_asleep(p)
    out, err = finish(s)
    assert hits(out) == 1 and 'still stands' not in err, (out, err)
    before.check()
    for woken in (True, False):  # and again
        fall_asleep(p)
        s = attach(ctx, counter_inside(ctx, path), p.pid)
        if woken:
            wake(p, 2)
            fall_asleep(p)
        out, err = finish(s)
        assert hits(out) == woken and 'still stands' not in err, (out, err)
        before.check()
    wake(p, 3)
    p.stdin.close()
    assert p.wait(timeout=300) == 7


def test_asleep_in_the_text(ctx):
    """
    Asleep since before the session, the thread stands in the text: nothing has to stay. But where the guardian
    borrows it, its call is begun anew, and that goes by the jump into the copy.
    """
    path = ctx.target('asleep')
    p = start(ctx, path)
    fall_asleep(p)
    before = Before(p.pid)
    out, err = finish(attach(ctx, counter_inside(ctx, path), p.pid, seconds=0.1))
    assert hits(out) == 0, (out, err)
    assert 'still stands' not in err, (out, err)
    before.check()
    wake(p, 1)
    p.stdin.close()
    assert p.wait(timeout=300) == 7


def test_left_on_the_stack(ctx):
    """Return addresses of ours in the unused part of a sleeper's frame are nobody's."""
    path = ctx.target('asleep')
    p = start(ctx, path)
    before = Before(p.pid)
    for n in 1, 2:
        s = attach(ctx, tap.counter(ctx.tmp, path, ['step']), p.pid)
        wake(p, n)
        fall_asleep(p)
        out, err = finish(s)
        assert hits(out) == 1 and 'still stands' not in err, (out, err)
        before.check()
    p.stdin.close()
    assert p.wait(timeout=300) == 7


def test_numbers_behind_what_is_left(ctx):
    """A flag and a thread's number behind an address of ours make no signal's frame of it."""
    path = ctx.target('steps')
    p = start(ctx, path, stdin=subprocess.PIPE)
    before = Before(p.pid)
    s = attach(ctx, tap.counter(ctx.tmp, path, ['work']), p.pid)
    p.stdin.write('pretend -\n')
    p.stdin.flush()
    assert p.stdout.readline() == 'done\n'
    _, err = finish(s)
    assert 'still stands' not in err, err
    before.check()
    p.stdin.close()
    assert p.wait(timeout=300) == 7


def test_amid_calls(ctx):
    """Calls that it is to return from were entered, and made, by way of us: it returns into the text."""
    path = ctx.target('asleep')
    p = start(ctx, path)
    before = Before(p.pid, os.path.basename(path))
    script = ('global entered, called, returned probe process.function("rest"), process.function("lie_down"),'
              'process.function("nap") { entered++ } probe process.statement(0x%x) { called++ }'
              'probe process.function("rest").return, process.function("lie_down").return,'
              'process.function("nap").return { returned++ }'
              'probe end { println(entered, " ", called, " ", returned) }' % tap.elf_symbols(open(path, 'rb').read())['calling'][0])
    for n in 1, 3:
        s = scripted.attach(ctx, script, pid=p.pid)
        wake(p, n)  # returns from what it had begun before
        wake(p, n + 1)
        fall_asleep(p)
        out, err = scripted.finish(s)
        assert out == '6 2 3\n' and 'still stands' not in err, (out, err)
        before.check()
    wake(p, 5)
    p.stdin.close()
    assert p.wait(timeout=300) == 7


test_left_on_the_stack.variants = test_amid_calls.variants = ALL
test_asleep_at_detach.variants = ALL
test_asleep_in_the_text.variants = ALL
