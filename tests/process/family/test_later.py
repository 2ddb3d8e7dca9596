# SPDX-License-Identifier: MIT
"""Processes that start while a session runs that is about their program: the kernel tells of them where it may, else they are sought."""
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time

from support import ALL, attach, end_count, finish, has_worked, hits, maps, start, tap, text_of, tracer_of


def own(ctx, name):
    """A program that nobody else starts."""
    path = os.path.join(ctx.tmp, name)
    shutil.copy(ctx.target(name), path)
    return path


def text_before(ctx, path):
    p = start(ctx, path, 1)
    text = text_of(p.pid, os.path.basename(path))
    end_count(p)
    return text


def wait_armed(session, *pids):
    """Of -v; in whatever order."""
    missing = set(pids)
    while missing:
        line = session.stderr.readline()
        assert line, 'the session has ended: ' + session.seen
        session.seen += line
        m = re.search(r'probes armed in process (\d+)$', line)
        missing.discard(int(m.group(1)) if m else 0)


def watch(ctx, module, *args, **kw):
    return attach(ctx, module, args=('--later',) + args, **kw)


def waits(ctx, session):
    """It goes on without any target."""
    time.sleep(0.3)
    assert session.poll() is None, session.stderr.read()


def is_clean(p, path, text):
    assert tracer_of(p.pid) == 0 and 'memfd:trapless' not in maps(p.pid)
    assert text_of(p.pid, os.path.basename(path)) == text, 'text differs'


def test_later(ctx):
    """Two of them, traced until the session ends, and left as they were; a session outlasts its processes."""
    path = own(ctx, 'count')
    text = text_before(ctx, path)
    session = watch(ctx, tap.counter(ctx.tmp, path, ['work']))
    assert 'armed in 0 processes' in session.seen
    first = start(ctx, path, 1)
    wait_armed(session, first.pid)
    has_worked(first.pid)
    calls = int(end_count(first).split()[1])
    waits(ctx, session)
    running = [start(ctx, path, 2) for _ in range(2)]
    wait_armed(session, *(p.pid for p in running))
    for p in running:
        has_worked(p.pid)
    out, err = finish(session)
    for p in running:
        is_clean(p, path, text)
        calls += int(end_count(p).split()[1])
    assert 0 < hits(out) <= calls, (out, calls)
    assert 'tracing process %d of %s' % (first.pid, path) in err, err
    assert err.count('tracing process') == 1 and 'before they were traced: 0' in err and 'could not be traced: 0' in err, err


test_later.variants = ALL


def test_sought(ctx):
    """Where the kernel does not tell, in another network name space; and who execs long after it was born."""
    path = own(ctx, 'count')
    if subprocess.run(['unshare', '-n', 'true'], stderr=subprocess.DEVNULL).returncode:
        ctx.skip('no name space of its own')
    module = tap.counter(ctx.tmp, path, ['work'])
    who = ['setpriv', '--reuid', str(ctx.user), '--regid', str(ctx.user), '--clear-groups'] if ctx.user else []
    words = ['unshare', '-n'] + who + [ctx.bin('trapless-run'), module, '-v', '--later']
    session = ctx.start(words, stderr=subprocess.PIPE, user=0, group=0)
    session.seen = session.stderr.readline()
    assert 'are sought' in session.seen, session.seen
    p = ctx.start(['sh', '-c', 'sleep 4; exec %s 1' % path])
    assert p.stdout.readline().startswith('ready')
    wait_armed(session, p.pid)
    has_worked(p.pid)
    assert hits(finish(session)[0]) > 0
    end_count(p)


test_sought.variants = ALL


def kernel_tells():
    """Whether it answers us, of all that listen, by `ack`."""
    number, end = os.getpid() << 8, time.monotonic() + 2
    with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, 11) as s:  # NETLINK_CONNECTOR
        s.settimeout(1)
        try:
            s.bind((0, 1))  # CN_IDX_PROC
            s.send(struct.pack('<IHHII IIIIHH I', 40, 3, 0, 0, 0, 1, 1, 0, number, 4, 0, 1))
            while time.monotonic() < end:
                m = s.recv(256)
                if len(m) >= 40 and struct.unpack_from('<I', m, 28)[0] == number + 1:
                    return True
        except OSError:
            pass
    return False


def test_told_of(ctx):
    """Where the kernel tells a session hears its answer, whatever other processes start meanwhile."""
    if not kernel_tells():
        ctx.skip('the kernel does not tell here')
    done = threading.Event()

    def start_others():
        while not done.is_set():
            subprocess.run(['true'])

    others = threading.Thread(target=start_others)
    others.start()
    try:
        session = watch(ctx, tap.counter(ctx.tmp, own(ctx, 'count'), ['work']))
        assert 'are told of by the kernel' in session.seen, session.seen
        finish(session)
    finally:
        done.set()
        others.join()


test_told_of.root_only = 'who may listen to the kernel is root'


