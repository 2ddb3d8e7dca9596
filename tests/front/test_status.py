# SPDX-License-Identifier: MIT
"""The exit status on every way out, as --help tells it."""
import os
import signal
import subprocess

from context import wait_until
from support_front import Selling, shop, trapless

LIBC = 'probe process.library("libc.so.6").function("%s").return%s { }'
FAILS = 'probe begin { error("no") }'


def status(ctx, want, *args, **kw):
    p = trapless(ctx, *args, **kw)
    assert p.returncode == want, (args, p.returncode, p.stdout, p.stderr)
    return p


def test_of_passes(ctx):
    """What does not run ends with 0 where nothing was refused."""
    good = 'probe begin { exit() }'
    for n in (1, 2, 3, 4):
        status(ctx, 0, '-p', n, '-e', good)
    status(ctx, 0, '-l', 'process("true").function("main") ?')
    for args in (['-p', 1, '-e', 'probe'], ['-p', 2, '-e', 'probe begin { nosuch() }'], ['/none.stp'],
                 ['-l', 'process("/none").function("f")'], ['-x', 0, '-e', good], ['-c', '/none', '-e', good],
                 ['--coverage', '/none'], ['-o', '/none/x', '-e', good]):
        status(ctx, 1, *args)
    for args in (['--none', '-e', good], ['-c', 'true', '-x', 1, '-e', good], ['-p', 6, '-e', good], ['-v']):
        status(ctx, 2, *args)


def test_of_the_command(ctx):
    quiet = 'probe begin { }'
    path = shop(ctx)
    sell = 'probe process("%s").function("sell") { exit() }' % path
    for script, command, want in (
            (quiet, 'sh -c "exit 37"', 37), (quiet, 'sh -c "kill -KILL \\$\\$"', 128 + signal.SIGKILL),
            (quiet, 'no-such-program; exit 3', 3), (quiet, 'no-such-program; no-such-program', 127),
            (quiet, ctx.root + '/README.md', 126), ('probe begin { exit() }', 'sh -c "exit 4"', 4),
            (sell, "sh -c '%s 1 10; exit 5'" % path, 5), (sell, 'sh -c "exit 6"', 6),
            (LIBC % ('vfork', ''), 'sh -c "exit 7"', 1), (LIBC % ('vfork', ' ?'), 'sh -c "exit 8"', 8),
            (LIBC % ('*fork', ''), 'sh -c "exit 9"', 9), (LIBC % ('vfor[k]', ''), 'sh -c "exit 10"', 1),
            (FAILS, 'sh -c "exit 11"', 1), ('probe begin { try { error("no") } catch { } }', 'sh -c "exit 12"', 12)):
        status(ctx, want, '-e', script, '-c', command)
    status(ctx, 1, '-D', 'MAXERRORS=3', '-e', FAILS, '-c', 'true')


def test_without_a_command(ctx):
    status(ctx, 0, '-e', 'probe begin { exit() }')
    status(ctx, 1, '-e', FAILS)
    status(ctx, 1, '-D', 'MAXERRORS=3', '-e', FAILS + ' probe begin(1) { exit() }')
    status(ctx, 0, '-T', 1, '-e', 'probe timer.s(60) { }')
    target = Selling(ctx)
    status(ctx, 1, '-x', target.pid, '-e', LIBC % ('vfork', ''))
    status(ctx, 0, '-x', target.pid, '-e', LIBC % ('*fork', '') + 'probe timer.ms(10) { exit() }')
    target.end()


def attached(ctx, *args):
    p = ctx.start([ctx.bin('trapless'), '-e', 'probe begin { println("on") }'] + [str(a) for a in args],
                  stderr=subprocess.PIPE)
    assert p.stdout.readline() == 'on\n'
    return p


