# SPDX-License-Identifier: MIT
"""Static hooks of <trapless/hook.h>, from outside: names, parameters of every kind, and who has the hook in several files."""
import os

import scripted
import support

# How places are switched, and the same hooks by every way to build them.
FORMS = 'FLAG', 'NOP', 'JUMP'
WAYS = (('gcc', '-O0'), ('gcc', '-O1'), ('gcc', '-O2'), ('gcc', '-O3'), ('clang', '-O0'), ('clang', '-O2'),
        ('gcc', '-O2', '-flto'), ('gcc', '-O2', '-fno-pie', '-no-pie'), ('clang', '-O2', '-fPIC', '-pie'), ('gcc', '-O2', '-static'),
        ('gcc', '-O2', '-ffunction-sections', '-Wl,--gc-sections'), ('clang', '-O3', '-fcf-protection=full'),
        ('g++', '-O2', '-x', 'c++'), ('clang++', '-O0', '-x', 'c++'))


def built(ctx, form, way, name='hooked', sources=('hooked', 'hooked_other'), debug='-g', libraries=()):
    """Built by the test itself: it is about a header, too."""
    path = os.path.join(ctx.tmp, '%s-%s-%s' % (name, form, ''.join(c for c in ''.join(way) if c.isalnum())))
    texts = [os.path.join(ctx.root, 'tests', 'targets', s if '.' in s else s + '.c') for s in sources]
    r = ctx.run([*way, debug, '-DTL_HOOK_FORM=TL_HOOK_' + form, '-o', path, *texts, *libraries])
    assert r.returncode == 0, r.stderr
    return path


def builds(ctx):
    """Of the short form each way has one form."""
    for i, way in enumerate(WAYS):
        for form in FORMS if ctx.long else FORMS[i % len(FORMS):][:1]:
            yield built(ctx, form, way)


KINDS = '''
probe process.hook("kinds:whole") {
    println($c, " ", $u, " ", $s, " ", $w, " ", $i, " ", $v, " ", $l, " ", $q == -446744073709551616, " ", $arg5, " ", @defined($arg9))
    println($$vars, " ", $w$)
}
probe process.provider("kind*").hook("others") {
    println($$provider, " ", $$name, " ", pp() == "process(\\"PATH\\").hook(\\"kinds:others\\")")
    println(user_string($text), " ", $text$, " ", $text[2], " ", fp_to_string($d, 2), " ", $e, " ", $b)
}
'''
KNOWN = '''
probe process.hook("kinds:others") {
    p = $n
    println($pr->a, " ", $pr->b, " ", $n->value, " ", user_string($n->next->name), " ", p->next->value, " ", $last->value)
    println($pr$, " ", $$parms$)
}
'''
KINDS_SEEN = '''\
-5 250 -300 65000 -70000 4000000000 -5000000000 1 -70000 0
c=0xfffffffffffffffb u=0xfa s=0xfffffffffffffed4 w=0xfde8 i=0xfffffffffffeee90 v=0xee6b2800 l=0xfffffffed5fa0e00 \
q=0xf9ccd8a1c5080000 65000
kinds others 1
a "text" "a \\"text\\"" 34 1.50 7 1
'''
KNOWN_SEEN = '''\
-1 1099511627776 5 last -9 -9
{.a=-1, .b=1099511627776} text="a \\"text\\"" pr={.a=-1, .b=1099511627776} n={.value=5, .name="first", .next=0x%s} d=? f=? e=7 b=1 \
last={.value=-9, .name="last", .next=0x0}
'''


def test_parameters_of_every_kind(ctx):
    for path in builds(ctx):
        r = scripted.launch(ctx, (KINDS + KNOWN).replace('PATH', path), path)
        assert r.returncode == 0, (path, r.stderr)
        seen = r.script.splitlines()
        wanted = (KINDS_SEEN + KNOWN_SEEN.replace('0x%s', '*')).splitlines()
        assert len(seen) == len(wanted), (path, r.script)
        for got, want in zip(seen, wanted):
            assert scripted.as_expected(got, want), (path, got, want)


def test_debuggers_see_hooks_as_marks(ctx):
    """And switch those of the flag form."""
    for form in FORMS:
        for pie in (('-fPIE', '-pie'), ('-fno-pie', '-no-pie')):
            path = built(ctx, form, ('gcc', '-O2', *pie))
            r = ctx.run(['gdb', '-nx', '-batch', '-ex', 'info probes stap', '-ex', 'break -probe-stap kinds:whole', '-ex', 'run',
                         '-ex', 'print $_probe_argc', path])
            assert 'whole' in r.stdout and '(2 locations)' in r.stdout, (path, r.stdout, r.stderr)
            assert form != 'FLAG' or '$1 = 8' in r.stdout, (path, r.stdout, r.stderr)


