# SPDX-License-Identifier: MIT
"""What the pages say is what the programs do."""
import os
import re
import shutil

from support_front import Selling


def page(ctx, name):
    with open(os.path.join(ctx.root, name)) as f:
        return f.read()


def manual_options(text):
    """The options that have an entry of their own."""
    part = text.split('.SH OPTIONS')[1].split('\n.SH ')[0].replace('\\-', '-').replace('\\fI', ' ')
    found = set()
    for tag in re.findall(r'^\.TP\n(\.B.*)$', part, re.M):
        found |= set(re.findall(r'(?<![\w-])--?[A-Za-z][\w-]*', tag))
    return found


def help_options(text):
    found = set()
    for line in text.splitlines():
        m = re.match(r' {1,6}(-.*?)(?:  |$)', line)
        if m:
            found |= set(re.findall(r'(?<![\w-])--?[A-Za-z][\w-]*', m.group(1)))
    return found


def test_manual_of_trapless(ctx):
    told = help_options(ctx.run([ctx.bin('trapless'), '--help']).stdout)
    assert len(told) > 20, told
    assert manual_options(page(ctx, 'man/trapless.1')) == told, (manual_options(page(ctx, 'man/trapless.1')) ^ told)


def test_manual_of_trapless_run(ctx):
    told = help_options(ctx.run([ctx.bin('trapless-run'), '--help']).stdout)
    assert len(told) > 8, told
    have = manual_options(page(ctx, 'man/trapless-run.8'))
    assert have == told, have ^ told


def test_manual_pages_are_well_formed(ctx):
    if shutil.which('groff') is None:
        ctx.skip('no groff')
    for name in ('trapless.1', 'trapless-run.8'):
        p = ctx.run(['groff', '-man', '-Tutf8', '-ww', '-z', os.path.join(ctx.root, 'man', name)])
        assert p.returncode == 0 and not p.stderr, p.stderr


def test_exit_status_is_in_help(ctx):
    for tool in ('trapless', 'trapless-run'):
        assert re.search(r'^Exit status: ', ctx.run([ctx.bin(tool), '--help']).stdout, re.M), tool


def test_commands_of_the_readme(ctx):
    """The five steps, from the third on, against a process of ours."""
    target = Selling(ctx)
    text = page(ctx, 'README.md').split('## From nothing')[1].split('\n## ')[0]
    assert 'make demo' in text and 'git clone' in text
    steps = re.findall(r'^    (bin/trapless .*?(?:\n     +.*?)*)$', text, re.M)
    assert len(steps) >= 3, steps
    for step in steps:
        step = step.replace('bin/', ctx.root + '/bin/').replace('examples/', ctx.root + '/examples/')
        step = step.replace('PID', str(target.pid)).replace('PROGRAM', target.path)
        if '-x' in step:
            step = 'timeout -s INT 2 ' + step.replace('&& ', '&& timeout -s INT 2 ')
        p = ctx.run(['bash', '-c', step], timeout=60)
        assert p.returncode in (0, 124) and p.stdout.strip(), (step, p.returncode, p.stdout, p.stderr)
        assert 'error' not in p.stderr, (step, p.stderr)
    target.end()

