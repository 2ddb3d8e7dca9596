# SPDX-License-Identifier: MIT
"""Variables of compiled programs whose values are known: gcc and clang, optimised and not."""
import os
import re
import select
import shutil

BUILDS = [(cc, level) for cc in ('gcc', 'clang') for level in ('-O0', '-O2')]


def built(ctx, source, cc, level, *more):
    if source.endswith('.cc'):
        cc = {'gcc': 'g++', 'clang': 'clang++'}[cc]
    if not shutil.which(cc):
        ctx.skip('there is no ' + cc)
    out = os.path.join(ctx.tmp, source.split('.')[0] + level)
    p = ctx.run([cc, '-g', level, *more, '-o', out, os.path.join(ctx.root, 'tests', 'scripts', 'values', source)])
    assert p.returncode == 0, p.stderr
    return out


def traced(ctx, program, script):
    """What the script prints while the program runs from start to end."""
    to = os.path.join(ctx.tmp, 'trace.out')
    p = ctx.run([ctx.bin('trapless'), '-o', to, '-c', program, '-e', script], timeout=300)
    assert p.returncode == 0, p.stderr
    return open(to).read()


def everywhere(ctx, source, script, want):
    for cc, level in BUILDS:
        found = traced(ctx, built(ctx, source, cc, level), script)
        assert found == want, '%s %s\n%s\nnot\n%s' % (cc, level, found, want)


def test_arguments_members_and_elements(ctx):
    everywhere(ctx, 'values.c', r'''
        probe process.function("work") {
            printf("%d %d %d %s %d %d %d\n", $n, $c, $s, user_string($text), $col, $b, $big)
            printf("%d %d %s\n", $p->value, $p->in->a, user_string($p->in->name))
            printf("%d %d %d\n", $p->f3, $p->s5, $p->f10)
            i = 1
            printf("%d %d %d %d\n", $p->bytes[3], $p->color, $p->table[i][i + 1], $p->u->c[0])
            printf("%d %d\n", $p->next->value, $p->next->next)
            println(&$p->in - $p, " ", &$p->bytes[2] - &$p->bytes[0])
            println(@defined($nothing), @defined($p->value), @defined($p->nothing), @defined($return))
        }''', ('-5 200 -300 hello 5 255 -1234567890123\n1 -7 in1\n5 -3 777\n250 -2 -6 4\n2 0\n16 2\n0100\n') * 3)


def test_texts_of_the_program_are_matched(ctx):
    everywhere(ctx, 'values.c', r'''
        probe process.function("work") {
            if (sprint($n) !~ "[2-46-9]" && user_string($text) =~ "^h(.)(l+)") println(matched(1), matched(2), ngroups())
        }''', 'ell3\n' * 3)


def test_typed_values_are_followed(ctx):
    everywhere(ctx, 'values.c', r'''
        function of(p) { return @cast(p, "struct node", @1)->next }
        function node(p) { return @cast(p, "struct node") }
        probe process.function("work") {
            p = $p; q = p->next
            print(p->value, " ", q->value, " ", q->in->a, " ", p->table[1][2], " ", ($p)->s5)
            for (q = $p; q; q = q->next) print(" ", q->in->a)
            print(" ", @cast($p, "struct node")->f10, " ", @cast($p, "struct node *")->f3)
            println(" ", (p->value ? p->next : p)->value, " ", (r = $p)->value)
            exit()
            next
        }'''.replace('function of(p) { return @cast(p, "struct node", @1)->next }', '')
        .replace('function node(p) { return @cast(p, "struct node") }', ''),
        '1 2 -2 -6 -3 -7 -2 777 5 2 1\n')


def test_globals_and_text(ctx):
    everywhere(ctx, 'values.c', r'''
        probe process.function("work") {
            println(@var("counter"), " ", @var("global_node")->table[0][2], " ", @var("global_node@values.c")->in->a)
            println($p->in$$, " ", $p->next->in$, " ", $p->table$$, " ", $n$)
            if (isinstr($$parms, "n=0xfffffffffffffffb c=0xc8 s=0xfffffffffffffed4 p=0x")) println("parms")
            if (isinstr($p$, "{.value=1, .next=0x") && isinstr($p$, ".in={...}, .f3=5, .s5=-3")) println("members")
        }''', ''.join('%d 3 -7\n{.a=-7, .name="in1"} {.a=-2, .name="in2"} [1, ...] -5\nparms\nmembers\n' % n
                      for n in (41, 42, 43)).replace('.name="in2"', '.name="in2"'))


