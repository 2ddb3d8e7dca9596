# SPDX-License-Identifier: MIT
"""Real programs with every function probed that can be named: output and exit status as without us."""
import os
import re
import shutil

from real import GIT_ENV, repository
from scripted import environment, launch, number
from support import ALL, PAIR

LIBC = os.path.realpath('/lib/x86_64-linux-gnu/libc.so.6')
EVERYTHING = '''
global n
probe process("%s").function("*").call ? { n++ }
probe process.library("%s").function("*").call ? { n++ }
probe end { println(n) }
'''


def alike(ctx, program, command, least, env=None, library=LIBC, script=None):
    """Bare run, traced run: the same output and status."""
    env = dict(env or {}, **environment(ctx))
    bare = ctx.run(['/bin/sh', '-c', command], env=env, timeout=60)
    script = script or EVERYTHING % (program, library)
    path = os.path.join(ctx.tmp, 's.stp')
    with open(path, 'w') as f:
        f.write(script)
    out = os.path.join(ctx.tmp, 'script.out')
    r = ctx.run([ctx.bin('trapless'), '-v', '-o', out, '-c', command, path], env=env, timeout=100)
    assert (r.returncode, r.stdout) == (bare.returncode, bare.stdout), (bare, r.returncode, r.stdout[-500:],
                                                                        r.stderr[-1500:])
    hits = int(open(out).read())
    assert hits >= least, (hits, r.stderr[-1500:])
    assert number(r.stderr, 'child processes that could not be cleaned') == 0, r.stderr[-1500:]
    return r


def test_git_log(ctx):
    if shutil.which('git') is None:
        ctx.skip('no git')
    repo = repository(ctx)
    alike(ctx, '/usr/bin/git', '/usr/bin/git -C %s --no-pager log --stat -p' % repo, 1000, GIT_ENV)


def test_git_gc(ctx):
    """git starts git: the children run untraced and the repository is whole."""
    if shutil.which('git') is None:
        ctx.skip('no git')
    repo = repository(ctx)
    alike(ctx, '/usr/bin/git', '/usr/bin/git -C %s gc -q' % repo, 1000, GIT_ENV)
    r = ctx.run(['git', '-C', repo, 'fsck', '--strict'], env=GIT_ENV)
    assert r.returncode == 0 and 'error' not in r.stderr, r


def test_sqlite(ctx):
    if not os.path.exists('/usr/bin/sqlite3'):
        ctx.skip('no sqlite3')
    sql = os.path.join(ctx.tmp, 'work.sql')
    with open(sql, 'w') as f:
        f.write('create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n where i < 300) '
                'insert into t select i, i * 7 % 1000 from n; create index x on t(b);\n'
                'select * from t where b > 500 order by b;\nselect count(*), sum(a) from t;\n')
    alike(ctx, '/usr/bin/sqlite3', '/usr/bin/sqlite3 -batch -init %s :memory:' % sql, 1000,
          library=os.path.realpath('/usr/lib/x86_64-linux-gnu/libsqlite3.so.0'))


def python(ctx):
    if not os.path.exists('/usr/bin/python3'):
        ctx.skip('no /usr/bin/python3')
    work = os.path.join(ctx.tmp, 'work.py')
    with open(work, 'w') as f:
        f.write('import threading, subprocess, json, re, sys\n'
                'def f(n):\n    return json.dumps({str(i): re.sub("[0-9]", "x", str(i * n)) for i in range(20)})\n'
                'out = [None] * 4\n'
                'def g(k):\n    out[k] = f(k)\n'
                't = [threading.Thread(target=g, args=(k,)) for k in range(4)]\n'
                '[x.start() for x in t]; [x.join() for x in t]\nprint(out)\n'
                'print(subprocess.run(["echo", "child"], capture_output=True).stdout)\n'
                'try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    print(e)\nsys.exit(3)\n')
    alike(ctx, '/usr/bin/python3', '/usr/bin/python3 -S -E %s' % work, 5000)


def test_python(ctx):
    python(ctx)


def test_python_by_traps(ctx):
    python(ctx)


def test_libc_returns(ctx):
    """Every function of libc with its return, under a program that creates threads and children."""
    path = ctx.target('children')
    r = launch(ctx, 'global n, r probe process.library("%s").function("*").call ? { n++ }\n'
               'probe process.library("%s").function("*").return ? { r++ }\n'
               'probe end { println(n > 1000, " ", r > 500) }' % (LIBC, LIBC), path + ' 3', timeout=100)
    assert r.returncode == 5 and r.stdout == 'calls 123\n' and r.script == '1 1\n', (
        r.returncode, r.stdout, r.script, r.stderr[-1500:])


def test_children(ctx):
    """fork, vfork, spawn, clone, system with entry and return probes on what runs in child and parent."""
    path = ctx.target('children')
    r = launch(ctx, 'global n, r, bad probe process.function("work") { n++; if (pid() != target()) bad++ }\n'
               'probe process.function("work").return { r++; if ($return != @entry($a) * 3 + 1) bad++ }\n'
               'probe end { printf("%d %d %d\\n", n, r, bad) }', path + ' 10')
    calls = int(re.search(r'calls (\d+)', r.stdout).group(1))
    assert r.returncode == 5 and r.script == '%d %d 0\n' % (calls, calls), (r.stdout, r.script, r.stderr)
    assert number(r.stderr, 'child processes that ran untraced') == 50, r.stderr
    assert number(r.stderr, 'child processes that could not be cleaned') == 0, r.stderr


test_git_log.variants = test_git_gc.variants = test_sqlite.variants = PAIR
test_python_by_traps.variants, test_python_by_traps.long = ('traps',), True
test_libc_returns.variants = PAIR
test_children.variants = ALL
