# SPDX-License-Identifier: MIT
"""Programs whose mappings are not those that the loader made."""
import re
import subprocess

from scripted import attach, check_rung, finish
from support import start

SCRIPT = '''
global n
probe process("%s").function("near_by"), process("%s").function("far_away") { n++ }
probe end { println(n) }
'''
FLAGS = ('-O2', '-g', '-no-pie', '-Wl,--section-start=.far=0x2000000')


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
