# SPDX-License-Identifier: MIT
"""tests/run itself: what ran out of time is run again, what is wrong is not; and no shard leaves anything out."""
import argparse
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import groups  # noqa: E402
import plan  # noqa: E402

once = 'nothing is probed'

# Tests of a checkout of its own. A mark is left by who has been here before.
TESTS = '''
import os, subprocess, time
def first(ctx, name):
    mark = os.path.join(ctx.root, name)
    there = os.path.exists(mark)
    open(mark, 'a').write('run ')
    return not there
def test_good(ctx): sum(range(2000000))
def test_skipped(ctx): ctx.skip('no reason')
def test_wrong(ctx):
    first(ctx, 'wrong')
    assert ctx.dice('x').random() > 1
def test_late(ctx):
    if first(ctx, 'late'): ctx.run(['sleep', '9'], timeout=0.1)
def test_late_as_a_whole(ctx):
    if first(ctx, 'whole'): time.sleep(9)
test_late_as_a_whole.timeout = 1
def test_endless(ctx):
    first(ctx, 'endless')
    ctx.run(['sh', '-c', 'echo is waiting; exec sleep 9'], timeout=0.1)
def test_long(ctx): pass
test_long.long = True
def test_unseen(ctx): getattr(ctx, 'lo' + 'ng')
'''
# As a C program does whose own guard ends it. One that was wrong before is not run again.
GUARDED = '#!/bin/sh\n[ -e late-too ] && exec echo ok guarded\n: >late-too; kill -ALRM $$\n'
WRONG_AND_GUARDED = '#!/bin/sh\necho "not ok wrong: it is"\necho run >>guarded; kill -ALRM $$\n'
TALLY = '4 passed, 4 failed, 1 skipped'


def checkout(ctx):
    root = os.path.join(ctx.tmp, 'root')
    for folder in ('tests/front', 'build'):
        os.makedirs(os.path.join(root, folder))
    for name in ('run', 'plan.py', 'tally.py', 'context.py', 'groups.py', 'way.py'):
        shutil.copy(os.path.join(ctx.root, 'tests', name), os.path.join(root, 'tests'))
    files = {'tests/front/test_made.py': TESTS, 'guarded': GUARDED, 'both': WRONG_AND_GUARDED, 'build/unit-tests': 'guarded\nboth\n'}
    for name, text in files.items():
        with open(os.path.join(root, name), 'w') as f:
            f.write(text)
    for name in ('guarded', 'both'):
        os.chmod(os.path.join(root, name), 0o755)
    return root


def runs(root, name):
    with open(os.path.join(root, name)) as f:
        return f.read().count('run')


def check(ctx, *options):
    root = checkout(ctx)
    p = ctx.run([os.path.join(root, 'tests/run'), *options, '--slowest', '2', 'unit', 'front'], env={'SEED': '4321'})
    assert p.returncode == 1 and p.stdout.splitlines()[-1] == TALLY, p.stdout + p.stderr
    assert p.stdout.splitlines()[-2] == '# 3 late', p.stdout
    made = 'front/test_made.py:test_%s[opt]'
    late = re.findall(r'^late (\S+)$', p.stdout, re.M)
    assert sorted(late) == sorted(['guarded', made % 'late', made % 'late_as_a_whole']), p.stdout
    wrong = re.findall(r'^not ok ([^ ]+(?: wrong)?):', p.stdout, re.M)
    assert sorted(wrong) == sorted(['both wrong', made % 'wrong', made % 'endless', made % 'unseen']), p.stdout
    assert [runs(root, name) for name in ('wrong', 'endless', 'late', 'whole', 'guarded')] == [1, 2, 2, 2, 1], p.stdout
    assert 'is waiting' in p.stdout and 'again: SEED=4321 tests/run' in p.stdout, p.stdout
    assert len(re.findall(r'^# +[\d.]+ s, +[\d.]+ s of processor: \S', p.stdout, re.M)) == 2, p.stdout


def test_late_is_not_wrong(ctx):
    check(ctx)


def test_late_is_not_wrong_beside_others(ctx):
    check(ctx, '--beside')


