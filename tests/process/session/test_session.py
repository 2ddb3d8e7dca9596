# SPDX-License-Identifier: MIT
"""How sessions end: exit statuses, signals, the terminal, `end` probes."""
import ctypes
import os
import pty
import re
import select
import shlex
import signal
import subprocess
import time

from scripted import attach, environment, finish, launch, script_file, words
from support import Before, PAIR, end_count, has_threads, has_worked, runner, start, state_of, tap, text_of, tracer_of

SCRIPT = 'global n probe process("%s").function("work")? { n++ } probe begin { println("begin") } ' \
         'probe end { println("end ", n > 0) }'


def status_of(ctx, command):
    return launch(ctx, 'probe begin, end { println(pp()) }', command)


def test_exit_codes(ctx):
    for code in (0, 1, 42, 255):
        r = status_of(ctx, "sh -c 'exit %d'" % code)
        assert r.returncode == code and r.script == 'begin\nend\n', (code, r, r.script)


def test_killed_by_signal(ctx):
    for sig in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGABRT):
        r = status_of(ctx, "sh -c 'kill -%d $$'" % sig)
        assert r.returncode == 128 + sig and r.script == 'begin\nend\n', (sig, r)


def test_output_full(ctx):
    """Output that cannot be written ends the session, with a message and status 1."""
    for argv, name in (([], 'the output'), (['-o', '/dev/full'], '/dev/full')):
        p = ctx.start([ctx.bin('trapless'), '-T', '20', '-e', 'probe timer.ms(10) { println("x") }'] + argv,
                      env=environment(ctx), stdout=open('/dev/full', 'w'), stderr=subprocess.PIPE)
        err = p.communicate(timeout=300)[1]
        assert p.returncode == 1 and 'cannot write %s: No space left' % name in err, (p.returncode, err)


def both_tools(ctx, path):
    """The words of a session of either that counts work() and ends by itself."""
    script = script_file(ctx, 'global n probe process("%s").function("work") { n++ } probe end { println("end ", n > 0) }'
                         'probe timer.ms(20) { if (n) exit() }' % path)
    made = ctx.run([ctx.bin('trapless'), '-p4', '-m', 'made', script], env=environment(ctx))
    assert made.returncode == 0, made
    return [runner(ctx), os.path.join(ctx.tmp, 'made.tap')], [ctx.bin('trapless'), script]


def without(*fds, **kw):
    """How a program is started that finds these closed. What no pipe takes is nobody's."""
    kw = dict(dict(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL), **kw)
    return dict(kw, preexec_fn=lambda: [os.close(fd) for fd in fds])


def test_standard_files(ctx):
    """Closed, full, or with nobody behind it: the program goes on, nothing takes the place of what is closed, and only
    output that is lost is an error."""
    path = ctx.target('count')
    p = start(ctx, path, 2)
    has_threads(p.pid, 3)
    before = Before(p.pid, os.path.basename(path))
    full, pipe = open('/dev/full', 'w'), subprocess.PIPE
    reader, unread = os.pipe()
    os.close(reader)
    for words in both_tools(ctx, path):
        for how, want, said in ((without(0, stdout=pipe), 0, 'end 1\n'), (without(2, stdout=pipe), 0, 'end 1\n'),
                                (without(stdout=pipe, stderr=full), 0, 'end 1\n'), (without(stdout=unread), 0, None),
                                (without(1, stderr=pipe), 1, 'cannot write the output: Bad file descriptor'),
                                (without(stdout=full, stderr=pipe), 1, 'cannot write the output: No space left'),
                                (without(0, 1, 2), 1, None)):
            s = ctx.start(words + ['-x', str(p.pid)], env=environment(ctx), **how)
            out, err = s.communicate(timeout=300)
            assert s.returncode == want and (not said or said in (out or err)), (words, how, s.returncode, out, err)
            before.check()
        for closed, want in ((0,), 7), ((2,), 7), ((1,), 1):
            s = ctx.start(words + ['-c', path + ' 1 3'], env=environment(ctx), **without(*closed))
            assert s.wait(timeout=300) == want, (words, closed, s.returncode)
    os.close(unread)
    p.terminate()
    assert p.wait(timeout=300) == 7


