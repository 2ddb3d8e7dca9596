# SPDX-License-Identifier: MIT
"""Real programs with every function probed that can be named: output and exit status as without us."""
import os
import re

from real import check_alike, git, git_is_whole, git_log, python, repository, sqlite
from scripted import environment, launch, number, script_file
from support import ALL, LIBC, PAIR

EVERYTHING = '''
global n
probe process("%s").function("*").call ? { n++ }
probe process.library("%s").function("*").call ? { n++ }
probe end { println(n) }
'''


def check(ctx, work, least):
    """The same output and status as without us, and that many hits."""
    out = os.path.join(ctx.tmp, 'script.out')
    path = script_file(ctx, EVERYTHING % (work.program, work.library))
    env = dict(work.env, **environment(ctx))
    r = ctx.run([ctx.bin('trapless'), '-v', '-o', out, '-c', work.command, path], env=env, timeout=300)
    check_alike(ctx, work, r)
    hits = int(open(out).read())
    assert hits >= least, (hits, r.stderr[-1500:])
    assert number(r.stderr, 'child processes that could not be cleaned') == 0, r.stderr[-1500:]


def test_git_log(ctx):
    check(ctx, git_log(ctx), 1000)


def test_git_gc(ctx):
    """git starts git: the children are followed and the repository is whole."""
    repo = repository(ctx)
    check(ctx, git(ctx, repo, 'gc -q'), 1000)
    git_is_whole(ctx, repo)


def test_sqlite(ctx):
    check(ctx, sqlite(ctx), 1000)


def test_python(ctx):
    check(ctx, python(ctx), 5000)


def test_libc_returns(ctx):
    """Every function of libc with its return, under a program that creates threads and children."""
    path = ctx.target('children')
    r = launch(ctx, 'global n, r probe process.library("%s").function("*").call ? { n++ }\n'
               'probe process.library("%s").function("*").return ? { r++ }\n'
               'probe end { println(n > 1000, " ", r > 500) }' % (LIBC, LIBC), path + ' 3', timeout=300)
    assert r.returncode == 5 and r.stdout == 'calls 123\n' and r.script == '1 1\n', (
        r.returncode, r.stdout, r.script, r.stderr[-1500:])


def test_children(ctx):
    """fork, vfork, spawn, clone, system with entry and return probes on what runs in child and parent."""
    path = ctx.target('children')
    r = launch(ctx, 'global n, r, bad, other probe process.function("work") { n++; if (pid() != target()) other++ }\n'
               'probe process.function("work").return { r++; if ($return != @entry($a) * 3 + 1) bad++ }\n'
               'probe end { printf("%d %d %d %d\\n", n, r, bad, other) }', path + ' 10')
    calls = int(re.search(r'calls (\d+)', r.stdout).group(1))
    assert r.returncode == 5 and r.script == '%d %d 0 20\n' % (calls + 20, calls + 20), (r.stdout, r.script, r.stderr)
    assert number(r.stderr, 'child processes that ran untraced') == 0, r.stderr
    assert number(r.stderr, 'child processes that could not be cleaned') == 0, r.stderr


test_git_log.variants = test_git_gc.variants = test_sqlite.variants = PAIR
test_libc_returns.variants = PAIR
test_children.variants = ALL