def test_parameters_without_debug_information(ctx):
    """Only what is inside of structures is not known."""
    for i, way in enumerate((('gcc', '-O2', '-s'), ('clang', '-O0', '-s'), ('gcc', '-O2', '-s', '-static'))):
        path = built(ctx, FORMS[i], way, debug='-g0')
        r = scripted.launch(ctx, KINDS.replace('PATH', path), path)
        assert r.returncode == 0 and r.script == KINDS_SEEN, (way, r.script, r.stderr)
        r = scripted.launch(ctx, 'probe process.hook("kinds:*") { println($$parms$) }', path)
        assert 'text="a \\"text\\"" pr={...} n=0x' in r.script, r.script + r.stderr
        for access in '$n->value', '$pr->a', '$last->value', '$n[1]->value':
            r = scripted.launch(ctx, 'probe process.hook("kinds:others") { println(%s) }' % access, path)
            assert r.returncode == 1 and 'error[DEBUGINFO_NONE]: the hook\'s table only names `' in r.stderr and '@cast(' in r.stderr, r.stderr
        described = built(ctx, 'FLAG', ('gcc', '-O0'), name='described')
        r = scripted.launch(ctx, 'probe process.hook("kinds:others") { println(@cast($n, "struct node", "%s")->value) }' % described, path)
        assert r.script == '5\n', r.stderr


COUNTED = '''
global n, sum, m, verdicts, places
probe process.hook("net:packet_in") { n++ sum += $len }
probe process.mark("packet_in") { m++ }
probe process.hook("sec:*") { verdicts++ if (user_string($path) == "other") println($flags) }
probe end { println(n, " ", sum, " ", m, " ", verdicts) }
'''


def test_hooks_of_two_files_are_one(ctx):
    """Each of them has the function, and one is taken; no mark is there twice."""
    for path in builds(ctx):
        r = scripted.launch(ctx, COUNTED, path)
        assert r.returncode == 0 and r.script == '4\n20 5555 20 2\n', (path, r.script, r.stderr)
        for what in 'hook', 'mark':
            r = ctx.run([ctx.bin('trapless'), '-l', 'process("%s").%s("*")' % (path, what)])
            assert len(r.stdout.splitlines()) == 4, r.stdout + r.stderr


def listed(ctx, option, point):
    return ctx.run([ctx.bin('trapless'), option, point])


def test_lists(ctx):
    """The same of every compiler, with debug information and without."""
    all_of = {
        'kinds:others': ' $text:char const* $pr:struct pair $n:struct node const* $d:double $f:float $e:enum color $b:_Bool $last:link',
        'kinds:whole': ' $c:signed char $u:unsigned char $s:short int $w:short unsigned int $i:int $v:uint32_t $l:long int'
                       ' $q:long long unsigned int',
        'net:packet_in': ' $len:uint32_t $data:void const*',
        'sec:may_open': ' $path:char const* $flags:int'}
    for way, debug in (('gcc', '-O2'), '-g'), (('clang', '-O0'), '-g'), (('gcc', '-O2', '-s'), '-g0'):
        path = built(ctx, 'FLAG', way, debug=debug)
        point = 'process("%s").hook("%%s")' % path
        lines = [(point % name, parameters) for name, parameters in all_of.items()]
        r = listed(ctx, '-L', point % '*')
        assert r.stdout.splitlines() == [a + b for a, b in lines], r.stdout + r.stderr
        assert listed(ctx, '-l', point % '*').stdout.splitlines() == [a for a, b in lines]
        for pattern, count in ('kinds:*', 2), ('*:*', 4), ('*_*', 2), ('net:packet_*', 1), ('may_open', 1), ('[ks]*:?a*', 1):
            r = listed(ctx, '-l', point % pattern)
            assert len(r.stdout.splitlines()) == count, (pattern, r.stdout, r.stderr)
        r = listed(ctx, '-l', 'process("%s").provider("[kn]*").hook("*")' % path)
        assert len(r.stdout.splitlines()) == 3, r.stdout
        r = listed(ctx, '-l', point % 'net:packet_inn')
        assert r.returncode == 1 and 'POINT_NO_MATCH' in r.stderr and 'did you mean `net:packet_in`?' in r.stderr, r.stderr


test_lists.variants = 'opt', 'nobody'

LIBRARY = ('-fPIC', '-shared', '-DLIBRARY')


def test_hooks_of_libraries(ctx):
    for cc, form in ('gcc', 'FLAG'), ('clang', 'NOP'), ('gcc', 'JUMP'):
        lib = built(ctx, form, (cc, '-O2', *LIBRARY), name='lib', debug='-g0')
        path = built(ctx, form, (cc, '-O2', '-DMAIN'), sources=('hooked',), libraries=(lib,))
        script = COUNTED.replace('process.', 'process("%s").library("%s").' % (path, lib))
        r = scripted.launch(ctx, script, path)
        assert r.returncode == 0 and r.script == '4\n20 5555 20 2\n', (cc, form, r.script, r.stderr)
        r = listed(ctx, '-l', 'process("%s").library("%s").hook("net:*")' % (path, lib))
        assert r.stdout == 'process("%s").library("%s").hook("net:packet_in")\n' % (path, lib), r.stdout + r.stderr