def test_inherited(ctx):
    """The program finds what it would without us."""
    command = "sh -c 'grep ^Sig[BIC] /proc/self/status; for n in 0 1 2; do [ -e /proc/self/fd/$n ] || echo closed $n; done'"

    def as_started():
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, {signal.SIGUSR1, signal.SIGCHLD})
        os.close(0)

    for how in (as_started, None):
        bare = ctx.run(shlex.split(command), preexec_fn=how)
        for words in both_tools(ctx, ctx.target('count')):
            r = ctx.run(words + ['-o', '/dev/null', '-c', command], env=environment(ctx), preexec_fn=how)
            assert (r.returncode, r.stdout) == (0, bare.stdout), (words, bare.stdout, r)
        assert ('closed 0' in bare.stdout) == bool(how), bare


def test_guardian_that_does_not_answer(ctx):
    """Asked a second time the runner ends without it; as soon as it can, the guardian leaves by itself."""
    path = ctx.target('steps')
    p = start(ctx, path, stdin=subprocess.PIPE)
    before = Before(p.pid, os.path.basename(path))
    s = attach(ctx, 'probe process.function("work") { }', pid=p.pid)
    guardian = tracer_of(p.pid)
    os.kill(guardian, signal.SIGSTOP)
    for _ in range(200):
        if s.poll() is None:
            s.send_signal(signal.SIGINT)
            time.sleep(0.3)
    os.kill(guardian, signal.SIGCONT)
    out, err = s.communicate(timeout=300)
    assert s.returncode == 1 and 'not waited for: the guardian' in err, (s.returncode, err)
    before.check()
    p.stdin.close()
    assert p.wait(timeout=300) == 7


def test_runner_that_does_not_listen(ctx):
    """Nobody waits for a runner that is stopped: the program goes on and ends, as does the guardian; all is told later."""
    path = ctx.target('steps')
    p = start(ctx, path, stdin=subprocess.PIPE)
    text = text_of(p.pid, 'libc.so.6')
    script = 'probe process("%s").library("libc.so.6").function("*")? { } probe end { println("end") }'
    s = ctx.start(words(ctx, '-x', p.pid) + [script_file(ctx, script % path)], stderr=subprocess.PIPE,
                  env=environment(ctx))
    while '  start ' not in s.stderr.readline():  # each of thousands of probes is explained behind that
        assert s.poll() is None
    s.send_signal(signal.SIGSTOP)
    os.waitpid(s.pid, os.WUNTRACED)
    while text_of(p.pid, 'libc.so.6') == text or len(os.listdir('/proc/%d/task' % p.pid)) > 1:
        time.sleep(0.01)  # until all is armed
    guardian = tracer_of(p.pid)
    p.stdin.write('work 10\n')
    p.stdin.close()
    assert p.stdout.read() == 'done\n' and p.wait(timeout=300) == 7
    while state_of(guardian) != 'Z':  # until the runner looks after it
        time.sleep(0.01)
    s.send_signal(signal.SIGCONT)
    out, err = s.communicate(timeout=300)
    explained = len(re.findall(r'libc\.so\.6\+0x\w+  process', err))
    assert s.returncode == 0 and out == 'end\n' and explained > 2000, (s.returncode, out, explained, err[-2000:])


test_runner_that_does_not_listen.variants = PAIR


def test_reader_gone(ctx):
    """`trapless ... | head -1` ends when head does."""
    p = ctx.start([ctx.bin('trapless'), '-e', 'probe timer.ms(10) { println("x") }'], env=environment(ctx),
                  stderr=subprocess.PIPE)
    assert p.stdout.readline() == 'x\n'
    p.stdout.close()
    assert p.wait(timeout=300) == 0 and p.stderr.read() == '', p


def test_script_exit(ctx):
    """exit() in a handler: `end` runs, the program is released and goes on to its own end."""
    path = ctx.target('count')
    p = start(ctx, path, 2)
    has_threads(p.pid, 3)
    before = Before(p.pid, os.path.basename(path))
    s = attach(ctx, 'global n probe process.function("work") { if (n++ == 500) exit() } '
               'probe end { printf("end %d\\n", n > 500) }', pid=p.pid)
    out, err = finish(s, None)
    assert out == 'end 1\n', (out, err)
    before.check()
    assert 'calls' in end_count(p)