def test_many_that_end_soon(ctx):
    """Some are traced, some end before that: each does as it would have, and no hit is counted that was none."""
    path = own(ctx, 'execs')
    session = watch(ctx, tap.counter(ctx.tmp, path, ['work']))
    for _ in range(100):
        assert subprocess.run([path, '0']).returncode == 5
    waits(ctx, session)
    out, err = finish(session)
    assert 0 <= hits(out) <= 100 and 'could not be traced: 0' in err, (out, err)


test_many_that_end_soon.variants = ALL


def test_started_fifty_times(ctx):
    """Each makes its calls after it is traced; all of these are counted."""
    path = own(ctx, 'count')
    session = watch(ctx, tap.counter(ctx.tmp, path, ['work']))
    for n in range(50):
        p = start(ctx, path, 1, 100, 0)
        wait_armed(session, p.pid)
        assert p.communicate('\n', timeout=300)[0] == 'calls 100\n' and p.returncode == 7
    out, err = finish(session)
    assert hits(out) == 5000, (out, err)


test_started_fifty_times.variants = ('opt', 'nobody')


def test_killed_as_it_is_entered(ctx):
    path = own(ctx, 'count')
    session = watch(ctx, tap.counter(ctx.tmp, path, ['work']))
    for n in range(40):
        p = start(ctx, path, 2)
        time.sleep(n % 20 / 1000 + (0.09 if ctx.user else 0))
        p.kill()
        assert p.wait(timeout=300) == -signal.SIGKILL
    p = start(ctx, path, 2)
    wait_armed(session, p.pid)
    has_worked(p.pid)
    out, err = finish(session)
    assert hits(out) > 0 and 'could not be traced: 0' in err, (out, err)
    end_count(p)


test_killed_as_it_is_entered.variants = ALL


def test_children_of_later_ones(ctx):
    """Whoever its parent's guardian follows is nobody's find."""
    path = own(ctx, 'forks')
    session = watch(ctx, tap.counter(ctx.tmp, path, ['work']))
    p = start(ctx, path, 40)
    wait_armed(session, p.pid)
    assert p.communicate('\n', timeout=300)[0] == 'forks 40 bad 0\n' and p.returncode == 7
    out, err = finish(session)
    assert hits(out) == 40 and 'could not be traced: 0' in err, (out, err)


test_children_of_later_ones.variants = ALL


def test_two_sessions(ctx):
    """Both find the same processes, and what these start."""
    path = own(ctx, 'forks')
    sessions = [watch(ctx, tap.counter(ctx.tmp, path, ['work'], name=n)) for n in ('a', 'b')]
    p = start(ctx, path, 40)
    for s in sessions:
        wait_armed(s, p.pid)
    assert p.communicate('\n', timeout=300)[0] == 'forks 40 bad 0\n' and p.returncode == 7
    for out, err in [finish(s) for s in sessions]:
        assert hits(out) == 40 and 'could not be traced: 0' in err, (out, err)


test_two_sessions.variants = ALL


def test_traced_by_another(ctx):
    """A debugger's process is not ours: told of the first, once, and the session goes on."""
    path = own(ctx, 'count')
    if not shutil.which('strace'):
        ctx.skip('no strace')
    session = watch(ctx, tap.counter(ctx.tmp, path, ['work']))
    theirs = [ctx.start(['strace', '-f', '-o', '/dev/null', path, '1']) for _ in range(2)]
    pids = [int(p.stdout.readline().split()[1]) for p in theirs]
    p = start(ctx, path, 1)
    wait_armed(session, p.pid)
    while session.seen.count('is not traced') < 2:
        session.seen += session.stderr.readline()
    has_worked(p.pid)
    out, err = finish(session)
    assert hits(out) > 0 and err.count('is not traced: process') == 3 - 1 and err.count('WARNING') == 1, err
    assert 'already traced by strace' in err and 'could not be traced: 2' in err, err
    for pid in pids + [p.pid]:
        os.kill(pid, signal.SIGTERM)
    for q in theirs + [p]:
        assert q.communicate(timeout=300)[0].startswith('calls ') and q.returncode == 7


test_traced_by_another.variants = ALL


def test_of_another_user(ctx):
    """An ordinary user's session does not see root's processes; it sees its own."""
    path = own(ctx, 'count')
    session = watch(ctx, tap.counter(ctx.tmp, path, ['work']))
    roots = start(ctx, path, 1, user=0, group=0)
    p = start(ctx, path, 1)
    wait_armed(session, p.pid)
    has_worked(p.pid)
    out, err = finish(session)
    assert 0 < hits(out) and 'armed in process %d\n' % roots.pid not in err, err
    for q in p, roots:
        end_count(q)


test_of_another_user.variants = ('nobody',)
test_of_another_user.user_only = 'root may trace the processes of all'
test_of_another_user.by_root = 'it makes a process of another user'
