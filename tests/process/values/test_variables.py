# SPDX-License-Identifier: MIT
"""Names of data: of variables in the program and its libraries, whose modules have them only where names are asked for."""
import os
import re

from scripted import launch
from support import LIBC, NO_BREAKPOINTS, PAIR

LOOK = 'probe process("%s").function("look") { printf("%%s | %%s | %%s\\n", usymname($p), usymdata($p), sprint_usyms(sprintf("0x%%x", $p))) }'
KNOWN = ['counter counter+0x0/0x4', 'hidden hidden+0x8/0x10', 'table table+0xa/0x18', 'zeroed zeroed+0x18f/0x190',
         '_IO_2_1_stdout_ _IO_2_1_stdout_+0x0/0xe0', 'look look+0x0']


def check(r, path):
    lines = [line for line in r.script.splitlines() if line]
    assert r.returncode == 0 and len(lines) == 10, r
    for i, want in enumerate(KNOWN):
        name, data = want.split()
        file = LIBC if name.startswith('_IO') else path
        assert re.fullmatch(r'%s \| %s(/0x\w+)? \[%s\] \|  0x\w+ : %s.*' % tuple(map(re.escape, (name, data, file, data))), lines[i]), (want, lines[i])
    assert re.fullmatch(r'0x\w+ \| 0x\w+ \[%s\+0x\w+/0x\w+\] \| .*' % re.escape(path), lines[6]), lines[6]


def test_names(ctx):
    for flags in ('-O1', '-g'), ('-O1', '-g', '-no-pie'):
        path = ctx.target('variables', cflags=flags)
        check(launch(ctx, LOOK % path, path), path)


test_names.variants = PAIR


def test_preloaded(ctx):
    path = ctx.target('variables', cflags=('-O1', '-g'))
    check(launch(ctx, LOOK % path, path, '--preload'), path)


test_preloaded.jumps_only = NO_BREAKPOINTS


def module_size(ctx, script):
    p = ctx.run([ctx.bin('trapless'), '-p4', '-m', 'sized', '-e', script], cwd=ctx.tmp, timeout=300)
    assert p.returncode == 0, p.stderr
    return os.path.getsize(os.path.join(ctx.tmp, p.stdout.strip() or 'sized.tap'))


def test_modules_have_them_only_where_they_are_asked_for(ctx):
    """A stack is of functions."""
    path = ctx.target('variables', cflags=('-O1', '-g'))
    probe = 'probe process("%s").function("look") { %%s }' % path
    stacks, names = (module_size(ctx, probe % use) for use in ('print_ubacktrace()', 'println(usymname($p)) print_ubacktrace()'))
    assert stacks + 10000 < names, (stacks, names)


test_modules_have_them_only_where_they_are_asked_for.once = 'nothing is probed'