def test_globals_at_return(ctx):
    """With its file a global is read there; $name and @var("name") are of the entry, as the call's own variables."""
    everywhere(ctx, 'values.c', r'''
        probe process.function("work").return {
            println($counter, " ", @var("counter"), " ", @var("counter@values.c"), " ", @entry(@var("counter@values.c")))
        }''', '41 41 42 41\n42 42 43 42\n43 43 44 43\n')


def test_another_way_to_write_variables(ctx):
    """Without a file @var("n") is $n: a parameter, at the return that of the entry; with one there is no such global."""
    everywhere(ctx, 'values.c', r'''
        probe process.function("work") { print(@var("n") == $n, @var("p")->value == $p->value, @var("p")->in->a, " ", @var("p")$ == $p$, " ") }
        probe process.function("work").return {
            println(@var("n"), " ", @entry(@var("n")), " ", @defined(@var("n@values.c")), @defined(@var("nowhere")), " ", @var("counter@values.c"))
        }''', ''.join('11-7 1 -5 -5 00 %d\n' % n for n in (42, 43, 44)))


def test_results_and_values_at_entry(ctx):
    everywhere(ctx, 'values.c', r'''
        probe process.function("work").return { println($return, " ", @entry($n), " ", $s, " ", @entry($p->value), " ",
                                                $big, " ", @entry(user_string($text))) }
        probe process.function("narrow") { print($x, " ") }
        probe process.function("narrow").return { println($return, " ", $$return, " ", probefunc()) }''',
               ''.join('-101 -5 -300 1 -1234567890123 hello\n%d %d return=0x%x narrow\n' % (x, x & 255, x & 255)
                       for x in (513, 514, 515)))


def test_addresses_that_parameters_will_have(ctx):
    """Of a call, by its return: there they are in registers as it begins."""
    everywhere(ctx, 'kept.c', r'''
        global x, b, y
        probe process.function("keep").return { x = &$x; b = &$p->b; y = @entry(&$x) }
        probe process.function("end") { println(x == @var("told")[0], b == @var("told")[1], y == x, " ", $n) }''',
               '111 4\n111 5\n')


def test_no_address_where_there_will_be_none(ctx):
    program = built(ctx, 'kept.c', 'gcc', '-O2')
    for point, name in (('function("end").return', '$n'), ('function("keep")', '$x')):
        p = ctx.run([ctx.bin('trapless'), '-p2', '-c', program, '-e', 'probe process.%s { println(&%s) }' % (point, name)])
        assert p.returncode == 1 and 'in a register or a bit-field: it has no address' in p.stderr, p.stderr


def line_of(ctx, source, marker):
    with open(os.path.join(ctx.root, 'tests', 'scripts', 'values', source)) as f:
        return 1 + next(n for n, line in enumerate(f) if line.split()[-1:] == [marker] or line.rstrip().endswith(marker + ' */'))


def test_pointers_that_are_nowhere(ctx):
    """Only gcc describes them, by what they point to."""
    program = built(ctx, 'pointers.cc', 'gcc', '-Os')
    info = ctx.run(['readelf', '--debug-dump=loc', '--debug-dump=info', program]).stdout
    assert 'DW_OP_implicit_pointer' in info
    both, every = ('process.statement("%s@pointers.cc:%d")' % (name, line_of(ctx, 'pointers.cc', name.upper()))
                   for name in ('both', 'all'))
    assert traced(ctx, program, r'''
        probe %s { println($p->a, " ", $p->b, " ", $p[0]->b, " ", $p$, " ", @defined($p)) }
        probe %s { println($q[0], " ", $r[0][0], " ", $t, " ", @defined($q[1]), " ", $$parms) }''' % (both, every)) \
        == '6 7 7 {.a=6, .b=7} 0\n18 18 18 0 t=0x12 r=? q=? x=?\n'
    for wanted, why in (('$q', 'only what it points to is there'), ('$q[$t]', 'only what it points to is there'),
                        ('$q[1]', 'this part of the value is not there')):
        p = ctx.run([ctx.bin('trapless'), '-p2', '-c', program, '-e', 'probe %s { println(%s) }' % (every, wanted)])
        assert p.returncode == 1 and why in p.stderr, p.stderr


