# SPDX-License-Identifier: MIT
"""Calls through the linkage table: every shape of its entries, bound at once or when first called."""
import re
import scripted
import support

PLAIN = ('-O2', '-g', '-fno-builtin')
CET = PLAIN + ('-fcf-protection',)
CALLS = '''global n  probe process.plt { n[$$name]++ }
probe end { foreach (k in n) printf("%s %d\\n", k, n[k]) }'''
RETURNS = '''global n, r  probe process.plt("[ms][at][lr][lst]*").return { n[$$name]++ r[$$name] = returnval() }
probe end { foreach (k+ in n) printf("%s %d %d\\n", k, n[k], k == "strtol" ? r[k] : r[k] != 0) }'''


def builds(ctx):
    """Compiler, position, binding, landing pads."""
    for cc in 'gcc', 'clang':
        yield ctx.target('linkage', PLAIN, cc, ('-Wl,-z,now',))
        yield ctx.target('linkage', PLAIN, cc, ('-Wl,-z,lazy',))
        yield ctx.target('linkage', PLAIN + ('-fno-pie',), cc, ('-no-pie', '-Wl,-z,now'))
        yield ctx.target('linkage', PLAIN + ('-fno-pie',), cc, ('-no-pie', '-Wl,-z,lazy'))
        yield ctx.target('linkage', CET, cc, ('-Wl,-z,now,-z,ibtplt',))
        yield ctx.target('linkage', CET, cc, ('-Wl,-z,lazy,-z,ibtplt',))


def test_calls_are_counted(ctx):
    for path in builds(ctx):
        r = scripted.launch(ctx, CALLS, path, input='3\n4\n')
        assert r.returncode == 0, r.stderr
        calls = dict(line.rsplit(' ', 1) for line in r.script.splitlines())
        calls.pop('__cxa_finalize', None)
        assert calls == dict(malloc='10', free='10', strlen='10', strtol='10', strstr='2', printf='3', fflush='3', fgets='3'), \
            (path, r.script, r.stderr)


def test_returns_are_counted(ctx):
    """Launched, every one: where the loader will lead a first call to is found out before it does. strstr comes in
    variants, and no call of the C library's own tells which one is chosen."""
    for path in builds(ctx):
        r = scripted.launch(ctx, RETURNS, path, input='3\n4\n')
        assert r.script == 'malloc 10 1\nstrlen 10 1\nstrstr 2 1\nstrtol 10 4\n', (path, r.script, r.stderr)
        assert 'TAIL_CALL:' not in r.stderr, r.stderr


def test_returns_once_bound(ctx):
    """A running program whose functions have been called before."""
    for path in builds(ctx):
        p = support.start(ctx, path)
        for n in range(3):
            p.stdin.write('7\n')
            p.stdin.flush()
            assert p.stdout.readline() == '0\n'
            if n == 0:
                s = scripted.attach(ctx, RETURNS, pid=p.pid)
        out, err = scripted.finish(s)
        assert out == 'malloc 10 1\nstrlen 10 1\nstrstr 2 1\nstrtol 10 7\n', (path, out, err)
        p.stdin.close()
        assert p.wait(timeout=300) == 0


def test_return_is_not_the_jump(ctx):
    """A handler that does not look at the result runs behind the function, too."""
    script = '''global n, early, inside  probe process.library("libc.so.6").function("fgets") { inside = 1 }
        probe process.plt("fgets").return { if (inside) n++; else early++; inside = 0 }
        probe end { println(n, " ", early) }'''
    for path in builds(ctx):
        r = scripted.launch(ctx, script, path, input='3\n4\n')
        assert r.script == '3 0\n' and 'was not run' not in r.stderr, (path, r.script, r.stderr)


def test_of_a_short_program(ctx):
    """All that ls calls come back, but for what never does and what is told."""
    script = '''global n, r  probe process.plt { n[$$name]++ }  probe process.plt.return { r[$$name]++ }
        probe end { foreach (k in n) { all += n[k]; back += r[k]; if (!r[k]) println(k) } println("all ", all, " back ", back) }'''
    r = scripted.launch(ctx, script, '/bin/ls -l /usr/share')
    m = re.search(r'all (\d+) back (\d+)\n', r.script)
    left = re.findall(r'^(\w+)$', r.script, re.M)
    assert m and int(m.group(1)) > 100, (r.script, r.stderr)
    told = sum(int(n) for n in re.findall(r'(?:not watched|longjmp): (\d+)', r.stderr))
    never = int(m.group(1)) - int(m.group(2)) - told
    assert 0 <= never <= 3 and len(left) <= 8, (r.script, r.stderr)  # _setjmp, exit


def test_of_a_library(ctx):
    """The C++ runtime's calls into the C library: who throws has memory allocated."""
    path = ctx.target('throw.cc', cc='g++')
    script = '''global n  probe process.library("libstdc++.so.6").plt("malloc") { n++ }
        probe end { println(n > 0) }'''
    r = scripted.launch(ctx, script, path)
    assert r.script == '1\n', r.script + r.stderr


def test_static(ctx):
    """Its table has what is chosen among variants only."""
    path = ctx.target('linkage', PLAIN, 'gcc', ('-static',))
    r = scripted.launch(ctx, 'global n  probe process.plt("strlen") { n++ } probe end { println(n >= 10) }', path,
                        input='3\n4\n')
    assert r.script == '1\n', r.script + r.stderr


for _f in (test_of_a_library, test_static):
    _f.variants = support.PAIR


def test_all_share_a_handler(ctx):
    """`$$name` is read as the probe runs: a thousand entries compile as quickly as one."""
    path = next(builds(ctx))

    def lines(pattern, suffix=''):
        body = '{ n[$$name]++ if ($$name == "") next }'
        r = ctx.run([ctx.bin('trapless'), '-p3', '-e', 'global n probe process("%s").plt("%s")%s %s' % (path, pattern, suffix, body)])
        assert r.returncode == 0, r.stderr
        return len(r.stdout.splitlines())
    for suffix in '', '.return':
        assert lines('malloc', suffix) == lines('*', suffix) > 20


test_all_share_a_handler.once = 'nothing is probed'
