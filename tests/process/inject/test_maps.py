# SPDX-License-Identifier: MIT
"""Programs whose mappings are not those that the loader made."""
import os
import re
import shutil
import subprocess

from scripted import attach, check_rung, finish
from support import start

SCRIPT = '''
global n
probe process("%s").function("near_by"), process("%s").function("far_away") { n++ }
probe end { println(n) }
'''
FLAGS = ('-O2', '-g', '-no-pie', '-Wl,--section-start=.far=0x2000000')


def test_hundreds_of_libraries(ctx):
    """The one that is probed lies above them all."""
    shared = '-O2', '-g', '-shared', '-fPIC'
    lib, other = ctx.target('plugged', shared), ctx.target('plugin', shared + ('-Wl,--build-id=none',))
    others = [shutil.copy(other, os.path.join(ctx.tmp, 'l%d' % i)) for i in range(300)]
    path = ctx.target('linked', ldflags=(lib,))
    t = start(ctx, path, 'wait', env=dict(LD_PRELOAD=':'.join([lib] + others)))
    p = attach(ctx, 'global n probe process.library("%s").function("plugged") { n++ } probe end { println(n) }' % lib, pid=t.pid)
    assert t.communicate('g', timeout=300)[0] == 'listeners 0\n'
    said, err = finish(p, sig=None)
    assert said == '100\n', (said, err)


def test_hole_and_second_mapping(ctx):
    path = ctx.target('remapped', cflags=FLAGS)
    t = start(ctx, path, 1000, stdin=subprocess.PIPE)
    p = attach(ctx, SCRIPT % (path, path), pid=t.pid)
    out, _ = t.communicate('g', timeout=300)
    assert out == 'sum 200999000\n', out
    said, err = finish(p, sig=None)
    assert said == '2000\n', (said, err)
    assert 'traps' in ctx.variant or not re.search(r'^\s*trap ', err, re.M), err
    check_rung(ctx, err, 2000)
