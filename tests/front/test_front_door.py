# SPDX-License-Identifier: MIT
"""What `make` asks of a fresh machine, before it builds anything: one line that says what to do, and an error."""
import os

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


def refused(ctx, argv, env):
    p = ctx.run(argv, env=env, cwd=ctx.root)
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


# A machine that has all that is needed, whose ordinary user asks.
HAS_ALL = {'dpkg-query': 'echo installed', 'rustc': 'echo "rustc 99.0.0"', 'cargo': 'true', 'id': 'echo 1000'}


def lacking(ctx, *verb, **programs):
    """The one line that `make VERB` says where these programs do otherwise; nothing has been built by then."""
    built = os.path.join(ctx.tmp, 'built')
    programs = {**HAS_ALL, **programs}
    programs['cargo'] = 'case $1 in build) : >%s;; esac; %s' % (built, programs['cargo'])
    # `make check` may have started us
    p = ctx.run(['make', *verb], env=dict(fakes(ctx, **programs), MAKEFLAGS='', MAKELEVEL='0'), cwd=ctx.root)
    line, *stopped = p.stderr.splitlines()
    assert p.returncode == 2 and len(stopped) == 1 and stopped[0].startswith('make: ***'), p
    assert not os.path.exists(built), p
    return line


def test_missing_packages(ctx):
    """Who may not install them is told the line to run."""
    for verb in ('demo',), ('check',), ('check-one', 'T=x'), ('fix',):
        line = lacking(ctx, *verb, **{'dpkg-query': 'case "$*" in *sqlite3) exit 1;; *) echo installed;; esac'})
        assert line.endswith('apt-get install sqlite3'), line


def test_of_which_word(ctx):
    """Without one all tests would be run, one after the other."""
    for verb in 'check-one', 'check-loop':
        p = ctx.run(['make', verb], env={'MAKEFLAGS': '', 'MAKELEVEL': '0'}, cwd=ctx.root)
        assert p.returncode == 2 and 'make %s T=WORD' % verb in p.stderr and not p.stdout, p


def test_packages_that_cannot_be_had(ctx):
    """Root is told why; a second time may help, with a new list of packages."""
    script = 'case $1 in update) echo "W: Failed to fetch http://nowhere/";; *) echo "E: Unable to locate package git"; exit 100;; esac'
    line = lacking(ctx, 'demo', **{'id': 'echo 0', 'dpkg-query': 'exit 1', 'apt-get': script})
    assert line.startswith('could not install gcc ') and 'E: ' not in line and 'apt-get update && apt-get install gcc ' in line, line
    script = 'case $1 in update) echo "E: Failed to fetch http://nowhere/"; exit 100;; *) exit 100;; esac'
    line = lacking(ctx, 'demo', **{'id': 'echo 0', 'dpkg-query': 'exit 1', 'apt-get': script})
    assert 'Failed to fetch http://nowhere/ (is there a network' in line, line


def test_crates_that_cannot_be_had(ctx):
    said = 'error: failed\n\nCaused by:\n  [6] Could not resolve host'
    line = lacking(ctx, 'demo', cargo='test "$1" != fetch || { printf "%s"; exit 101; }' % said.replace('\n', '\\n'))
    assert '[6] Could not resolve host (is there a network? then: cargo fetch --locked)' in line, line


def test_too_little_room(ctx):
    df, du = 'echo Filesystem; echo /dev/x 9 9 %d 9 /', 'echo 1024 target'
    for verb, needed in ('demo', 999), ('check', 5999):
        line = lacking(ctx, verb, df=df % (5 << 10), du=du)
        assert 'make %s needs %d MB' % (verb, needed) in line and line.endswith('there are 5'), line


def test_old_rust_is_named_first(ctx):
    for verb in 'demo', 'check':
        line = lacking(ctx, verb, rustc='echo "rustc 1.60.0"')
        assert line.endswith('this is 1.60.0 (rustup update)'), line
