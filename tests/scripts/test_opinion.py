# SPDX-License-Identifier: MIT
"""SystemTap as second opinion, passes 1 and 2: scripts by the thousand (opinion/generate.py), the same acceptance and the same
line of the first error. Each class of difference stands with its reason in opinion/reasons.txt.

opinion/verdicts.txt holds what stap 4.8 said to some of them: SEED, checksum of the script, verdict.
`tests/scripts/test_opinion.py FROM TO` asks anew and prints such lines, or with a third word the differences; `programs`: of
scripts that probe a program (opinion/probing.py).
"""
import collections
import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile
import zlib

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'opinion')
sys.path.insert(0, HERE)
import ask  # noqa: E402
import generate  # noqa: E402
import probing  # noqa: E402

once = 'nothing is probed'
# Seeds that the recorded ones are not among.
NEW = 20000
# Of a hundred scripts: more differences than were seen mean that a class has grown.
MOST = 8
# Of programs: 11.9 of 1500; a third of them reads a global variable of the program where the code around has no debug
# information (`function("*")`, `.plt`), which stap does not.
MOST_OF_PROGRAMS = 12


def reasons():
    """(our tag or ok, their pass or ok) of each known class of difference."""
    with open(os.path.join(HERE, 'reasons.txt')) as f:
        rows = [line.rstrip('\n').split('\t') for line in f if line.strip() and not line.startswith('#')]
    assert all(len(r) == 3 and r[2] for r in rows), rows
    return {(ours, theirs): why for ours, theirs, why in rows}


def kind(ours, theirs):
    """The class of a difference."""
    o, t = ours.split(), theirs.split()
    return o[2] if len(o) > 2 else o[0], t[0]


def check(answers, most=MOST):
    """Of (seed, ours, theirs): no difference without a reason, and few of them."""
    known = reasons()
    different = [a for a in answers if a[2] != 'none' and not ask.agree(a[1], a[2])]
    assert all(a[1] != 'none' for a in answers), [a for a in answers if a[1] == 'none'][:9]
    unknown = [a for a in different if kind(a[1], a[2]) not in known]
    assert not unknown, 'no reason for: %s' % unknown[:9]
    assert len(different) * 100 <= most * len(answers), (len(different), len(answers))


def recorded():
    with open(os.path.join(HERE, 'verdicts.txt')) as f:
        return [line.rstrip('\n').split(' ', 2) for line in f if not line.startswith('#')]


def crc(text):
    return '%08x' % zlib.crc32(text.encode())


def test_recorded_verdicts(ctx):
    rows = recorded()
    assert len(rows) >= 500, len(rows)
    rows = rows if ctx.long else rows[::4]
    texts = [generate.script(int(seed)) for seed, _, _ in rows]
    made = [row[0] for row, text in zip(rows, texts) if row[1] != crc(text)]
    assert not made, 'the generator makes other scripts now: ask anew (see above); %d, e.g. %s' % (len(made), made[0])
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        ours = list(pool.map(lambda text: ask.trapless(ctx.bin('trapless'), text), texts))
    check([(row[0], o, row[2]) for row, o in zip(rows, ours)])


def asked_anew(program, seeds, folder):
    texts = [generate.script(seed) for seed in seeds]
    answers = ask.both(ask.kernel_tree(folder), program, texts)
    return [(seed, ours, theirs) for seed, (ours, theirs) in zip(seeds, answers)]


def test_new_scripts(ctx):
    """Asks stap itself where it is installed: another implementation's word, needed by nothing else."""
    if not shutil.which('stap'):
        ctx.skip('the package systemtap is not installed')
    first = ctx.seed(NEW)
    seeds = range(first, first + (2000 if ctx.long else 200))
    check(asked_anew(ctx.bin('trapless'), seeds, ctx.tmp))


def probed(folder):
    """The program that the scripts of probing.py probe."""
    path = os.path.join(folder, 'probed')
    subprocess.run(['gcc', '-g', '-O0', '-o', path, os.path.join(HERE, 'probed.c')], check=True)
    return path


def asked_of_programs(program, seeds, folder):
    path = probed(folder)
    texts = [probing.script(seed, path) for seed in seeds]
    return list(zip(seeds, *zip(*ask.both(ask.kernel_tree(folder, probing.STUBS), program, texts))))


def test_new_scripts_of_programs(ctx):
    """The same for places in a program, its variables and their types."""
    if not shutil.which('stap'):
        ctx.skip('the package systemtap is not installed')
    first = ctx.seed(0)
    seeds = range(first, first + (1500 if ctx.long else 150))
    check(asked_of_programs(ctx.bin('trapless'), seeds, ctx.tmp), MOST_OF_PROGRAMS)


def main(first, last, *what):
    program = os.environ.get('TRAPLESS') or os.path.join(HERE, '..', '..', '..', 'bin', 'trapless')
    with tempfile.TemporaryDirectory() as folder:
        ask_all = asked_of_programs if 'programs' in what else asked_anew
        answers = ask_all(program, range(int(first), int(last)), folder)
    if not what:
        for seed, _, theirs in answers:
            print(seed, crc(generate.script(seed)), theirs)
        return
    classes = collections.defaultdict(list)
    for seed, ours, theirs in answers:
        if not ask.agree(ours, theirs):
            classes[kind(ours, theirs)].append(seed)
    for name, seeds in sorted(classes.items(), key=lambda c: -len(c[1])):
        print(len(seeds), *name, seeds[:8])


if __name__ == '__main__':
    main(*sys.argv[1:])