def test_ended_from_outside(ctx):
    """By a signal to us, by the target's end, by a reader that has seen enough."""
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        target = Selling(ctx)
        p = attached(ctx, '-x', target.pid)
        p.send_signal(sig)
        assert p.wait(300) == 0, (sig, p.communicate())
        target.unchanged()
        p = attached(ctx, '-x', target.pid)
        target.process.kill()
        assert p.wait(300) == 0, p.communicate()
        p = attached(ctx, '-c', 'sh -c "read x; exit 13"')
        p.send_signal(sig)
        p.stdin.close()
        assert p.wait(300) == 13, p.communicate()
    hello = os.path.join(ctx.tmp, 'hello.stp')
    with open(hello, 'w') as f:
        f.write('probe timer.ms(1) { println("hello") }')
    p = ctx.run(['bash', '-o', 'pipefail', '-c', '%s %s | head -1' % (ctx.bin('trapless'), hello)], timeout=300)
    assert p.returncode == 0 and p.stdout == 'hello\n', p


def tool(ctx, name, text):
    path = os.path.join(ctx.tmp, name)
    with open(path, 'w') as f:
        f.write('#!/bin/sh\n' + text)
    os.chmod(path, 0o755)
    return path


def interrupted(ctx, sig, args, begun, **env):
    """Ended by the signal once the file `begun` is there; which of its own files are left."""
    folder = os.path.join(ctx.tmp, 'left-%s' % os.path.basename(begun))
    os.makedirs(folder, exist_ok=True)
    names = dict(TMPDIR=folder, XDG_CACHE_HOME=folder, DEBUGINFOD_CACHE_PATH=folder, **env)
    p = ctx.start([ctx.bin('trapless')] + args, stderr=subprocess.PIPE, env=dict(os.environ, **names))
    wait_until(lambda: os.path.exists(begun), begun)
    p.send_signal(sig)
    out, err = p.communicate(timeout=300)
    assert p.returncode == -sig and out == '', (p.returncode, out, err)
    assert err == 'interrupted while the script was compiled: nothing was started\n', err
    os.remove(begun)
    left = [os.path.join(at, f) for at, _, files in os.walk(folder) for f in files]
    return left + [f for f in os.listdir(folder) if f.startswith('trapless-')]


def test_interrupted_before_it_begins(ctx):
    """One line, the signal's own status, no file, and no compiler that runs on; who ignores the signal goes on."""
    began, ended = os.path.join(ctx.tmp, 'began'), os.path.join(ctx.tmp, 'ended')
    slow = tool(ctx, 'cc', 'while [ "$1" != -o ]; do shift; done\ntrap "echo > %s; exit 1" TERM\n'
                           'echo > $2; echo > %s; while :; do sleep .05; done\n' % (ended, began))
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        left = interrupted(ctx, sig, ['--cc', slow, '-e', 'probe begin { println("on") }'], began)
        assert not left, left
        wait_until(lambda: os.path.exists(ended), ended)
        os.remove(ended)
    slow = tool(ctx, 'cc2', 'echo > %s; sleep 1; exec gcc "$@"\n' % began)
    line = 'trap "" INT; exec %s --no-cache --cc %s -e \'probe begin { println("on") exit() }\'' % (ctx.bin('trapless'), slow)
    p = ctx.start(['sh', '-c', line], stderr=subprocess.PIPE)
    wait_until(lambda: os.path.exists(began), began)
    p.send_signal(signal.SIGINT)
    assert p.communicate(timeout=300) == ('on\n', '') and p.returncode == 0


def test_interrupted_while_a_header_is_compiled_or_debug_information_fetched(ctx):
    began = os.path.join(ctx.tmp, 'began')
    for name in ('cc', 'curl'):
        tool(ctx, name, 'for word; do [ "$before" = -o -o "$before" = --output ] && out=$word; before=$word; done\n'
                        'trap "exit 1" TERM\n[ -z "$out" ] && exit\n'
                        'echo > $out; echo > %s; while :; do sleep .05; done\n' % began)
    path = ctx.tmp + ':' + os.environ['PATH']
    for args in (['-e', 'probe begin { println(@cast(0, "struct stat", "<sys/stat.h>")->st_size) }'],
                 ['-e', 'probe process("/bin/true").function("main") { }']):
        left = interrupted(ctx, signal.SIGINT, args, began, PATH=path, DEBUGINFOD_URLS='http://127.0.0.1:9/')
        assert not left, left
