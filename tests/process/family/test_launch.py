# SPDX-License-Identifier: MIT
"""Programs started by us: probes live from the first instruction, and the program as it would be without us."""
import os
import re
import shutil
import subprocess

from support import ALL, LIBC, NO_BREAKPOINTS, PAIR, hits, runner, tap


def launch(ctx, module, command, args=(), **kw):
    return ctx.run([runner(ctx), module, '-c', command] + list(args), **kw)


def test_exact_and_status(ctx):
    path = ctx.target('count')
    module = tap.counter(ctx.tmp, path, ['work', 'main'])
    r = launch(ctx, module, path + ' 4 500')
    assert r.returncode == 7, r
    assert 'calls 2000' in r.stdout and hits(r.stdout) == 2001, r


def sanitized(ctx, cc, *kinds):
    for kind in kinds:
        path = ctx.target('count', cc=cc, cflags=('-O1', '-g', '-fsanitize=' + kind))
        bare = ctx.run([path, '4', '500'])
        r = launch(ctx, tap.counter(ctx.tmp, path, ['work', 'main']), path + ' 4 500')
        assert (r.returncode, r.stderr) == (bare.returncode, bare.stderr) == (7, ''), (kind, bare, r)
        assert 'calls 2000' in r.stdout and hits(r.stdout) == 2001, (kind, r)


def test_thread_sanitizer(ctx):
    """It refuses a program with memory where its own is to be; ours is there before."""
    sanitized(ctx, 'gcc', 'thread')


def test_clang_sanitizers(ctx):
    sanitized(ctx, 'clang', 'thread', 'memory')


test_thread_sanitizer.variants = test_clang_sanitizers.variants = PAIR


def test_other_rights(ctx):
    """A setuid program has them where root traces it; an ordinary user is told that it has not."""
    if os.getuid():
        ctx.skip('needs root to make a setuid program')
    owner = 0 if ctx.user else 65534
    path = shutil.copy('/usr/bin/id', ctx.tmp)
    os.chown(path, owner, owner)
    os.chmod(path, 0o4755)
    module = tap.counter(ctx.tmp, ctx.target('count'), ['work'])
    r = launch(ctx, module, path)
    warned = 'WARNING: %s runs without the rights that its file gives' % path in r.stderr
    assert (warned, 'euid=%d' % owner in r.stdout) == ((True, False) if ctx.user else (False, True)), r
    assert 'WARNING' not in launch(ctx, module, path, ['-w']).stderr


test_other_rights.variants = ('opt', 'nobody')


def test_static_from_start(ctx):
    """`_start` of a static program is its very first instruction."""
    path = ctx.target('count', cflags=('-O2', '-static'))
    module = tap.counter(ctx.tmp, path, ['_start', 'main', 'work'])
    r = launch(ctx, module, path + ' 2 500')
    assert r.returncode == 7 and hits(r.stdout) == 1002, r


def test_library_from_start(ctx):
    """Called once each: by the dynamic loader itself, and by the program's start code, before main."""
    path = ctx.target('count')
    for function in '__libc_early_init', '__libc_start_main':
        module = tap.counter(ctx.tmp, path, [function], library=os.path.realpath(LIBC))
        r = launch(ctx, module, path + ' 1 10')
        assert r.returncode == 7 and hits(r.stdout) == 1, (function, r)


def test_resolver_from_start(ctx):
    """The loader asks it while it relocates the program; a static one's start code does."""
    for flags in ('-O2',), ('-O2', '-static'), ('-O2', '-static-pie'):
        path = ctx.target('ifunc', cflags=flags)
        r = launch(ctx, tap.counter(ctx.tmp, path, ['choose']), path)
        asked = int(re.search(r'^asked (\d+)', r.stdout, re.M).group(1))
        assert r.returncode == 7 and hits(r.stdout) == asked > 0, (flags, r)


def test_signal_status(ctx):
    path = ctx.target('count')
    module = tap.counter(ctx.tmp, path, ['main'])
    r = launch(ctx, module, "sh -c 'kill -9 $$'")
    assert r.returncode == 137, r


def test_stdin_stays(ctx):
    path = ctx.target('count')
    module = tap.counter(ctx.tmp, path, ['main'])
    r = launch(ctx, module, 'cat', input='through\n')
    assert r.returncode == 0 and 'through' in r.stdout, r


def test_no_such_program(ctx):
    """As a shell has it; `end` probes have nothing to tell."""
    path = ctx.target('count')
    module = tap.counter(ctx.tmp, path, ['main'])
    for command, status in (('/nonexistent/program', 127), ('/etc/passwd', 126)):
        r = launch(ctx, module, command)
        assert r.returncode == status and 'cannot start' in r.stderr and not r.stdout, r


