# SPDX-License-Identifier: MIT
"""What the process tests share: targets, modules, and the state a target is left in."""
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap  # noqa: E402
from context import wait_until  # noqa: E402

ALL = ('opt', 'traps', 'nobody', 'nobody-traps')
PAIR = ('opt', 'traps')
REAPER = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'reaper.py')
NO_GUARDIAN = 'without a guardian a program dies at its next breakpoint'
NO_BREAKPOINTS = '--preload cannot serve breakpoints, and sets none'
FILTERED = 'a seccomp filter that is in force could kill for the calls of anybody but root'
LIBC = os.path.realpath('/lib/x86_64-linux-gnu/libc.so.6')


def runner(ctx):
    return ctx.bin('trapless-run')


def start(ctx, path, *args, **kw):
    """Start a target that says `ready`; returns the process."""
    p = ctx.start([path] + [str(a) for a in args], **kw)
    line = p.stdout.readline()
    assert line.startswith('ready'), 'target said %r' % line
    return p


def has_threads(pid, n):
    """Wait until it has begun that many."""
    wait_until(lambda: len(os.listdir('/proc/%d/task' % pid)) >= n, 'process %d has too few threads' % pid)


def stat_of(pid, tid=None):
    """Of a thread (the first one), from its state on."""
    with open('/proc/%d/task/%d/stat' % (pid, tid or pid)) as f:
        return f.read().rsplit(')', 1)[1].split()


def state_of(pid, tid=None):
    return stat_of(pid, tid)[0]


def wait_state(pid, state):
    wait_until(lambda: state_of(pid) == state, 'process %d is not in state %s' % (pid, state))


