# SPDX-License-Identifier: MIT
"""make install and make install-target, and what is installed at work from there."""
import os
import re
import shutil
import subprocess

from support_front import shop

once = 'what is installed is what the other tests run'

COUNT = 'global n  probe process.function("sell") { n++ }  probe end { printf("n=%d\\n", n) }'


def make(ctx, *words):
    p = ctx.run(['make', '-s', '-C', ctx.root] + list(words), timeout=600, user=None, env={'MAKEFLAGS': ''})
    assert p.returncode == 0, p.stdout + p.stderr


def files(folder):
    for at, _, names in os.walk(folder):
        for n in names:
            yield os.path.join(at, n)


def test_install(ctx):
    """Into DESTDIR, then moved to PREFIX as a package would be: nothing of the checkout is needed."""
    stage, prefix = os.path.join(ctx.tmp, 'stage'), os.path.join(ctx.tmp, 'prefix')
    make(ctx, 'install', 'PREFIX=' + prefix, 'DESTDIR=' + stage)
    assert os.listdir(stage + prefix) and not os.path.exists(prefix)
    os.rename(stage + prefix, prefix)
    for name in ('bin/trapless', 'bin/trapless-run', 'share/man/man1/trapless.1', 'share/man/man8/trapless-run.8',
                 'lib/pkgconfig/trapless.pc', 'lib/libtrapless.a', 'lib/libtrapless.so.0', 'include/trapless/probe.h',
                 'share/trapless/tapset/string.stp', 'share/trapless/examples/malloc_sizes.stp', 'share/trapless/examples/ready/top.stp',
                 'share/bash-completion/completions/trapless', 'share/doc/trapless/README.md'):
        assert os.path.getsize(os.path.join(prefix, name)) > 0, name
    for path in files(prefix):
        if path.endswith(('.a', '.so.0.1.0')):
            continue  # debug information names the sources
        with open(path, 'rb') as f:
            data = f.read()
        assert ctx.root.encode() + b'/' not in data, '%s names the checkout' % path
        assert stage.encode() not in data, '%s names DESTDIR' % path
    env = {'PATH': os.path.join(prefix, 'bin') + ':/usr/bin:/bin', 'XDG_CACHE_HOME': ctx.tmp + '/cache'}
    p = ctx.run(['trapless', '-e', COUNT, '-c', shop(ctx) + ' 2 50'], env=env)
    assert p.returncode == 0 and 'n=100\n' in p.stdout, p.stdout + p.stderr
    p = ctx.run(['trapless', os.path.join(prefix, 'share/trapless/examples/malloc_sizes.stp'), '-c', 'ls /'], env=env)
    assert p.returncode == 0 and 'allocations' in p.stdout, p.stdout + p.stderr
    p = ctx.run(['trapless', 'top', '--', shop(ctx), '2', '50'], env=env)
    assert p.returncode == 0 and re.search(r'^ +100 .*  sell$', p.stdout, re.M), p.stdout + p.stderr
    c_examples(ctx, prefix)
    no_dead_links(os.path.join(prefix, 'share/doc/trapless'))


def no_dead_links(folder):
    """In the pages: of what is not installed only the name is told."""
    for path in files(folder):
        if not path.endswith('.md'):
            continue
        with open(path) as f:
            links = [link for link in re.findall(r'\]\(([^)#]+)', f.read()) if '://' not in link]
        dead = [link for link in links if not os.path.exists(os.path.join(os.path.dirname(path), link))]
        assert not dead, (path, dead[:5])


def c_examples(ctx, prefix):
    """Those for the own program, built by pkg-config's words alone, from where they are installed."""
    if shutil.which('pkg-config') is None:
        raise AssertionError('pkg-config is missing (mk/deps build)')
    env = {'PKG_CONFIG_PATH': os.path.join(prefix, 'lib/pkgconfig'), 'LD_LIBRARY_PATH': os.path.join(prefix, 'lib'),
           'MAKEFLAGS': ''}
    for name, programs in ('own-process', ('faults', 'arguments')), ('hooks', ('policy', 'recorder')):
        folder = os.path.join(ctx.tmp, name)
        shutil.copytree(os.path.join(prefix, 'share/doc/trapless/examples', name), folder)
        p = ctx.run(['make', '-s', '-B', '-C', folder], env=env)
        assert p.returncode == 0, p.stdout + p.stderr
        for program in programs:
            p = ctx.run([os.path.join(folder, program)], env=env)
            assert p.returncode == 0 and p.stdout.strip(), p.stdout + p.stderr


def test_install_target(ctx):
    """The runner alone: one static program, which needs no other file."""
    folder = os.path.join(ctx.tmp, 'root')
    make(ctx, 'install-target', 'ROOT=' + folder)
    found = [os.path.relpath(f, folder) for f in files(folder)]
    assert found == ['usr/local/bin/trapless-run'], found
    path = os.path.join(folder, found[0])
    head = subprocess.run(['readelf', '-lW', path], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert not re.search(r'\bINTERP\b', head), 'trapless-run is not static'
    p = ctx.run([ctx.bin('trapless'), '-p4', '-m', 'm', '-e', COUNT, '-c', shop(ctx)])
    assert p.returncode == 0, p.stderr
    p = ctx.run([path, 'm.tap', '-c', shop(ctx) + ' 2 50'], cwd=ctx.tmp, env={'PATH': '/nowhere'})
    assert p.returncode == 0 and 'n=100\n' in p.stdout, p.stdout + p.stderr