def items(long):
    args = argparse.Namespace(long=long, group=[], k=None, keep=False, weights={})
    return groups.collect(groups.GROUPS, args, None, {})


def test_shards_are_all_that_is_long(ctx):
    """Each in one shard, both variants that need each other in the same; and the rest is what `make check` runs."""
    short, long, weights = items(False), items(True), plan.read_weights()
    assert len({i.name for i in long}) == len(long)
    assert {i.key for i in long if not i.more} <= {i.key for i in short}
    assert not {i.key for i in long if i.more} & {i.key for i in short}
    # an ordinary user does not run all of them
    assert os.getuid() or not weights.keys() - {i.key for i in short + long}, 'rows of tests that are gone'
    for n in (1, 7, 11):
        parts = plan.shards([i for i in long if i.more], n, weights)
        assert len(parts) == n and all(parts)
        assert sorted(i.name for part in parts for i in part) == sorted(i.name for i in long if i.more)
        where = {i.bundle: {k for k, part in enumerate(parts) if i.bundle in [j.bundle for j in part]} for i in long if i.more}
        assert all(len(k) == 1 for k in where.values()), where


def test_shards_take_as_long_as_each_other(ctx):
    made = [plan.Item('g', 'n%d' % n, 'c', None) for n in range(40)]
    weights = {'n%d' % n: 10 + n * n for n in range(30)}
    loads = [plan.weight([i for i in part if i.key in weights], weights) for part in plan.shards(made, 5, weights)]
    assert max(loads) < 1.1 * min(loads), loads
    assert [[i.name for i in part] for part in plan.shards(made[::-1], 5, weights)] == [
        [i.name for i in part][::-1] for part in plan.shards(made, 5, weights)]


def test_a_time_out_is_far_from_what_is_usual(ctx):
    short, long = plan.Item('g', 'a', 'c', None), plan.Item('g', 'a', 'c', None, long=True)
    assert [plan.patience(i, {'a': 40, 'a (long)': 70}) for i in (short, long)] == [800, 1400]
    assert [plan.patience(i, {}) for i in (short, long)] == [300, 900]


def test_weights_keep_what_did_not_run(ctx):
    path = os.path.join(ctx.tmp, 'weights')
    plan.write_weights({'a b': 7.2, 'c': 2.0, 'd': 4}, path)
    plan.write_weights({'d': 1.0, 'e (long)': 100}, path)
    assert plan.read_weights(path) == {'a b': 7, 'e (long)': 100}


def ci(ctx, root, **env):
    p = ctx.run([os.path.join(root, '.ci/run')], env=dict(env, HOME=root))
    return p.returncode, p.stdout.splitlines()


def test_what_ci_runs(ctx):
    """Successive commits take successive shards; its status and last line are those of what it runs."""
    root = os.path.join(ctx.tmp, 'ci')
    for name, text in {'Makefile': 'SHARDS ?= 3\n', 'tests/bare/run': '#!/bin/sh\necho "with $*"; echo last; exit ${WRONG-0}\n'}.items():
        os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
        with open(os.path.join(root, name), 'w') as f:
            f.write(text)
        os.chmod(f.name, 0o755)
    os.mkdir(os.path.join(root, '.ci'))
    shutil.copy(os.path.join(ctx.root, '.ci/run'), os.path.join(root, '.ci'))
    commit = 'git -c user.name=A -c user.email=a@example.org commit -q --allow-empty -m x'
    seen = []
    for _ in range(3):
        p = ctx.run(['sh', '-ec', '[ -d .git ] || git init -q; ' + commit], cwd=root, env={'HOME': root})
        assert p.returncode == 0, p
        status, (shard, words, last) = ci(ctx, root)
        k = re.fullmatch(r'shard (\d) of 3', shard)[1]
        assert (status, words, last) == (0, 'with %s/3' % k, 'last')
        seen.append(k)
    assert sorted(seen) == ['1', '2', '3'], seen
    assert ci(ctx, root, SHARD='2')[1] == ['shard 2 of 3', 'with 2/3', 'last']
    assert ci(ctx, root, WRONG='2')[0] == 2