def entry_values(ctx, cc):
    """A program that has them."""
    program = built(ctx, 'entered.c', cc, '-O2')
    assert 'entry_value' in ctx.run(['readelf', '--debug-dump=loc', '--debug-dump=info', program]).stdout
    return program


def test_values_that_only_the_entry_had(ctx):
    """Each frame's own, in recursive functions, threads and inlined copies."""
    for cc in ('gcc', 'clang'):
        found = traced(ctx, entry_values(ctx, cc), r'''
            probe process.statement("deep@entered.c:%d") { if ($n) println($n, " ", $m) }
            probe process.statement("twice@entered.c:%d") { println($x) }''' % (
                line_of(ctx, 'entered.c', 'DEEP'), line_of(ctx, 'entered.c', 'TWICE')))
        assert found == ''.join('1 %d\n2 %d\n%d\n' % (n + 1, n, n) for n in (10, 20)), (cc, found)


def test_entries_are_probed_where_they_are_needed(ctx):
    program = entry_values(ctx, 'gcc')
    for wanted, probes in (('$n', 2), ('$n + $n', 2), ('@defined($n)', 1), ('$$parms', 1), ('1', 1)):
        script = 'probe process.statement("await@entered.c:%d") { println(%s) }' % (line_of(ctx, 'entered.c', 'AWAIT'), wanted)
        p = ctx.run([ctx.bin('trapless'), '-p2', '-v', '-c', program, '-e', script])
        assert 'analysed %d probe' % probes in p.stderr, (wanted, p.stderr)


def test_calls_that_began_before(ctx):
    program = entry_values(ctx, 'gcc')
    target = ctx.start([program, 'wait'])
    assert target.stdout.readline() == 'ready\n'
    script = 'probe process.statement("await@entered.c:%d") { try { println($n) } catch (why) { println(why) } exit() }'
    tracer = ctx.start([ctx.bin('trapless'), '-x', str(target.pid), '-e', script % line_of(ctx, 'entered.c', 'AWAIT')])
    while not select.select([tracer.stdout], [], [], 0.05)[0]:
        target.stdin.write('\n')
        target.stdin.flush()
    want = "what rdi held at the function's entry is not known: this call began before that was probed\n"
    assert tracer.stdout.readline() == want


def test_classes_references_and_namespaces(ctx):
    everywhere(ctx, 'classes.cc', r'''
        probe process.function("shop::cart::total") {
            println($this->n, " ", $this->first->price, " ", $extra->price, " ", $extra->next->price, " ", $k, " ", probefunc())
        }
        probe process.function("shop::cart::total").return { println($return, " ", $extra->price) }
        probe process.function("shop::free_one") { println($r, " ", $p->price, " ", $on) }
        probe process.function("twice*") { println($x) }''',
               ''.join('3 7 11 7 -2 shop::cart::total\n-12 11\n%d 11 1\n-4\n5\n' % r for r in (41, 42)))


def test_virtual_bases(ctx):
    everywhere(ctx, 'virtual.cc', r'''
        probe process.function("look") { println($p->l, " ", $p->id, " ", $q->id, " ", $q->r, " ", $p$, " ", $q$) }''',
               ''.join('1 %d 9 2 {.l=1, .id=%d} {.b=3, .l=1, .id=9, .r=2}\n' % (n, n) for n in (9, 5)))


def test_references_are_addresses_of_objects(ctx):
    """Where a number is wanted; what refers to a number is that number."""
    everywhere(ctx, 'classes.cc', r'''
        probe process.function("shop::cart::total") { println(@cast($extra, "shop::item")->price, " ", $extra == &$extra) }
        probe process.function("shop::free_one") { println($r, " ", $p == &$p->price) }''', ''.join('11 1\n%d 1\n' % r for r in (41, 42)))


def test_masked_members(ctx):
    """What a member of the same name hides is neither found nor shown; the base's own is there by its type."""
    everywhere(ctx, 'masked.cc', r'''
        probe process.function("look") { println($p$$, " ", $p->f, " ", @cast(&$p->g - 8, "base")->f->x, " ", $p->g->y, " ", $p$) }''',
               '{.f=42, .g={.x=3, .y=4}, .id=9} 42 1 4 {.f=42, .g={...}, .id=9}\n')


