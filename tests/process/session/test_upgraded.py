# SPDX-License-Identifier: MIT
"""Processes whose files have been removed or replaced since they were started: the mapped file is what counts."""
import os
import shutil
import time

from scripted import attach, environment, finish, script_file, words
from support import start

COUNT = 'global n; probe %s.function("%s") { n++ } probe end { printf("%%d\\n", n) }'


def counts(ctx, script, pid):
    s = attach(ctx, script, pid=pid)
    time.sleep(0.05)
    out, err = finish(s)
    assert int(out) > 0, (out, err)


def own_copy(ctx, path):
    """In a folder whose name looks like a pattern."""
    folder = os.path.join(ctx.tmp, 'app[1]?*')
    os.makedirs(folder, exist_ok=True)
    return shutil.copy(path, folder)


def test_program(ctx):
    for flags in (), ('-Wl,--build-id=none',):
        path = own_copy(ctx, ctx.target('count', cflags=('-O2', '-g', *flags)))
        p = start(ctx, path, 1)
        counts(ctx, COUNT % ('process', 'work'), p.pid)
        os.unlink(path)
        counts(ctx, COUNT % ('process', 'work'), p.pid)
        shutil.copy(ctx.target('late'), path)
        counts(ctx, COUNT % ('process', 'work'), p.pid)
        p.terminate()
        assert p.wait(timeout=300) == 7


def test_library(ctx):
    """Only root may read what is mapped."""
    lib = own_copy(ctx, ctx.target('plugin', cflags=('-O2', '-g', '-shared', '-fPIC')))
    p = start(ctx, '/usr/bin/python3', '-c', 'import ctypes, time\nlib = ctypes.CDLL(%r)\nprint("ready", flush=True)\n'
              'while True:\n    lib.plugin(1)\n    time.sleep(0.001)' % lib)
    script = COUNT % ('process.library("%s")' % lib, 'plugin')
    os.unlink(lib)
    for _ in range(2):
        if ctx.user is None:
            counts(ctx, script, p.pid)
        else:
            r = ctx.run(words(ctx, '-x', p.pid) + [script_file(ctx, script)], env=environment(ctx))
            assert r.returncode == 1 and 'error[FILE_REMOVED]' in r.stderr and 'run as root' in r.stderr, r
        shutil.copy(ctx.target('late'), lib)  # another one stands in its place


test_program.variants = test_library.variants = ('opt', 'nobody')
