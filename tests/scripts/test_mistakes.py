# SPDX-License-Identifier: MIT
"""What users get wrong, and all that is said to it: habits of C, awk, shells and bpftrace, wrong names, forgotten words.

mistakes.txt: scripts, each with what is printed at -p2 behind it. PROGRAM is opinion/probed.c, built.
`tests/scripts/test_mistakes.py` writes what is printed anew: read that diff as the user would.
"""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FILE = os.path.join(HERE, 'mistakes.txt')
NEXT, SAID = '=' * 20 + '\n', '-' * 20 + '\n'

once = 'nothing is probed'


def cases():
    with open(FILE) as f:
        head, *rest = f.read().split(NEXT)
    return head, [c.split(SAID) for c in rest]


def said(trapless, program, script):
    p = subprocess.run([trapless, '-p2', '-c', program, '-e', script], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return p.returncode, p.stderr.replace(program, 'PROGRAM')


def built(folder):
    path = os.path.join(folder, 'probed')
    subprocess.run(['gcc', '-g', '-O0', '-o', path, os.path.join(HERE, 'opinion', 'probed.c')], check=True)
    return path


def test_all_that_is_said(ctx):
    program = built(ctx.tmp)
    bad = []
    for script, want in cases()[1]:
        status, have = said(ctx.bin('trapless'), program, script)
        # a cause and a next step are never missing
        whole = 'next step: ' in have and 'cause: ' in have and status == (1 if 'error[' in want else 0)
        if have != want or not whole:
            bad.append('%s\nwanted:\n%s\nsaid, status %d:\n%s' % (script, want, status, have))
    assert len(cases()[1]) >= 60, len(cases()[1])
    assert not bad, '\n'.join(bad)


def main(trapless):
    head, all_ = cases()
    with tempfile.TemporaryDirectory() as folder:
        program = built(folder)
        text = head + ''.join(NEXT + script + SAID + said(trapless, program, script)[1] for script, _ in all_)
    with open(FILE, 'w') as f:
        f.write(text)


if __name__ == '__main__':
    main(os.path.join(HERE, '..', '..', 'bin', 'trapless'))