def test_names_of_one_function(ctx):
    """As it is written; of a wildcard's names the symbols' first, at the entry as at the return."""
    for written, name in (('a_work', 'a_work'), ('b_work', 'b_work'), ('work_under', 'work_under'),
                          ('*work*', 'a_work'), ('b_*', 'b_work'), ('work*', 'work_under')):
        everywhere(ctx, 'aliases.c', r'''
            probe process.function("%s") { println(ppfunc(), " ", isinstr(pp(), ppfunc())) }
            probe process.function("%s").return { println(ppfunc()) }''' % (written, written), (name + ' 1\n' + name + '\n') * 2)


def test_lines_with_locals(ctx):
    everywhere(ctx, 'lines.c', r'''
        probe process.statement("step@lines.c:8") { print($a, " ", @defined($local) ? $local : $a * 3, " ") }
        probe process.function("step").return { println($return) }''', '1 3 5\n2 6 13\n3 9 24\n')


def test_suffixes_of_points(ctx):
    """A line without code, a number of calls, a function that its library exports."""
    everywhere(ctx, 'lines.c', r'''
        global n, m  probe process.statement("main@lines.c:19").nearest { n++ }
        probe process.function("step").return.maxactive(1) { println($return) }
        probe process.library("libc.so.6").function("printf").exported { m++ }
        probe end { println(n > 0, m) }''', '5\n13\n24\n11\n')


def test_number_of_calls_is_taken_without_a_word(ctx):
    path = built(ctx, 'lines.c', *BUILDS[0])
    p = ctx.run([ctx.bin('trapless'), '-p2', '-e', 'probe process("%s").function("step").return.maxactive(20) { }' % path])
    assert p.returncode == 0 and p.stderr == '', p


def test_functions_by_address(ctx):
    """At its entry with what it is called with; elsewhere the place alone, which nobody returns from."""
    for cc, level in BUILDS:
        path = built(ctx, 'lines.c', cc, level)
        entry = next(int(line.split()[0], 16) for line in ctx.run(['nm', path]).stdout.splitlines() if line.endswith(' step'))
        found = traced(ctx, path, r'''
            probe process.function(%d) { println($a, " ", ppfunc(), isinstr(pp(), "function(0x%x)")) }
            probe process.function(0x%x).return { println($return) }''' % (entry, entry, entry))
        assert found == '1 step1\n5\n2 step1\n13\n3 step1\n24\n', (cc, level, found)
        for point, status in (('function(%d)' % (entry + 1), 0), ('function(%d).return' % (entry + 1), 1), ('function(1)', 1)):
            p = ctx.run([ctx.bin('trapless'), '-p2', '-e', 'probe process("%s").%s { }' % (path, point)])
            assert p.returncode == status and ('error[POINT_NO_MATCH]' in p.stderr) == (status == 1), p


def test_exported_is_what_is_not_static(ctx):
    """In a program, too, which shows nothing to others: as `stap -p2`."""
    name = os.path.join(ctx.tmp, 'exports')
    with open(name + '.c', 'w') as f:
        f.write('static __attribute__((noinline)) int own(int a) { return a + 1; }\n'
                '__attribute__((weak)) int weak(int a) { return a + 2; }\n'
                'int main(int c, char **v) { (void)v; return own(c) + weak(c); }\n')
    p = ctx.run(['gcc', '-g', '-o', name, name + '.c'])
    assert p.returncode == 0, p
    for function, status in (('main', 0), ('weak', 0), ('own', 1)):
        p = ctx.run([ctx.bin('trapless'), '-p2', '-e', 'probe process("%s").function("%s").exported { }' % (name, function)])
        assert p.returncode == status and ('no exported function matches `own`' in p.stderr) == (status == 1), p


def test_globals_where_there_is_no_debug_information(ctx):
    """In a function of another file, compiled without it, the program's variables are the same."""
    name = os.path.join(ctx.tmp, 'globals')
    for part, text in (('.c', 'int counter = 7; int bare(int); int main(void) { return bare(counter++) - 8; }\n'),
                       ('-bare.c', 'int bare(int n) { return n + 1; }\n')):
        with open(name + part, 'w') as f:
            f.write(text)
    for words in (['-c', '-o', name + '.o', name + '-bare.c'], ['-g', '-o', name, name + '.c', name + '.o']):
        assert ctx.run(['gcc'] + words).returncode == 0, words
    p = ctx.run([ctx.bin('trapless'), '-c', name, '-e', 'probe process.function("bare") { println(@var("counter"), " ", $counter) }'])
    assert (p.returncode, p.stdout) == (0, '8 8\n'), p
    p = ctx.run([ctx.bin('trapless'), '-p2', '-c', name, '-e', 'probe process.function("bare") { println($other) }'])
    assert p.returncode == 1 and 'error[DEBUGINFO_NOT_HERE]' in p.stderr, p


