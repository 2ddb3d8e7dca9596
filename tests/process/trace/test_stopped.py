# SPDX-License-Identifier: MIT
"""The program is stopped (SIGSTOP) and goes on all the time while sessions come and go."""
import contextlib
import os
import signal
import threading

from support import ALL, Before, attach, finish, start, tap

PAUSE = 0.002


@contextlib.contextmanager
def stopped_again_and_again(pid):
    over = threading.Event()

    def job():
        while not over.wait(PAUSE):
            os.kill(pid, signal.SIGSTOP)
            over.wait(PAUSE)
            os.kill(pid, signal.SIGCONT)
    thread = threading.Thread(target=job)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def sessions(ctx, p, module, most):
    """How many came; one that meets it stopped is refused, with that reason."""
    came = 0
    for _ in range(most):
        try:
            s = attach(ctx, module, p.pid)
        except AssertionError as e:
            assert 'is stopped: let it go on first' in str(e), e
            continue
        came += 1
        finish(s)
    return came


def test_stopped_meanwhile(ctx):
    path = ctx.target('steady')
    p = start(ctx, path)
    before = Before(p.pid, os.path.basename(path))
    module = tap.counter(ctx.tmp, path, ['work', 'turn'])
    with stopped_again_and_again(p.pid):
        came = sessions(ctx, p, module, 100 if ctx.long else 20)
    assert came
    before.check()
    p.stdin.write('10\n')
    p.stdin.flush()
    assert p.stdout.readline() == 'did 10\n'
    out, _ = p.communicate(timeout=300)
    assert (p.returncode, out) == (7, 'bad 0\n'), (p.returncode, out)


test_stopped_meanwhile.variants = ALL
