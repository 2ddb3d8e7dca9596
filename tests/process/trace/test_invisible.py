# SPDX-License-Identifier: MIT
"""No sleeping thread notices that it is attached to: no EINTR, no early return, no late one."""
import re
import time

from support import PAIR, attach, finish, start, tap


def rounds_on(ctx, p, module, rounds):
    for i in range(rounds):
        try:
            finish(attach(ctx, module, p.pid, seconds=0.01 * (i % 7)))
            said = ''
        except AssertionError as e:
            said = str(e)
        if said:
            time.sleep(0.1)  # where the target has died, that is what counts
        if said or p.poll() is not None:
            raise AssertionError('in round %d: target %s; %s' % (
                i + 1, 'lives' if p.poll() is None else 'died: ' + p.stderr.read(), said))


def test_all_calls_at_once(ctx):
    import subprocess
    path = ctx.target('blocked')
    module = tap.counter(ctx.tmp, path, ['work'])
    p = start(ctx, path, stderr=subprocess.PIPE)
    rounds_on(ctx, p, module, 1000 if ctx.long else 15)
    out, err = p.communicate(timeout=300)
    assert p.returncode == 0, (p.returncode, out, err)
    timed = int(re.search(r'^timed (\d+)', out, re.M).group(1))
    assert timed >= 2 * TIMED, out  # those that begin anew at each stop never end


test_all_calls_at_once.variants = PAIR

CALLS = ('epoll_wait', 'epoll_pwait', 'poll', 'select', 'ppoll', 'nanosleep', 'futex', 'semtimedop', 'sigtimedwait',
         'accept', 'read', 'semop', 'epoll_wait -1', 'sigwait', 'pause')
TIMED = CALLS.index('accept')


def test_each_call_alone(ctx):
    """The only thread sleeps in the call, so it is the one that is borrowed."""
    import subprocess
    path = ctx.target('blocked')
    module = tap.counter(ctx.tmp, path, ['work'])
    for call in CALLS:
        p = start(ctx, path, call, stderr=subprocess.PIPE)
        rounds_on(ctx, p, module, 20 if ctx.long else 3)
        time.sleep(0.15)
        assert p.poll() is None, call + ': ' + p.stderr.read()
        p.kill()
        p.wait()


test_each_call_alone.variants = ('opt', 'nobody')