def test_pointers_are_shown_in_hexadecimal(ctx):
    """At the end, by the type of what is assigned: as SystemTap 4.8 does, not in arrays, after arithmetic, or among numbers."""
    everywhere(ctx, 'structs.c', r'''
        global address, by_local, none, sum, mixed, array
        probe process.function("vv") {
            address = &@cast(4096, "pair")->b
            x = &@cast(4096, "pair")->b; by_local = x; by_local++
            none = $cp; none = 0
            sum = &@cast(4096, "pair")->b + 1
            mixed = &@cast(4096, "pair")->b; if (pid() == 0) mixed = $cp->a
            array[1] = &@cast(4096, "pair")->b
        }''', 'address=0x1004\nby_local=0x1005\nnone=0x0\nsum=4101\nmixed=4100\narray[1]=4100\n')


def test_several_programs_and_libraries(ctx):
    program = built(ctx, 'lines.c', 'gcc', '-O0')
    shutil.copy(program, program + '.copy')
    t = ctx.bin('trapless')
    p = ctx.run([t, '-p2', '-e', 'probe process("%s/lines*").function("step") { }' % ctx.tmp])
    assert p.returncode == 0 and p.stdout.count('.function("step@') == 2, p
    p = ctx.run([t, '-p2', '-c', program, '-e', 'probe process.library("*").function("printf") { }'])
    assert p.returncode == 0 and p.stdout.count('libc.so') == 1, p
    p = ctx.run([t, '-p2', '-c', program, '-e', 'probe process.library("*").function("no_such_function") { }'])
    assert p.returncode == 1 and p.stderr.count('error[') == 1, p
    p = ctx.run([t, '-p2', '-e', 'probe process("%s/none*").function("step") { }' % ctx.tmp])
    assert p.returncode == 1 and 'PROGRAM_UNKNOWN' in p.stderr, p


def test_libraries_by_a_pattern_of_programs(ctx):
    """Where no program matches; several names of a file are one."""
    source = os.path.join(ctx.root, 'tests', 'scripts', 'values', 'ownlib.c')
    assert ctx.run(['gcc', '-g', '-shared', '-fPIC', '-o', 'libone.so.1.2', source], cwd=ctx.tmp).returncode == 0
    os.symlink('libone.so.1.2', os.path.join(ctx.tmp, 'libone.so.1'))
    words = [ctx.bin('trapless'), '-l', 'process("%s/libone.so.*").function("fresh")' % ctx.tmp]
    p = ctx.run(words)
    assert (p.returncode, p.stdout.count('function("fresh@')) == (0, 1), p
    shutil.copy(built(ctx, 'lines.c', 'gcc', '-O0'), os.path.join(ctx.tmp, 'libone.so.program'))
    p = ctx.run(words)
    assert p.returncode == 1 and 'FUNCTION_UNKNOWN' in p.stderr, p


def test_libraries_that_are_opened_later(ctx):
    """By a path with wildcards, and by the name of a file that is here, where the program needs none of that name."""
    program = built(ctx, 'lines.c', 'gcc', '-O0')
    for name in 'liblater.so.1', 'liblater.so.2':
        source = os.path.join(ctx.root, 'tests', 'scripts', 'values', 'ownlib.c')
        assert ctx.run(['gcc', '-g', '-shared', '-fPIC', '-o', os.path.join(ctx.tmp, name), source]).returncode == 0
    shutil.copy(program, os.path.join(ctx.tmp, 'liblater.so.program'))
    for name, found in ((ctx.tmp + '/liblater*', 2), ('./liblater.so.?', 2), ('liblater.so.1', 1), ('liblater*', 0), ('later.so', 0)):
        p = ctx.run([ctx.bin('trapless'), '-l', 'process("%s").library("%s").function("*")' % (program, name)], cwd=ctx.tmp)
        files = set(re.findall(r'\.library\("([^"]*)"\)', p.stdout))
        assert len(files) == found and (p.returncode == 1) == (found == 0), (name, p)
        assert found or 'LIBRARY_UNKNOWN' in p.stderr, p


