# SPDX-License-Identifier: MIT
"""Restartable sequences (rseq): the kernel restarts who stands in one, and could not tell that of a detour."""
import subprocess

import scripted
from support import LIBC, PAIR

SCRIPT = '''global n
probe process.function("add_one") { n++ }
probe process.statement(0x%x) ? { n = -1 }
probe end { printf("%%d\\n", n) }
'''
ROUNDS = 20000


def test_sequence_is_left_alone(ctx):
    if b'GLIBC_2.35' not in open(LIBC, 'rb').read():
        ctx.skip('the C library registers no area')
    path = ctx.target('sequence', cflags=('-O2', '-g', '-pthread'))
    names = subprocess.run(['nm', path], capture_output=True, text=True, check=True).stdout
    inside = next(int(line.split()[0], 16) for line in names.splitlines() if line.endswith(' inside_sequence'))
    r = scripted.launch(ctx, SCRIPT % inside, '%s %d' % (path, ROUNDS))
    if r.returncode == 8:
        ctx.skip('the kernel has no rseq')
    assert r.returncode == 7 and 'sum %d' % (4 * ROUNDS) in r.stdout, r
    assert 'IN_RSEQ' in r.stderr and int(r.script) >= 4 * ROUNDS, (r.script, r.stderr)


test_sequence_is_left_alone.variants = PAIR
