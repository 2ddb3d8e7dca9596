# SPDX-License-Identifier: MIT
"""Which processes are meant: by number, by build-id, by patterns of paths; and libraries by patterns."""
import os
import shutil

import scripted
import support


def step(p):
    p.stdin.write('go\n')
    p.stdin.flush()
    return p.stdout.readline()


def counted(ctx, script, p, *others):
    """What a session without -c and -x prints after two steps of each process."""
    s = scripted.attach(ctx, script + ' probe end { println(n) }')
    for q in (p, p) + others * 2:
        step(q)
    out, err = scripted.finish(s)
    for q in (p,) + others:
        q.stdin.close()
        assert q.wait(timeout=300) == 0
    return out, err


def test_by_number(ctx):
    """Only that process, of two that run the same program."""
    path = ctx.target('marks')
    p, q = support.start(ctx, path), support.start(ctx, path)
    script = '''global n  probe process(%d).function("watched") { n++ }
        probe process(%d).library("libc.so.6").function("fflush") { n += 100 }''' % (p.pid, p.pid)
    out, err = counted(ctx, script, p, q)
    assert out == '202\n', (out, err)


def test_number_that_is_not_meant(ctx):
    path = ctx.target('marks')
    p, q = support.start(ctx, path), support.start(ctx, path)
    one = '-e', 'probe process(%d).function("watched") { }' % p.pid
    for args, tag in ((('-c', path), 'PROCESS_TARGET'), (('-x', q.pid), 'PROCESS_TARGET'),
                      (('-e', 'probe process(999999999).function("f") { }'), 'TARGET_MISSING')):
        words = list(args if '-e' in args else args + one)
        r = ctx.run([ctx.bin('trapless')] + [str(w) for w in words])
        assert r.returncode == 1 and 'error[%s]' % tag in r.stderr, r
    p.stdin.close()
    q.stdin.close()


def build_id(path):
    data = open(path, 'rb').read()
    at = data.index(b'\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0') + 16
    return data[at:at + 20].hex()


def test_scripts_are_their_interpreters(ctx):
    """Also one that env looks for, and one that is a script itself."""
    program = os.path.realpath(shutil.copy(ctx.target('marks'), ctx.tmp))
    for name, line in (('first', program), ('second', '/usr/bin/env -S %s -x' % program), ('third', ctx.tmp + '/first')):
        with open(os.path.join(ctx.tmp, name), 'w') as f:
            f.write('#!%s\nexit\n' % line)
        r = ctx.run([ctx.bin('trapless'), '-l', 'process("%s/%s").function("watched").call' % (ctx.tmp, name)])
        assert r.returncode == 0 and r.stdout.startswith('process("%s").function("watched' % program), r


def test_by_build_id(ctx):
    path = ctx.target('marks')
    p = support.start(ctx, path)
    out, err = counted(ctx, 'global n  probe process("%s").function("watched") { n++ }' % build_id(path), p)
    assert out == '2\n', (out, err)
    r = ctx.run([ctx.bin('trapless'), '-p2', '-e', 'probe process("%s").function("f") { }' % ('0123456789' * 4)])
    assert r.returncode == 1 and 'error[PROGRAM_UNKNOWN]' in r.stderr, r


def test_by_pattern(ctx):
    """Of paths, also relative ones; every program that matches."""
    for name in 'one', 'two', 'three':
        cc = 'gcc' if name == 'two' else 'clang'  # of two copies each would be both
        shutil.copy(ctx.target('marks', cc=cc), os.path.join(ctx.tmp, name))
    for pattern in os.path.join(ctx.tmp, '[ot][nw]?'), '[ot][nw][!x]', './t[w]o', os.path.join(ctx.tmp, '../*/two'):
        p = support.start(ctx, os.path.join(ctx.tmp, 'two'))
        q = support.start(ctx, os.path.join(ctx.tmp, 'three'))
        out, err = counted(ctx, 'global n  probe process("%s").function("watched") { n++ }' % pattern, p, q)
        assert out == '2\n', (pattern, out, err)


def test_plugins_and_libraries_by_pattern(ctx):
    lib = ctx.target('plugin', cflags=('-O2', '-g', '-shared', '-fPIC'))
    path = ctx.target('late')
    script = '''global n  probe process.plugin("%s").function("plugin") { n++ if (n == 1) println(pp()) }
        probe process.library("libc.so.[0-9]").function("dlopen") { println("dlopen") }
        probe end { println(n) }''' % lib
    r = scripted.launch(ctx, script, '%s %s 50' % (path, lib), input='go\n')
    first, point, n = r.script.splitlines()
    assert first == 'dlopen' and n == '51' and '.plugin("%s").function("plugin@' % os.path.realpath(lib) in point, \
        (r.script, r.stderr)


def test_libraries_are_called_as_they_are_mapped(ctx):
    """Without links, however the script and the dynamic linker come to them."""
    libc = support.LIBC
    with open('/proc/self/maps') as f:
        assert libc in f.read()
    links = ['/lib' + libc[len('/usr/lib'):]] if libc.startswith('/usr/lib/') and os.path.samefile('/lib', '/usr/lib') else []
    path = ctx.target('linkage', ('-O2', '-g', '-fno-builtin'))
    for name in ['libc.so.6', 'libc.so.[0-9]', libc] + links:
        script = '''probe process.library("%s").function("strtol") { println(pp()) println(umodname(uaddr()), usymdata(uaddr())) exit() }''' % name
        r = scripted.launch(ctx, script, path, input='3\n')
        point, module = r.script.splitlines()
        assert '.library("%s").function("' % libc in point and module.startswith(libc) and module.endswith(' [%s]' % libc), \
            (name, r.script, r.stderr)
    for name in [libc] + links:
        r = scripted.launch(ctx, 'probe process("%s").function("strtol") { println(pp()) exit() }' % name, path, input='3\n')
        assert r.script.startswith('process("%s").function("' % libc), (name, r.script, r.stderr)
