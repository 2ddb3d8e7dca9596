# SPDX-License-Identifier: MIT
"""Programs that have their own threads traced: LeakSanitizer does, and the kernel knows one tracer of a thread."""
import subprocess

from scripted import attach, launch, number
from support import ALL, start

SCRIPT = '''
global n, r
probe process.function("work") { n++ }
probe process.function("work").return { r++ }
probe end { println(n, " ", r) }
'''
SILENT = 'times that all probes were silent'
SUM = sum(3 * i + 1 for i in range(100))


def leaking(ctx, cc, how):
    return ctx.target('leaking', cflags=('-O1', '-g', '-fsanitize=' + how), cc=cc)


def checked(ctx, path, *words):
    """It is checked as it is without us, amid its work and at its end."""
    if ctx.said:
        ctx.skip("what the runner's sanitizer is told reaches the program's, which looks for no leaks then")
    alone = ctx.run([path] + list(words), timeout=300)
    assert alone.stdout == 'found %d sum %d\n' % (bool(words), 2 * SUM), alone
    assert (alone.returncode == 7) != bool(words) and alone.stderr.count('ERROR: LeakSanitizer: detected') == 2 * bool(words), alone
    r = launch(ctx, SCRIPT, ' '.join((path,) + words))
    assert (r.returncode, r.stdout) == (alone.returncode, alone.stdout), (r.returncode, r.stdout, r.stderr)
    assert r.stderr.count('ERROR: LeakSanitizer: detected') == 2 * bool(words), r.stderr
    assert r.script == '200 200\n' and number(r.stderr, 'hits missed') == 0, (r.script, r.stderr)
    assert number(r.stderr, SILENT) == 2, r.stderr


def test_address(ctx):
    path = leaking(ctx, 'gcc', 'address')
    checked(ctx, path)
    checked(ctx, path, 'leak')


def test_clang(ctx):
    """The sanitizer is in the program."""
    path = leaking(ctx, 'clang', 'address')
    checked(ctx, path)
    checked(ctx, path, 'leak')


def test_leak_alone(ctx):
    checked(ctx, leaking(ctx, 'clang', 'leak'), 'leak')


def test_attached(ctx):
    p = start(ctx, leaking(ctx, 'gcc', 'address'), 'attach', stdin=subprocess.PIPE)
    s = attach(ctx, SCRIPT, pid=p.pid)
    out, _ = p.communicate('\n', timeout=300)
    assert (p.returncode, out) == (7, 'found 0 sum %d\n' % (2 * SUM)), (p.returncode, out)
    out, err = s.communicate(timeout=300)
    assert out == '200 200\n', (out, err)


def test_by_a_process(ctx):
    """Not only sanitizers: any process that shares the memory."""
    r = launch(ctx, SCRIPT, ctx.target('selftraced'))
    assert (r.returncode, r.stdout) == (7, 'good 10 sum %d\n' % (11 * SUM)), (r.returncode, r.stdout, r.stderr)
    assert r.script == '1100 1100\n' and number(r.stderr, 'hits missed') == 0, (r.script, r.stderr)
    assert number(r.stderr, SILENT) == 10, r.stderr


for _f in (test_address, test_clang, test_leak_alone, test_attached, test_by_a_process):
    _f.variants = ALL