def test_interrupt(ctx):
    """SIGINT, SIGTERM, SIGHUP: as exit()."""
    path = ctx.target('count')
    p = start(ctx, path, 2)
    has_threads(p.pid, 3)
    before = Before(p.pid, os.path.basename(path))
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        s = attach(ctx, SCRIPT % path, pid=p.pid)
        has_worked(p.pid)
        out, err = finish(s, sig)
        assert out == 'begin\nend 1\n', (sig, out, err)
        before.check()
    end_count(p)


def interrupted():
    """In a child: a signal that waits for whatever is executed."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    os.kill(os.getpid(), signal.SIGINT)


def test_interrupted_before_armed(ctx):
    """Ended while another session's guardian keeps it waiting: nothing is said of a program that nobody has looked at."""
    path = ctx.target('count')
    p = start(ctx, path, 2)
    s = attach(ctx, SCRIPT % path, pid=p.pid)
    guardian = tracer_of(p.pid)
    os.kill(guardian, signal.SIGSTOP)
    try:
        r = ctx.run([runner(ctx), tap.counter(ctx.tmp, path, ['work']), '-x', str(p.pid)], preexec_fn=interrupted)
    finally:
        os.kill(guardian, signal.SIGCONT)
    assert (r.returncode, r.stdout, r.stderr) == (0, 'hits 0\n', ''), (r.returncode, r.stdout, r.stderr)
    finish(s)
    end_count(p)


def ignore_thread_signals():
    """As posix_spawn of glibc leaves them to a child (of make, say); hidden by its sigaction."""
    ignore, before = (ctypes.c_ulong * 4)(1, 0, 0, 0), (ctypes.c_ulong * 4)()
    for sig in 32, 33:
        assert ctypes.CDLL(None).syscall(13, sig, ignore, before, 8) == 0


def test_ignored(ctx):
    """The program that we start ignores what we were started to ignore."""
    look = ['grep', 'SigIgn', '/proc/self/status']
    module = tap.counter(ctx.tmp, ctx.target('steps'), ['work'])

    def said(argv, **kw):
        return ctx.start(argv, preexec_fn=ignore_thread_signals, **kw).communicate(timeout=300)[0]

    bare, traced = said(look), said([runner(ctx), module, '-c', ' '.join(look)])
    assert int(bare.split()[1], 16) >> 31 & 3 == 3 and bare in traced, (bare, traced)


def test_nohup(ctx):
    """Signals that are ignored when a session starts: SIGHUP stays so, and the program that it starts sees them."""
    path = ctx.target('steps')
    module = tap.counter(ctx.tmp, path, ['work'])
    look = 'grep SigIgn /proc/self/status'
    before = {sig: signal.signal(sig, signal.SIG_IGN) for sig in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)}
    try:
        p = ctx.start([runner(ctx), module, '-c', path])
        bare, traced = ctx.run(look.split()).stdout, ctx.run([runner(ctx), module, '-c', look]).stdout
    finally:
        for sig, handler in before.items():
            signal.signal(sig, handler)
    assert bare in traced, (bare, traced)
    assert p.stdout.readline().startswith('ready')
    p.send_signal(signal.SIGHUP)
    p.stdin.write('work 10\n')
    p.stdin.flush()
    assert p.stdout.readline() == 'done\n'
    assert p.communicate(timeout=300)[0] == 'hits 10\n' and p.returncode == 7, p.returncode


def test_timer_exit(ctx):
    path = ctx.target('count')
    p = start(ctx, path, 1)
    s = attach(ctx, 'global n probe timer.ms(100) { if (n++ == 2) exit() } probe end { println(n) }', pid=p.pid)
    out, err = finish(s, None)
    assert out == '3\n', (out, err)
    end_count(p)