def test_script_without_an_interpreter(ctx):
    """The shell's, as execvp(3) has it, whatever the C library does."""
    path = os.path.join(ctx.tmp, 'script')
    with open(path, 'w') as f:
        f.write('echo "got $1"; exit 7\n')
    os.chmod(path, 0o755)
    module = tap.counter(ctx.tmp, ctx.target('count'), ['work'])
    r = launch(ctx, module, path + ' this')
    assert r.returncode == 7 and 'got this' in r.stdout, r
    r = ctx.run([runner(ctx), module, '--', path, 'this one'])
    assert r.returncode == 7 and 'got this one' in r.stdout, r


def test_through_shell(ctx):
    """sh becomes the program: probes are for what comes after the exec."""
    path = ctx.target('count')
    module = tap.counter(ctx.tmp, path, ['work'])
    r = launch(ctx, module, 'X=1; exec %s 2 100' % path)
    assert r.returncode == 7 and hits(r.stdout) == 200, r


def test_becomes_another(ctx):
    """The traced program itself: the session goes on where the script has probes for that one, else it is over, which is told."""
    path = ctx.target('count')
    module, command = tap.counter(ctx.tmp, '/bin/sh', ['execve'], library=LIBC), '/bin/sh -c "exec %s 2 100"' % path
    for args, ends in ((), False), (('--no-follow',), True):
        r = launch(ctx, module, command, args)
        assert r.returncode == 7 and hits(r.stdout) == 1 and 'calls 200' in r.stdout, r
        assert ('has become another program (exec), count' in r.stderr) == ends, r.stderr


def test_quotes_need_no_shell(ctx):
    path = ctx.target('count')
    module = tap.counter(ctx.tmp, path, ['work'])
    r = launch(ctx, module, "'%s' \"2\" '1'00" % path)
    assert r.returncode == 7 and hits(r.stdout) == 200, r


def test_never_armed(ctx):
    """Whose file was never mapped: told at the end."""
    path = ctx.target('count')
    module = tap.counter(ctx.tmp, path, ['work', 'main'])
    r = launch(ctx, module, 'true')
    assert 'never armed: 2 probes: %s was not run' % path in r.stderr, r
    r = launch(ctx, module, path + ' 1 10')
    assert 'never armed' not in r.stderr, r


def test_child_of_shell(ctx):
    """The shell starts the program as its child: the probes are for that one."""
    path = ctx.target('count')
    module = tap.counter(ctx.tmp, path, ['work', 'main'])
    r = launch(ctx, module, 'true; %s 2 100; echo status $?; (exit 3)' % path)
    assert r.returncode == 3 and 'status 7' in r.stdout and hits(r.stdout) == 201, r
    r = launch(ctx, module, "echo a | cat; (sh -c '%s 1 50; true') | cat; exit 4" % path)
    assert r.returncode == 4 and hits(r.stdout) == 51, r


def test_short_threads(ctx):
    """More threads than there are rings, one after the other: those that ended give theirs back."""
    path = ctx.target('short')
    module = tap.counter(ctx.tmp, path, ['work'])
    r = launch(ctx, module, path + ' 2500', timeout=300)
    assert r.returncode == 7 and hits(r.stdout) == 2500, r
    assert 'beyond the limit' not in r.stderr, r


def test_explain(ctx):
    """One line a probe: rung, place, point, and why on no better rung."""
    path = ctx.target('count')
    module = tap.counter(ctx.tmp, path, ['work', 'main'])
    r = launch(ctx, module, path + ' 1 10', args=['--explain'])
    lines = [line for line in r.stderr.splitlines() if 'function("' in line]
    assert len(lines) == 2, r
    want = 'trap' if ctx.env.get('TRAPLESS_TRAPS_ONLY') else ('retarget', 'whole', 'pun', 'evict', 'window', 'trap')
    assert all(line.startswith(want) for line in lines), r
    assert want != 'trap' or all('OPT_OFF' in line for line in lines), r
    r = launch(ctx, module, path + ' 1 10', args=['--explain', '-v'])
    assert r.stderr.count('detour 0x') == 2, r


