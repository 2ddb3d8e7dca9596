# SPDX-License-Identifier: MIT
"""What `--coverage` foretells comes true: random instructions armed in a running process take their rung."""
import os
import re
import subprocess

from support_every import find


def build(ctx):
    """With the whole engine: before its names are hidden, as the library has it."""
    out = os.path.join(ctx.tmp, 'sites.so')
    engine = os.path.join(ctx.root, 'build/lib/trapless.o.all')
    subprocess.run(['gcc', '-std=gnu11', '-O2', '-g', '-Wall', '-Wextra', '-Werror', '-mgeneral-regs-only', '-fPIC', '-shared',
                    '-Wl,--version-script,' + os.path.join(ctx.root, 'build/lib/trapless.map'), '-I' + os.path.join(ctx.root, 'include'),
                    '-o', out, os.path.join(ctx.root, 'tests/every/sites.c'), engine], check=True)
    return out


def check(ctx, name, count, argv=('/bin/true',), want=''):
    """The file `name` in the process of argv, which must do the same as without us."""
    path = find(name)
    if path is None:
        ctx.skip('no ' + name)
    listing = os.path.join(ctx.tmp, 'list')
    with open(listing, 'w') as f:
        subprocess.run([ctx.bin('trapless'), '--coverage', path, '-v'], stdout=f, check=True)
    p = ctx.run([argv[0] if argv[0] != name else path] + list(argv[1:]), timeout=600,
                env={'LD_PRELOAD': build(ctx), 'SITES_FILE': path, 'SITES_LIST': listing, 'SITES_COUNT': str(count),
                     'SITES_SEED': str(ctx.seed(20261121))})
    done = re.findall(r'^ok (\w+)$', p.stderr, re.M)
    assert done == ['each_alone', 'all_at_once', 'taken_away'] and p.returncode == 0, (p.returncode, p.stderr[-3000:])
    assert p.stdout == want, p.stdout
    print('# %s: %s' % (name, p.stderr.strip().splitlines()[-1].lstrip('# ')), flush=True)


def test_500_of_the_c_library(ctx):
    check(ctx, 'libc.so.6', 500)


def test_10000_of_libraries(ctx):
    for name in ('libc.so.6', 'libstdc++.so.6', 'libcrypto.so.3', 'libsqlite3.so.0'):
        check(ctx, name, 10000)


def test_10000_of_programs(ctx):
    check(ctx, 'git', 10000, ('git', 'check-ref-format', '--normalize', '//refs//heads/x'), 'refs/heads/x\n')
    check(ctx, 'python3', 10000, ('python3', '-S', '-c', 'import re; print(sum(range(1000)), re.sub("a+", "b", "caat"))'),
          '499500 cbt\n')


def test_10000_of_node(ctx):
    if os.environ.get('EVERY_SECONDS') != '0':
        ctx.skip('takes minutes for six million instructions: EVERY_SECONDS=0')
    check(ctx, 'node', 10000, ('node', '-e', 'console.log([3, 1, 2].sort().join())'), '1,2,3\n')


for _test in (test_10000_of_libraries, test_10000_of_programs, test_10000_of_node):
    _test.long = True