def test_copies_without_an_instruction_of_their_own(ctx):
    """gcc has made one of what is inlined and what is around it, and tells where the copy would begin."""
    source, program = os.path.join(ctx.tmp, 'merged.c'), os.path.join(ctx.tmp, 'merged')
    with open(source, 'w') as f:
        f.write('static int help(int x) { return x * 2; }\n'
                '__attribute__((noinline)) int outer(int x) { static int calls; calls++; return help(x) + calls; }\n'
                'int main(void) { int sum = 0; for (int i = 0; i < 5; i++) sum += outer(i); return sum != 35; }\n')
    assert ctx.run(['gcc', '-O2', '-g', '-o', program, source]).returncode == 0
    dump = ctx.run(['readelf', '--debug-dump=info', program]).stdout
    copy = dump[dump.index('(DW_TAG_inlined_subroutine)'):]
    assert re.search(r'DW_AT_high_pc +: 0(x0)?\n', copy.split('Abbrev Number')[0]), copy
    out = traced(ctx, program, '''
        probe process.function("help") { println(ppfunc()) }
        probe process.function("*").inline { n++ }
        global n  probe end { println(n) }''')
    assert out == 'help\n' * 5 + '5\n', out


def test_programs_here_are_named_without_a_path(ctx):
    """In @var and @cast as in process()."""
    program = built(ctx, 'values.c', 'gcc', '-O0')
    folder, name = os.path.split(program)
    script = 'probe process("%s").function("work") { println(@var("counter", "%s"), @cast($p, "struct node", "%s")->next) }'
    p = ctx.run([ctx.bin('trapless'), '-p2', '-e', script % (name, name, name)], cwd=folder)
    assert p.returncode == 0, p.stderr


def test_structures_as_arguments_unions_and_arrays_of_structures(ctx):
    everywhere(ctx, 'structs.c', r'''
        probe process.function("mk").return { println($x, " ", $y, " ", $g->v[2], " ", $return->v[3]) }
        probe process.function("anonf") {
            println($a->tag, " ", $a->i, " ", $a->c, " ", $a->lo, " ", $a->hi, " ", $a->on, " ", $a->sc, " ", $a->ps[$i]->b, " ", $a->ps[1]->a)
        }
        probe process.function("vv") { println($cp->b, " ", @cast($p, "struct anon")->ps[0]->b, " ", @cast($p, "anon")->tag, " ", @var("hidden")) }''',
               '3 8 3 2\n1 131075 3 3 2 1 -3 6 3\n20 2 1 10\n')


def test_what_is_optimised_out_is_read_where_the_message_says(ctx):
    """The nearest line of the function that has the value, and has it: gcc and clang."""
    places = [('function("work")', 'later', 10), ('statement("work@gone.c:%d")', 'n', 21)]
    with open(os.path.join(ctx.root, 'tests', 'scripts', 'values', 'gone.c')) as f:
        last = 1 + next(n for n, line in enumerate(f) if 'LINE last' in line)
    for cc in 'gcc', 'clang':
        program = built(ctx, 'gone.c', cc, '-O2')
        told = 0
        for place, name, want in places:
            place = place.replace('%d', str(last))
            p = ctx.run([ctx.bin('trapless'), '-c', program, '-e', 'probe process.%s { println($%s) }' % (place, name)])
            if p.returncode == 0:
                assert p.stdout == '%d\n' % want, p.stdout
                continue
            said = re.search(r'\[CTX_VAR_OPTIMIZED_OUT\](.|\n)*it can be read at (gone.c:\d+): (\.statement\("work@\2"\))', p.stderr)
            assert said, p.stderr
            read = traced(ctx, program, 'probe process%s { println($%s) }' % (said.group(3), name))
            assert read == '%d\n' % want, '%s %s %s' % (cc, said.group(0), read)
            told += 1
        assert told, cc + ' has both at both places'
        p = ctx.run([ctx.bin('trapless'), '-c', program, '-e', 'probe process.function("work") { println($unknown) }'])
        assert 'CTX_VAR_UNKNOWN' in p.stderr and 'can be read at' not in p.stderr, p.stderr
