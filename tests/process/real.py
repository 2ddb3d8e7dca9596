# SPDX-License-Identifier: MIT
"""Workloads of real programs that give the same output each time."""
import collections
import os
import shutil

from scripted import environment
from support import LIBC

GIT_ENV = dict(GIT_AUTHOR_NAME='A', GIT_AUTHOR_EMAIL='a@example.org', GIT_COMMITTER_NAME='A',
               GIT_COMMITTER_EMAIL='a@example.org', GIT_AUTHOR_DATE='2020-01-01T00:00:00Z',
               GIT_COMMITTER_DATE='2020-01-01T00:00:00Z', GIT_CONFIG_NOSYSTEM='1', GIT_CONFIG_GLOBAL='/dev/null')


def repository(ctx, commits=12, name='repo'):
    """A small repository, the same in every run, that the test's user owns."""
    if shutil.which('git') is None:
        ctx.skip('no git')
    path = os.path.join(ctx.tmp, name)
    script = 'set -e; git init -q -b main %s; cd %s\n' % (path, path)
    for i in range(commits):
        script += 'seq %d %d > f%d; git add .; git commit -q -m "change %d"\n' % (i, i * 30 + 5, i % 5, i)
    r = ctx.run(['/bin/sh', '-c', script], env=dict(GIT_ENV, HOME=ctx.tmp))
    assert r.returncode == 0, r
    return path


# library: the one of its libraries whose functions are worth probing.
Work = collections.namedtuple('Work', 'program command library env')


def program(ctx, path, library=LIBC):
    if not os.path.exists(path):
        ctx.skip('no ' + path)
    return os.path.realpath(path), os.path.realpath(library)


def git(ctx, repo, words):
    path, library = program(ctx, '/usr/bin/git')
    return Work(path, '%s -C %s %s' % (path, repo, words), library, GIT_ENV)


def git_log(ctx):
    return git(ctx, repository(ctx), '--no-pager log --stat -p')


def git_is_whole(ctx, repo):
    r = ctx.run(['git', '-C', repo, 'fsck', '--strict'], env=GIT_ENV)
    assert r.returncode == 0 and 'error' not in r.stderr, r


SQL = '''
create table t(a, b);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 300) insert into t select i, i * 7 % 1000 from n;
create index x on t(b);
select * from t where b > 500 order by b;
select count(*), sum(a) from t;
'''


def sqlite(ctx):
    path, library = program(ctx, '/usr/bin/sqlite3', '/usr/lib/x86_64-linux-gnu/libsqlite3.so.0')
    sql = os.path.join(ctx.tmp, 'work.sql')
    with open(sql, 'w') as f:
        f.write(SQL)
    return Work(path, '%s -batch -init %s :memory:' % (path, sql), library, {})


PYTHON = '''
import threading, subprocess, json, re, sys
def f(n):
    return json.dumps({str(i): re.sub("[0-9]", "x", str(i * n)) for i in range(20)})
out = [None] * 4
def g(k):
    out[k] = f(k)
t = [threading.Thread(target=g, args=(k,)) for k in range(4)]
[x.start() for x in t]; [x.join() for x in t]
print(out)
print(subprocess.run(["echo", "child"], capture_output=True).stdout)
try:
    1 / 0
except ZeroDivisionError as e:
    print(e)
sys.exit(3)
'''


def python(ctx):
    """Threads, a child, an exception, and a status of its own."""
    path, library = program(ctx, '/usr/bin/python3')
    work = os.path.join(ctx.tmp, 'work.py')
    with open(work, 'w') as f:
        f.write(PYTHON)
    return Work(path, '%s -S -E %s' % (path, work), library, {})


def check_alike(ctx, work, traced):
    """Run without us, it has the same output and status."""
    bare = ctx.run(['/bin/sh', '-c', work.command], env=dict(work.env, **environment(ctx)), timeout=300)
    assert (traced.returncode, traced.stdout) == (bare.returncode, bare.stdout), (
        bare, traced.returncode, traced.stdout[-500:], traced.stderr[-1500:])
