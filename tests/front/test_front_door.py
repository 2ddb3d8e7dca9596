# SPDX-License-Identifier: MIT
"""What `make` asks of a fresh machine, before it builds anything: one line that says what to do, and an error."""
import os
import shutil

once = 'nothing is probed'


def fakes(ctx, **programs):
    """A PATH on which these programs do as their scripts say."""
    folder = os.path.join(ctx.tmp, 'bin')
    os.makedirs(folder, exist_ok=True)
    os.chmod(folder, 0o755)
    for name, script in programs.items():
        path = os.path.join(folder, name)
        with open(path, 'w') as f:
            f.write('#!/bin/sh\n' + script + '\n')
        os.chmod(path, 0o755)
    return {'PATH': folder + ':/usr/bin:/bin'}


def refused(ctx, argv, env, user=None):
    p = ctx.run(argv, env=env, user=user, cwd=ctx.root)
    assert p.returncode == 1, (p.returncode, p.stdout, p.stderr)
    return p.stderr.splitlines()


def test_help(ctx):
    """README sends the reader there."""
    p = ctx.run(['make', 'help'], cwd=ctx.root)
    assert p.returncode == 0 and not p.stderr, p
    assert {'demo', 'check', 'check-vm', 'install'} <= {l.split()[1] for l in p.stdout.splitlines()}, p.stdout


def test_no_rust(ctx):
    line, = refused(ctx, ['mk/rust'], fakes(ctx, rustc='exit 127'))
    assert 'needs a Rust toolchain' in line and 'https://rustup.rs' in line, line


def test_old_rust(ctx):
    line, = refused(ctx, ['mk/rust'], fakes(ctx, rustc='echo "rustc 1.63.0 (4b91a6ea7 2022-08-08)"'))
    assert 'this is 1.63.0 (rustup update)' in line, line


def test_without_clippy(ctx):
    """What builds may lack what checks: then only the check is refused."""
    env = fakes(ctx, rustc='echo "rustc 99.0.0"', cargo='test "$1" != clippy')
    assert ctx.run(['mk/rust'], env=env, cwd=ctx.root).returncode == 0
    line, = refused(ctx, ['mk/rust', 'check'], env)
    assert '`cargo clippy`' in line and 'rustup component add' in line, line


def test_missing_packages(ctx):
    """Who may not install them is told the line to run."""
    if not shutil.which('dpkg-query'):
        ctx.skip('no dpkg-query: not Debian')
    shutil.copytree(os.path.join(ctx.root, 'mk'), os.path.join(ctx.tmp, 'mk'))
    env = fakes(ctx, **{'dpkg-query': 'case "$*" in *git) exit 1;; *) echo installed;; esac'})
    lines = refused(ctx, [os.path.join(ctx.tmp, 'mk', 'deps'), 'demo'], env, user=65534 if os.getuid() == 0 else None)
    assert lines[-1].strip() == 'apt-get install git', lines
