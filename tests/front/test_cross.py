# SPDX-License-Identifier: MIT
"""What knows no machine compiles for others; who does not is told."""
import os

once = 'nothing is probed'


def cross(ctx, *words):
    return ctx.run([os.path.join(ctx.root, 'mk', 'cross'), *words], cwd=ctx.root, timeout=1200)


def test_all_compiles(ctx):
    p = cross(ctx)
    lines = p.stdout.splitlines()
    assert p.returncode == 0, p.stdout
    if any('skipped' in line for line in lines):
        ctx.skip('a cross compiler is missing: mk/deps check')
    assert len(lines) == 5 and all(line.endswith(' compile') and int(line.split()[1]) > 200 for line in lines), lines


def test_what_does_not_compile_is_told(ctx):
    p = cross(ctx, '-m', 'mips', '-c-DTL_PAGE=', 'engine/os/process')
    if 'skipped' in p.stdout:
        ctx.skip('a cross compiler is missing: mk/deps check')
    assert p.returncode == 1 and 'mips: engine/os/process/' in p.stdout, p.stdout
