# SPDX-License-Identifier: MIT
"""--patching: each way to change code that threads are running, and a word that is none."""
import os
import re

from scripted import environment, script_file, words
from support import PAIR

SCRIPT = '''
global n, r
probe process.function("recurse") { n++ }
probe process.function("recurse").return { r++; if ($return != @entry($n) * (@entry($n) + 1) / 2) error("wrong") }
probe end { printf("%d %d\\n", n, r) }
'''


def run(ctx, how, option=False):
    path = ctx.target('throw.cc', cc='g++', cflags=('-O2', '-g'))
    env = environment(ctx)
    out = os.path.join(ctx.tmp, 'out')
    if option:
        module = os.path.join(ctx.tmp, 's')
        ctx.run([ctx.bin('trapless'), '-p4', '-m', module, '--cc', 'gcc', '-c', path, script_file(ctx, SCRIPT)], env=env)
        argv = [ctx.bin('trapless-run'), module + '.tap', '--patching', how, '-o', out, '-c', path + ' 4 100']
    else:
        env['TRAPLESS_PATCHING'] = how
        argv = words(ctx, '-o', out, '-c', path + ' 4 100') + [script_file(ctx, SCRIPT)]
    r = ctx.run(argv, env=env, timeout=300)
    return r, open(out).read() if os.path.exists(out) else ''


def test_every_way(ctx):
    for how in ('auto', 'store', 'spin', 'stop'):
        r, out = run(ctx, how)
        assert r.returncode == 11 and out == '1608 1608\n', (how, r, out)


def test_no_such_way(ctx):
    r, out = run(ctx, 'hope')
    assert r.returncode not in (0, 11) and not out, (r, out)
    assert re.search(r"--patching: `hope' is none of auto, store, spin, stop", r.stderr), r.stderr


test_every_way.variants = PAIR