CALLED = '''global n, sum  probe process("%s").library("%s").hook("plug:called") { n++ sum += $a }
    probe end { println(n, " ", sum) }'''


def test_hooks_of_libraries_that_come_and_go(ctx):
    path = ctx.target('copies', ldflags=('-ldl',))
    for form in FORMS:
        lib = built(ctx, form, ('gcc', '-O2', '-fPIC', '-shared'), name='plug', sources=('hookplug',))
        for how in 'on':
            lines = ('%s %s\nc\nx 1\n%s %s\nc\n' % (how, lib, how, lib))
            r = scripted.launch(ctx, CALLED % (path, lib), path, input=lines)
            assert r.script == '20 30\n', (form, r.script, r.stdout, r.stderr)


def test_listening_while_it_runs(ctx):
    """What the program is told by tl_hook_enabled(), of any form; its places are as they were behind the last one."""
    for form in FORMS:
        path = built(ctx, form, ('gcc', '-O2'))
        p = ctx.start([path, 'wait'])

        def say():
            p.stdin.write('\n')
            p.stdin.flush()
            return p.stdout.readline().strip()
        assert p.stdout.readline().strip() == 'on 0'
        before = support.Before(p.pid, os.path.basename(path))
        one = 'global n  probe process.hook("net:packet_in") { n++ } probe end { println(n) }'
        a = scripted.attach(ctx, one, pid=p.pid)
        b = scripted.attach(ctx, one.replace('hook', 'mark').replace('net:', ''), pid=p.pid)
        assert [say(), say()] == ['on 1', 'on 1'], form
        assert scripted.finish(a)[0] == '40\n', form
        assert say() == 'on 1', form
        assert scripted.finish(b)[0] == '60\n', form
        assert say() == 'on 0', form
        before.check()
        p.stdin.close()
        assert p.wait(timeout=300) == 0


def test_hooks_preloaded(ctx):
    for form in FORMS:
        path = built(ctx, form, ('gcc', '-O2'))
        r = scripted.launch(ctx, COUNTED, path, '--preload')
        assert r.returncode == 0 and r.script == '4\n20 5555 20 2\n', (form, r.script, r.stderr)


test_hooks_preloaded.jumps_only = support.NO_BREAKPOINTS


def test_damaged_table(ctx):
    """What it says of one hook is refused, by name; the others can be probed."""
    path = built(ctx, 'FLAG', ('gcc', '-O2'))
    whole = open(path, 'rb').read()
    table = whole.index(b'net:packet_in\0int\0')
    for at, byte, why in (-6, 0x7f, 'its mark lies outside'), (-10, 0x7f, 'its function lies outside'), \
            (-14, 0x7f, 'no memory that can be written'), (-8, whole[table - 8] ^ 1, 'the instruction at its mark'):
        bad = bytearray(whole)
        for start in [i for i in range(len(whole)) if whole.startswith(b'net:packet_in\0int\0', i)]:
            bad[start + at] = byte if at != -8 else whole[start + at] ^ 1
        broken = os.path.join(ctx.tmp, 'broken')
        open(broken, 'wb').write(bad)
        os.chmod(broken, 0o755)
        r = scripted.launch(ctx, 'probe process.hook("net:*") { }', broken)
        assert r.returncode == 1 and 'error[HOOK_DAMAGED]: hook `net:packet_in` of' in r.stderr and why in r.stderr, r.stderr
        r = scripted.launch(ctx, 'global n  probe process.hook("*") { n++ } probe end { println(n) }', broken)
        assert r.returncode == 0 and 'warning[HOOK_DAMAGED]' in r.stderr and r.script == '4\n', r.stderr


CXX = '''
probe process.hook("types") {
    println($r->x, " ", $v->y, " ", $p->x, " ", $k, " ", $n, " ", $b->v, " ", $ib->v, " ", $u, " ", &$r != &$v)
    println($$parms$)
    $n = 5
}
'''
CXX_SEEN = '''\
1 4 3 4 -7 42 42 120 1
r={.x=1, .y=2} v={.x=3, .y=4} p={.x=3, .y=4} k=4 n=-7 b={.v=42} ib={.v=42} u=120
'''


def test_types_of_cxx(ctx):
    """A reference is what it refers to; what it is written to, the program sees."""
    for form, way in ('FLAG', ('g++', '-O2')), ('NOP', ('g++', '-O0')), ('JUMP', ('clang++', '-O1')):
        path = built(ctx, form, (*way, '-std=c++17'), name='types', sources=('hooked_types.cc',))
        r = scripted.launch(ctx, CXX, path, '-g')
        assert r.returncode == 0 and r.script == CXX_SEEN + CXX_SEEN.replace('-7', '5'), (way, r.script, r.stderr)
        r = listed(ctx, '-L', 'process("%s").hook("*")' % path)
        assert r.stdout.split(') ', 1)[1] == '$r:ns::point const $v:ns::point $p:ns::point* $k:ns::kind $n:int $b:ns::box<int>' \
            ' $ib:ibox const* $u:char16_t\n', r.stdout + r.stderr
