# SPDX-License-Identifier: MIT
"""The exit status on every way out, as --help tells it."""
import os
import signal
import subprocess

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
        assert p.wait(20) == 0, (sig, p.communicate())
        target.unchanged()
        p = attached(ctx, '-x', target.pid)
        target.process.kill()
        assert p.wait(20) == 0, p.communicate()
        p = attached(ctx, '-c', 'sh -c "read x; exit 13"')
        p.send_signal(sig)
        p.stdin.close()
        assert p.wait(20) == 13, p.communicate()
    hello = os.path.join(ctx.tmp, 'hello.stp')
    with open(hello, 'w') as f:
        f.write('probe timer.ms(1) { println("hello") }')
    p = ctx.run(['bash', '-o', 'pipefail', '-c', '%s %s | head -1' % (ctx.bin('trapless'), hello)], timeout=30)
    assert p.returncode == 0 and p.stdout == 'hello\n', p
