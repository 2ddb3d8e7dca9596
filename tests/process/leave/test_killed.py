# SPDX-License-Identifier: MIT
"""The runner is killed at random moments of a session's life: the target lives on, and is left clean."""
import json
import os
import re
import signal
import subprocess
import time

from support import Before, PAIR, REAPER, attach, end_count, finish, has_threads, hits, runner, runtime_folder, start, start_count, tap


def kill_after(p, seconds):
    time.sleep(seconds)
    p.send_signal(signal.SIGKILL)
    p.wait()


def attached(ctx, dice, target):
    """While it attaches and arms, runs, or (after SIGINT) detaches."""
    p, module, before = target
    s = ctx.start([runner(ctx), module, '-x', str(p.pid)], stderr=subprocess.DEVNULL)
    if dice.random() < 0.5:
        time.sleep(dice.uniform(0.02, 0.06))
        s.send_signal(signal.SIGINT)
        kill_after(s, dice.uniform(0, 0.03))
    else:
        kill_after(s, dice.uniform(0, 0.06))
    assert p.poll() is None, 'the target died: %s' % p.stderr.read()
    before.check()
    assert p.poll() is None, 'the target died: %s' % p.stderr.read()


def launched(ctx, dice, path, module):
    """A program that has begun runs to its end; one that has not does not begin. Nobody is killed."""
    s = ctx.run(['/usr/bin/python3', REAPER, '%.4f' % dice.uniform(0, 0.06), runner(ctx), module, '-c', path + ' 2 3000'])
    told = json.loads(s.stdout)
    begun = re.fullmatch(r'ready .*\ncalls 6000\n(hits \d+\n)?', told['out'])
    assert begun or not told['out'], told
    left = sorted(told['ends'])  # the guardian and the program, where they had been started
    assert left in ([], [0], [127], [0, 127], [7], [0, 7]) and (7 not in left or begun), told


def test_any_moment(ctx):
    dice = ctx.dice('moments')
    targets = []
    for name, args in (('count', (2,)), ('blocked', ())):
        exe = ctx.target(name)
        p = start(ctx, exe, *args, stderr=subprocess.PIPE)
        has_threads(p.pid, 3)
        targets.append((p, tap.counter(ctx.tmp, exe, ['work'], name=name), Before(p.pid, os.path.basename(exe))))
    for _ in range(200 if ctx.long else 15):
        attached(ctx, dice, dice.choice(targets))
    for p, module, before in targets:
        out, _ = finish(attach(ctx, module, p.pid, seconds=0.3))
        assert hits(out) > 0
        before.check()
    (busy, _, _), (sleeper, _, _) = targets
    busy.terminate()
    assert re.fullmatch(r'calls \d+\n', busy.communicate(timeout=300)[0]) and busy.returncode == 7
    out, err = sleeper.communicate(timeout=300)
    assert sleeper.returncode == 0 and not err, (out, err)


def test_launched(ctx):
    dice = ctx.dice('launched')
    path = ctx.target('count')
    counter = tap.counter(ctx.tmp, path, ['work'])
    for _ in range(200 if ctx.long else 25):
        launched(ctx, dice, path, counter)


def files_of_sessions(run):
    """In their own directory, and by name where everybody's files are."""
    own = [os.path.join(d, name) for d, _, names in os.walk(run) for name in [''] + names]
    of_others = re.compile(r'trapless-(test-.*|\d+(\..*)?|\w{6})$')  # other tests' folders, users', and what scripts are compiled in
    common = [os.path.join(d, n) for d in ('/tmp', '/dev/shm') for n in os.listdir(d) if 'trapless' in n and not of_others.match(n)]
    return sorted(own + common)


def test_cycles(ctx):
    """Attached to and left over and over: mappings, descriptors, threads and memory of the target do not grow, no file
    stays."""
    run = runtime_folder(ctx)
    files = files_of_sessions(run)
    p, module, before = start_count(ctx, 2)

    def size():
        with open('/proc/%d/status' % p.pid) as f:
            text = f.read()
        return [int(re.search(r'%s:\s+(\d+)' % k, text).group(1)) for k in ('VmRSS', 'VmData', 'VmPTE')]
    seen, came = [], False
    for _ in range(1000 if ctx.long else 25):
        s = attach(ctx, module, p.pid)
        came |= files_of_sessions(run) != files
        finish(s)
        before.check()
        seen.append(size())
    for i, name in enumerate(('resident', 'data', 'page tables')):
        assert seen[-1][i] - seen[5][i] <= 64, (name, seen[5], seen[-1])
    assert came and files_of_sessions(run) == files, set(files_of_sessions(run)) ^ set(files)
    end_count(p)


test_any_moment.variants = test_launched.variants = test_cycles.variants = PAIR
