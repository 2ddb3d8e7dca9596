# SPDX-License-Identifier: MIT
"""Workloads of real programs that give the same output each time."""
import os
import shutil
import subprocess

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
