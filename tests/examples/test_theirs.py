# SPDX-License-Identifier: MIT
"""SystemTap's own examples, as they are: what docs/systemtap-examples.md says of each."""
import concurrent.futures
import os
import re
import shutil
import subprocess

import theirs

once = 'nothing is probed'


def told():
    """By script: whether it is parsed, and what becomes of it."""
    found = re.findall(r'^\| (\S+\.stp) \| (yes|no) \| (.*?) \|', open(theirs.PAGE).read(), re.M)
    return {script.replace('\\', ''): (parsed == 'yes', kind) for script, parsed, kind in found}


def examples(ctx):
    if not os.path.isdir(theirs.EXAMPLES):
        ctx.skip('the package systemtap-doc is not installed')
    return told()


def passing(page):
    return [s for s in page if page[s][1] == 'yes']


def test_all_are_parsed_and_what_passed_passes(ctx):
    """Every one through -p1; -p4 each fourth where the page says so. The long form holds each row's kind against the page."""
    page = examples(ctx)
    assert len(page) > 150, len(page)
    asked = list(page) if ctx.long else passing(page)[::4]
    trapless = ctx.bin('trapless')

    def now(script):
        return theirs.row(trapless, os.path.join(theirs.EXAMPLES, script), os.path.join(ctx.tmp, script))

    def is_parsed(script):
        argv = [trapless, '-p1'] + theirs.command(os.path.join(theirs.EXAMPLES, script))
        return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True).returncode == 0
    here = [s for s in page if os.path.exists(os.path.join(theirs.EXAMPLES, s))]
    assert len(here) == len(page), 'another version of the package: run tests/examples/theirs.py'
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        parsed = dict(zip(page, pool.map(is_parsed, page)))
        rows = list(pool.map(now, asked))
    worse = [s for s in page if page[s][0] and not parsed[s]]
    assert not worse, worse
    unexplained = [r for r in rows if r.kind == theirs.OWN and r.script not in theirs.REASONS]
    assert not unexplained, unexplained
    # What is missing on one machine may be there on another; what was to come may have come.
    moving = (theirs.MACHINE, theirs.LATER)
    changed = [(page[r.script], r) for r in rows
               if page[r.script][1] not in moving and r.kind not in (page[r.script][1], theirs.MACHINE)]
    assert not changed, changed


WORK = 'cat /etc/passwd | sort >/dev/null; (date >/dev/null); ls /nonexistent; sleep 1; exit 9'
# They read the standard input, which a command of -c has: of a process that runs, then.
INTERACTIVE = ('general/eventcount.stp', 'general/sizeof_interactive.stp')


def test_those_that_pass_run(ctx):
    """Over a shell and what it starts, for two seconds: no error, and the shell ends as it would. In short: each fourth."""
    scripts = passing(examples(ctx))[::1 if ctx.long else 4]
    shell = os.path.join(ctx.tmp, 'work')
    with open(shell, 'w') as f:
        f.write('#!/bin/sh\n' + WORK)
    os.chmod(shell, 0o755)
    sleeper = ctx.start(['sleep', '1000'])

    def runs(script):
        words = theirs.command(os.path.join(theirs.EXAMPLES, script))
        at = words.index('-c')
        words[at:at + 2] = ['-x', str(sleeper.pid)] if script in INTERACTIVE else ['-c', 'sh ' + shell]
        folder = os.path.join(ctx.tmp, script)
        os.makedirs(folder)
        shutil.copytree(os.path.join(theirs.EXAMPLES, 'stapgames', 'tapset'), os.path.join(folder, 'tapset'))
        return subprocess.run([ctx.bin('trapless'), '-T', '2'] + words, cwd=folder, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors='replace', timeout=300)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        ran = dict(zip(scripts, pool.map(runs, scripts)))
    status = {s: r.returncode for s, r in ran.items()}
    wanted = {s: (0, 9) for s in scripts}
    wanted.update({s: (0,) for s in INTERACTIVE})
    wrong = {s: (r.returncode, r.stderr[-500:]) for s, r in ran.items()
             if r.returncode not in wanted[s] or re.search('^ERROR|error', r.stderr, re.M)}
    assert not wrong, wrong
    assert sum(status[s] == 9 for s in scripts) > (20 if ctx.long else 4), status


def test_every_script_of_the_package_has_a_row(ctx):
    page = examples(ctx)
    found = {os.path.relpath(os.path.join(d, f), theirs.EXAMPLES)
             for d, _, files in os.walk(theirs.EXAMPLES) for f in files if f.endswith('.stp') and '/tapset' not in d}
    assert found == set(page), found ^ set(page)


def test_what_a_kernel_can_take_runs_there(ctx):
    """... by tests/vm/examples, or it is said why not."""
    page = examples(ctx)
    run = {r.script for r in theirs.their_examples.RUNS}
    why_not = set(theirs.their_examples.NOT_RUN)
    assert not run & why_not, run & why_not
    assert not (run | why_not) - set(page), (run | why_not) - set(page)
    unexplained = [s for s in page if page[s][1] == theirs.IN_KERNEL and s not in run | why_not]
    assert not unexplained, unexplained
    marked = re.findall(r'^\| (\S+\.stp) \| \S+ \| [^|]* \| runs \|', open(theirs.PAGE).read(), re.M)
    assert {s.replace('\\', '') for s in marked} == run, 'run tests/examples/theirs.py'


def test_marks_of_stap_itself(ctx):
    """What a probe point of a library alias names where the program is there, or that it is not there."""
    p = ctx.run([ctx.bin('trapless'), '-p2', '-e', 'probe stap.pass0, stap.pass6.end { println(session) }'])
    if shutil.which('stap'):
        assert p.returncode == 0 and 'pass6__end' in p.stdout, p
    else:
        assert 'PROGRAM_UNKNOWN' in p.stderr and 'no program `stap`' in p.stderr, p