def has_worked(pid):
    """Wait until a program that works without rest has had a processor for 30 ms more: it has come by where it always does."""
    def ticks():
        with open('/proc/%d/stat' % pid) as f:
            return sum(map(int, f.read().rsplit(')', 1)[1].split()[11:13]))
    enough = ticks() + max(2, os.sysconf('SC_CLK_TCK') * 30 // 1000)
    wait_until(lambda: ticks() >= enough, 'process %d does not work' % pid)


def naps(pid, tid=None):
    """How often a thread (the first one) has gone to sleep."""
    with open('/proc/%d/task/%d/status' % (pid, tid or pid)) as f:
        return int(re.search(r'^voluntary_ctxt_switches:\t(\d+)$', f.read(), re.M).group(1))


def has_slept(pid, times):
    """Wait until its first thread, which works for a moment and sleeps for one, has gone to sleep so often."""
    enough = naps(pid) + times
    wait_until(lambda: naps(pid) >= enough, 'process %d does not go on' % pid)


def start_count(ctx, threads):
    """Threads that call work() for ever: the process, a module that counts the calls, and the state before."""
    path = ctx.target('count')
    p = start(ctx, path, threads)
    has_threads(p.pid, threads + 1)
    return p, tap.counter(ctx.tmp, path, ['work']), Before(p.pid, os.path.basename(path))


def end_count(p):
    """It ends as it would have without us; what it says."""
    p.terminate()
    out, _ = p.communicate(timeout=300)
    assert p.returncode == 7, p.returncode
    return out


def attach(ctx, module, *pids, seconds=0.0, args=(), until='probes armed'):
    """Start trapless-run and wait until probes are armed, or it has said something else."""
    argv = [runner(ctx), module, '-v'] + list(args)
    for pid in pids:
        argv += ['-x', str(pid)]
    p = ctx.start(argv, stderr=subprocess.PIPE)
    seen = ''
    for line in p.stderr:
        seen += line
        if until in line:
            break
    else:
        raise AssertionError('did not attach: ' + seen)
    p.seen = seen
    time.sleep(seconds)
    return p


def wake(p, n):
    """Of tests/targets/asleep.c: for the n-th time."""
    p.stdin.write('\n')
    p.stdin.flush()
    assert p.stdout.readline() == 'woken %d\n' % n


def runtime_folder(ctx):
    """Of the test's own user, and with what the first session would leave in it."""
    run = ctx.env['XDG_RUNTIME_DIR'] = os.path.join(ctx.tmp, 'run')
    for folder in run, os.path.join(run, 'trapless'):
        os.mkdir(folder, 0o700)
        if ctx.user is not None:
            os.chown(folder, ctx.user, ctx.user)
    return run


def tracer_of(pid):
    with open('/proc/%d/status' % pid) as f:
        return int(re.search(r'TracerPid:\t(\d+)', f.read()).group(1))


def finish(p, sig=signal.SIGINT, timeout=300):
    """End a session; returns (stdout, stderr)."""
    p.send_signal(sig)
    out, err = p.communicate(timeout=timeout)
    assert p.returncode == 0, 'trapless-run ended with %d: %s' % (p.returncode, p.seen + err)
    return out, p.seen + err


def hits(out):
    return int(re.search(r'^hits (\d+)', out, re.M).group(1))


def libc_functions():
    data = open(LIBC, 'rb').read()
    symbols = tap.elf_symbols(data, (11,))
    seen, out = set(), []
    for name, (value, size, kind) in sorted(symbols.items()):
        if kind == 2 and size and value not in seen:
            seen.add(value)
            out.append(name)
    return out


def maps(pid):
    with open('/proc/%d/maps' % pid) as f:
        return f.read()


def text_of(pid, name):
    """The bytes of all executable mappings of a file in a process."""
    out = b''
    with open('/proc/%d/mem' % pid, 'rb', 0) as mem:
        for line in maps(pid).splitlines():
            f = line.split()
            if len(f) > 5 and f[5].endswith(name) and 'x' in f[1]:
                lo, hi = (int(x, 16) for x in f[0].split('-'))
                mem.seek(lo)
                out += mem.read(hi - lo)
    return out


def merged(text):
    """Mappings as (lo, hi, permissions, file). A page of text that was written may stay a mapping of its own, which
    says nothing about what is mapped where: pieces of one file that follow each other count as one."""
    out = []
    for line in text.splitlines():
        f = line.split()
        lo, hi = f[0].split('-')
        name = f[5] if len(f) > 5 else ''
        if out and 'x' in f[1] and name[:1] == '/' and out[-1][1:] == (lo, f[1], name):
            lo = out.pop()[0]
        out.append((lo, hi, f[1], name))
    return out


def own_threads(pid):
    """Ids; those that the kernel makes for io_uring come and go as it likes."""
    def name(tid):
        try:
            return open('/proc/%d/task/%s/comm' % (pid, tid)).read()
        except (FileNotFoundError, ProcessLookupError):
            return 'iou-'
    return sorted(tid for tid in os.listdir('/proc/%d/task' % pid) if not name(tid).startswith('iou-'))


class Before:
    """The state of a target, to be compared with the one after a session."""

    def __init__(self, pid, *names):
        self.pid, self.names = pid, names
        self.text = [text_of(pid, n) for n in names]
        self.state = self.look()

    def look(self):
        mappings = merged(maps(self.pid))
        executable = [m for m in mappings if 'x' in m[2]]
        return dict(fds=sorted(os.listdir('/proc/%d/fd' % self.pid)),
                    threads=own_threads(self.pid), executable=executable,
                    tracer=re.search(r'TracerPid:\t(\d+)', open('/proc/%d/status' % self.pid).read()).group(1),
                    memfds=maps(self.pid).count('memfd:trapless'),
                    mappings=len([m for m in mappings if m[3] != '[heap]']))

    def left_behind(self):
        now = self.look()
        return 'left behind: %s\n%s' % ({k: (self.state[k], now[k]) for k in now if now[k] != self.state[k]}, maps(self.pid))

    def check(self, within=60.0):
        """Nothing of ours is left; on a slow machine that may take a moment."""
        wait_until(lambda: self.look() == self.state, self.left_behind, within, wrong=True)
        self.check_text()

    def check_text(self):
        for name, text in zip(self.names, self.text):
            assert text_of(self.pid, name) == text, 'text of %s differs' % name


class Answering:
    """A target that says how each of its commands went, and at its end whether its text is what it was."""

    def __init__(self, ctx, name):
        path = ctx.target(name)
        self.p = start(ctx, path, stdin=subprocess.PIPE)
        self.before = Before(self.p.pid, os.path.basename(path))

    def say(self, what, answer):
        self.p.stdin.write(what)
        self.p.stdin.flush()
        said = self.p.stdout.readline()
        assert said == answer + '\n', (what, said, self.p.poll())

    def ended(self):
        self.before.check()
        assert self.p.communicate(timeout=300)[0] == 'same 1\n' and self.p.returncode == 7


def go_program(ctx, text, assembly=''):
    """Built once for all variants; its library, which takes long, once for all programs."""
    go = shutil.which('go')
    if not go:
        ctx.skip('no go')
    path = os.path.join(ctx.root, 'build', 'targets', 'go-' + hashlib.sha1((text + assembly).encode()).hexdigest()[:12])
    if not os.path.exists(path):
        source, new = ctx.tmp + '/source', ctx.tmp + '/program'
        os.mkdir(source)
        for name, part in ('program.go', text), ('program.s', assembly):
            if part:
                with open(os.path.join(source, name), 'w') as f:
                    f.write(part)
        env = dict(GOCACHE=os.path.join(ctx.root, 'build', 'go'), GOTOOLCHAIN='local', GO111MODULE='off', HOME=ctx.tmp)
        ctx.run([go, 'build', '-o', new, '.'], env=env, cwd=source, user=None, group=None, extra_groups=None)
        if not os.path.exists(new):
            ctx.skip('go cannot build here')
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.copy(new, '%s.%d' % (path, os.getpid()))
        os.rename('%s.%d' % (path, os.getpid()), path)
    return path
