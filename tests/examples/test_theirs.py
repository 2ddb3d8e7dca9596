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


def test_all_are_parsed_and_what_passed_passes(ctx):
    """Every one through -p1; -p4 where the page says so. The long form holds each row's kind against the page."""
    page = examples(ctx)
    assert len(page) > 150, len(page)
    asked = [s for s in page if ctx.long or page[s][1] == 'yes']
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


def test_every_script_of_the_package_has_a_row(ctx):
    page = examples(ctx)
    found = {os.path.relpath(os.path.join(d, f), theirs.EXAMPLES)
             for d, _, files in os.walk(theirs.EXAMPLES) for f in files if f.endswith('.stp') and '/tapset' not in d}
    assert found == set(page), found ^ set(page)


def test_marks_of_stap_itself(ctx):
    """What a probe point of a library alias names where the program is there, or that it is not there."""
    p = ctx.run([ctx.bin('trapless'), '-p2', '-e', 'probe stap.pass0, stap.pass6.end { println(session) }'])
    if shutil.which('stap'):
        assert p.returncode == 0 and 'pass6__end' in p.stdout, p
    else:
        assert 'PROGRAM_UNKNOWN' in p.stderr and 'no program `stap`' in p.stderr, p