def test_input(ctx):
    """CMD reads what we were given, to its end."""
    text = ''.join('line %d\n' % i for i in range(5000))
    r = launch(ctx, 'global n probe process("/bin/cat").library("libc.so.6").function("read") { n++ } '
               'probe end { println(n > 0) }', 'cat', input=text)
    assert (r.returncode, r.stdout, r.script) == (0, text, '1\n'), r


def terminal(ctx, argv, feed):
    """Run argv on a terminal of its own; feed: [(seen, typed)]. Returns (output, status)."""
    master, slave = pty.openpty()
    p = ctx.popen(argv, stdin=slave, stdout=slave, stderr=slave, start_new_session=True, env=environment(ctx),
                  preexec_fn=lambda: __import__('fcntl').ioctl(0, __import__('termios').TIOCSCTTY, 0))
    os.close(slave)
    seen, end = b'', time.monotonic() + 300
    try:
        while True:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired(argv, 300, seen)
            if feed and feed[0][0] in seen:
                time.sleep(0.2)
                os.write(master, feed.pop(0)[1])
            if select.select([master], [], [], 0.1)[0]:
                try:
                    data = os.read(master, 4096)
                except OSError:
                    break
                if not data:
                    break
                seen += data
        p.wait(timeout=300)
    finally:
        if p.poll() is None:
            p.kill()
            p.wait()
        os.close(master)
    return seen.decode().replace('\r\n', '\n'), p.returncode


def test_terminal(ctx):
    """CMD has the terminal: it is one, can be read from, and its job control works."""
    script = script_file(ctx, 'probe end { println("the end") }')
    command = "sh -c 'test -t 0 && test -t 1 && echo is-a-tty; read x; echo got-$x; exit 9'"
    out, status = terminal(ctx, words(ctx, '-c', command, script), [(b'is-a-tty', b'typed\n')])
    assert 'is-a-tty\n' in out and 'got-typed\n' in out and 'the end\n' in out and status == 9, (out, status)


def test_terminal_interrupt(ctx):
    """^C goes to CMD and to us: CMD's handler runs, `end` probes run."""
    script = script_file(ctx, 'probe end { println("the end") }')
    command = "sh -c 'trap \"echo caught; exit 5\" INT; echo waiting; while :; do sleep 0.05; done'"
    out, status = terminal(ctx, words(ctx, '-c', command, script), [(b'waiting', b'\x03')])
    assert 'caught' in out and 'the end\n' in out, (out, status)


def test_no_warnings(ctx):
    for args, times in (((), 1), (('-w',), 0)):
        r = launch(ctx, 'probe begin { warn("careful") }', 'true', *args)
        assert r.returncode == 0 and r.stderr.count('WARNING: careful') == times, (args, r)


def test_stderr_is_the_programs(ctx):
    """Closing lines are none of CMD's: -w leaves them out."""
    path = ctx.target('children')
    argv = [ctx.bin('trapless'), '--no-follow', '-c', path, '-e', 'probe process("%s").function("main") { }' % path]
    said = ctx.run(argv, env=environment(ctx)).stderr
    assert 'child processes that ran untraced: ' in said, said
    said = ctx.run(argv + ['-w'], env=environment(ctx)).stderr
    assert said == '', said


def test_many_sessions(ctx):
    """Session after session on one process: nothing grows."""
    path = ctx.target('count')
    p = start(ctx, path, 2)
    has_threads(p.pid, 3)
    script = 'global n probe process.function("work") { n++ } probe process.function("work").return { n++ } ' \
             'probe end { println(n > 0) }'

    def rss():
        with open('/proc/%d/statm' % p.pid) as f:
            return int(f.read().split()[1]) * 4
    before = Before(p.pid, os.path.basename(path))
    seen = []
    for i in range(50 if ctx.long else 15):
        s = attach(ctx, script, pid=p.pid)
        out, err = finish(s)
        assert out in ('1\n', '0\n'), (out, err)
        before.check()
        seen.append(rss())
    assert max(seen[5:]) - seen[4] <= 64, seen
    end_count(p)


test_exit_codes.variants = test_script_exit.variants = test_interrupt.variants = PAIR
test_input.variants = test_many_sessions.variants = PAIR
test_killed_by_signal.variants = ('opt', 'nobody')
test_terminal.variants = ('opt', 'nobody')