# What is said of each: the rung, and the reasons against better ones.
RUNGS = {
    'retargeted': ('retarget', ''),
    'whole': ('whole', ''),
    'punned': ('pun', 'whole: SHORT_INSN'),
    'window': ('window', 'whole: SHORT_INSN'),
    'evicted': ('evict', 'whole: SHORT_INSN, pun: OUT_OF_REACH, window: BRANCH_INTO'),
    'jumps': ('evict', 'whole: SHORT_INSN, pun: OUT_OF_REACH, window: INDIRECT'),
    'trapped': ('trap', 'whole: SHORT_INSN, pun: OUT_OF_REACH, evict: NO_MOVE, window: NO_RELOCATE'),
    'last_ret': ('trap', 'whole: SHORT_INSN, pun: OUT_OF_REACH, evict: NO_MOVE, window: TOO_SHORT'),
    'beside': ('trap', 'whole: SHORT_INSN, pun: NEIGHBOUR, evict: NEIGHBOUR, window: BRANCH_INTO'),
    'beside_it': ('window', 'whole: SHORT_INSN'),
}
OFF = ', '.join(rung + ': OPT_OFF' for rung in ('retarget', 'whole', 'pun', 'evict', 'window'))


def test_explain_every_rung(ctx):
    """A site for each rung, and for each reason: place, rung, reasons, then the detour."""
    path = ctx.target('rungs.S', cflags=('-no-pie', '-Wl,-Ttext-segment=0x40000000'))
    module = tap.counter(ctx.tmp, path, RUNGS)
    r = launch(ctx, module, path, args=['--explain', '-v'])
    assert r.returncode == 8 and hits(r.stdout) == 8, r
    places = tap.elf_symbols(open(path, 'rb').read())
    for name, (rung, why) in RUNGS.items():
        if ctx.env.get('TRAPLESS_TRAPS_ONLY'):
            rung, why = 'trap', OFF
        line = '%-8s %s+0x%x  function("%s")' % (rung, os.path.basename(path), places[name][0], name)
        rest = r.stderr[r.stderr.index(line) + len(line):].split('\n')
        assert rest[0] == ('; not ' + why if why else ''), (name, rest[0], why)
        where = ' *at 0x{0:x}: [1-9] bytes changed at 0x{0:x}, detour 0x[1-9a-f]'.format(places[name][0])
        assert re.match(where, rest[1]), rest


test_exact_and_status.variants = ALL
test_explain_every_rung.variants = PAIR
test_explain.variants = test_child_of_shell.variants = PAIR
test_library_from_start.variants = test_resolver_from_start.variants = PAIR
test_static_from_start.variants = PAIR


def namesake(ctx, *words):
    """(the script's program, another build of its name, what a run of a command with a script of the former gives)"""
    ours = ctx.target('count')
    os.mkdir(ctx.tmp + '/elsewhere')
    other = os.path.join(ctx.tmp, 'elsewhere', os.path.basename(ours))
    subprocess.run(['gcc', '-O1', '-pthread', '-o', other, os.path.join(ctx.root, 'tests/targets/count.c')], check=True)
    script = 'global n probe process("%s").function("work") { n++ } probe end { println("n=", n) }' % ours
    return ours, other, lambda command: ctx.run([ctx.bin('trapless'), *words, '-e', script, '-c', command])


def is_another(ours, other, run):
    r = run("sh -c '%s 1 50; %s 1 50; true'" % (other, ours))
    assert (r.returncode, r.stdout.count('calls 50'), 'n=50\n' in r.stdout) == (0, 2, True), r
    assert 'BUILD_ID' not in r.stderr and 'refused' not in r.stderr, r
    r = run(other + ' 1 50')
    assert 'n=0\n' in r.stdout and ours + ' was not run' in r.stderr and 'BUILD_ID' not in r.stderr, r
    # The same build is taken wherever it is.
    copy = os.path.join(os.path.dirname(other), 'copy')
    shutil.copy(ours, copy)
    r = run(copy + ' 1 50')
    assert 'n=50\n' in r.stdout, r


def test_namesake(ctx):
    """Another program of the script's name, at another place, is simply another one; one that was replaced is told of."""
    ours, other, run = namesake(ctx)
    is_another(ours, other, run)
    kept = os.path.join(ctx.tmp, os.path.basename(ours))
    shutil.copy(ours, kept)
    module = tap.counter(ctx.tmp, kept, ['work'])
    os.remove(kept)
    r = launch(ctx, module, other + ' 1 50')
    assert 'BUILD_ID' in r.stderr and hits(r.stdout) == 0, r
    shutil.copy(other, kept)
    r = launch(ctx, module, kept + ' 1 50')
    assert 'BUILD_ID' in r.stderr and hits(r.stdout) == 0, r


def test_namesake_preloaded(ctx):
    is_another(*namesake(ctx, '--preload'))


test_namesake_preloaded.jumps_only = NO_BREAKPOINTS
test_namesake.variants = PAIR
