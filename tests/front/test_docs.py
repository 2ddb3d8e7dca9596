# SPDX-License-Identifier: MIT
"""What the pages say is what the programs do."""
import os
import re
import shutil
from xml.etree import ElementTree

from support_front import Selling

once = 'nothing is probed'


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


def test_groups_of_help_and_manual(ctx):
    """The same groups in the same order; what does nothing here comes last."""
    told = ctx.run([ctx.bin('trapless'), '--help']).stdout
    groups = re.findall(r'^([A-Z][^\n]*):$', told.split('\nArguments:')[1], re.M)
    manual = page(ctx, 'man/trapless.1').split('.SH OPTIONS')[1].split('\n.SH ')[0]
    assert groups == re.findall(r'^\.SS (.*)$', manual, re.M) and len(groups) == 9, groups
    idle = told.index('Nothing to do here')
    assert told.index('\n%s:' % groups[-1]) < idle, groups


def test_groups_of_trapless_run(ctx):
    told = ctx.run([ctx.bin('trapless-run'), '--help']).stdout
    groups = re.findall(r'^([A-Z][^\n]*):$', told, re.M)
    manual = page(ctx, 'man/trapless-run.8').split('.SH OPTIONS')[1].split('\n.SH ')[0]
    assert groups == re.findall(r'^\.SS (.*)$', manual, re.M) and len(groups) == 5, groups


def test_short_help(ctx):
    """One screen, of options that --help has."""
    told, whole = (ctx.run([ctx.bin('trapless'), word]).stdout for word in ('-h', '--help'))
    assert len(told.splitlines()) < 50 and 'trapless --help' in told, told
    assert {'-e', '-c', '-x', '-l', '--help'} <= help_options(told) < help_options(whole), told
    p = ctx.run([ctx.bin('trapless')])
    assert p.returncode == 2 and p.stderr == told and not p.stdout, p


def test_manual_pages_are_well_formed(ctx):
    if shutil.which('groff') is None:
        ctx.skip('no groff')
    for name in ('trapless.1', 'trapless-run.8'):
        p = ctx.run(['groff', '-man', '-Tutf8', '-ww', '-z', os.path.join(ctx.root, 'man', name)])
        assert p.returncode == 0 and not p.stderr, p.stderr


def test_exit_status_is_in_help(ctx):
    for tool in ('trapless', 'trapless-run'):
        assert re.search(r'^Exit status: ', ctx.run([ctx.bin(tool), '--help']).stdout, re.M), tool


def run_as_written(ctx, target, step):
    """As a reader types it, but against a process of ours; what goes on for ever is interrupted."""
    step = step.replace('PID', str(target.pid)).replace('1234', str(target.pid)).replace('PROGRAM', target.path)
    env = {'PATH': os.path.dirname(ctx.bin('trapless')) + ':' + os.environ['PATH']}
    for seconds in 2, 30:  # under load it may not be armed after two
        limit = 'timeout -s INT %d ' % seconds if '-x' in step else ''
        p = ctx.run(['bash', '-c', limit + step.replace('&& ', '&& ' + limit)], timeout=300, env=env)
        if p.stdout.strip():
            break
    assert p.returncode in (0, 124) and p.stdout.strip(), (step, p.returncode, p.stdout, p.stderr)
    assert 'error' not in p.stderr.lower(), (step, p.stderr)


def test_commands_of_help_and_manual(ctx):
    """Each works on a stock Debian, with nothing but the scripts that are installed."""
    told = ctx.run([ctx.bin('trapless'), '--help']).stdout.split('Examples:\n')[1].split('\n\n')[0]
    told = re.sub(r'  then, .*:\n +', ' && ', told)
    manual = page(ctx, 'man/trapless.1').split('.SH EXAMPLES\n.nf\n')[1].split('\n.fi')[0]
    manual = manual.replace('\\-', '-').replace('\\(aq', "'")
    steps = re.split(r'\n +(?=trapless -)', '\n' + told)[1:] + manual.splitlines()
    assert len(steps) == 7, steps
    for name in os.listdir(os.path.join(ctx.root, 'examples')):
        if name.endswith('.stp'):
            shutil.copy(os.path.join(ctx.root, 'examples', name), ctx.tmp)
    with open(os.path.join(ctx.tmp, 'calls.stp'), 'w') as f:
        f.write('global n  probe process.function("sell") { n++ }  probe end { println(n) }')
    target = Selling(ctx)
    for step in steps:
        run_as_written(ctx, target, step.replace('calls.stp', '-x 1234 calls.stp'))
    target.end()


def test_commands_of_the_readme(ctx):
    """The five steps, from the third on, against a process of ours."""
    target = Selling(ctx)
    text = page(ctx, 'README.md').split('## Five first steps')[1].split('\n## ')[0]
    assert 'make demo' in text and 'git clone' in text
    steps = re.findall(r'^    (bin/trapless .*?(?:\n     +.*?)*)$', text, re.M)
    assert len(steps) >= 3, steps
    for step in steps:
        run_as_written(ctx, target, step.replace('bin/', '').replace('examples/', ctx.root + '/examples/'))
    target.end()


def links(text):
    return {link for link in re.findall(r'\]\(([^)#]+)', text) if '://' not in link}


def test_pages_and_their_index(ctx):
    """The index has every page, what pages lead to is there, and README is not too wide."""
    names = sorted(n for n in os.listdir(os.path.join(ctx.root, 'docs')) if n.endswith('.md'))
    index = links(page(ctx, 'docs/README.md'))
    assert set(names) - {'README.md'} <= index, set(names) - index
    for name in ['README.md', 'CONTRIBUTING.md', 'ARCHITECTURE.md'] + ['docs/' + n for n in names]:
        folder = os.path.join(ctx.root, os.path.dirname(name))
        lost = [link for link in links(page(ctx, name)) if not os.path.exists(os.path.join(folder, link))]
        assert not lost, (name, lost)
    assert max(map(len, page(ctx, 'README.md').splitlines())) <= 120


def test_anchors_of_limits(ctx):
    text = page(ctx, 'docs/limits.md')
    heads = {re.sub(r'[^a-z0-9 -]', '', h.lower()).replace(' ', '-') for h in re.findall(r'^#+ (.*)$', text, re.M)}
    told = set(re.findall(r'\]\(#([^)]+)\)', text))
    assert told <= heads and len(told) > 10, told - heads


def test_picture(ctx):
    """It shows what docs/terminal types."""
    drawn = ''.join(ElementTree.parse(os.path.join(ctx.root, 'docs/terminal.svg')).getroot().itertext())
    typed = page(ctx, 'docs/terminal').split('SHOWN = (')[1].split('\nSTYLE')[0]
    for part in ('pidof sqlite3', 'trapless -x $(pidof sqlite3) -T 1 -e', 'ns <<< gettimeofday_ns()', 'git status --short'):
        assert part in typed and part in drawn, part
