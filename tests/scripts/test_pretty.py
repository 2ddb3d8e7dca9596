# SPDX-License-Identifier: MIT
"""Variables as text, as SystemTap's pass 2 makes it of the same programs, and values that are not in memory."""
import os
import re

from test_values import everywhere, built, traced

ALL = (r"{.uc='\310', .c='c', .sc='\375', .b=1, .e=5, .sign=-1, .fl=?, .in=%s, .pin=PTR, <union>=%s, <class>=%s, .f3=5, .s5=-6, "
       r".bytes=%s, .sh=%s, .ins=%s, .fn=0x0, .op=0x0, .texts=%s, .flex=%s}")
SHALLOW = ALL % (('{...}',) * 3 + ('[...]',) * 5)
DEEP = ALL % (r'{.a=1, .name="in", .s="s\n"}', '{.i=327684, .lo=4}', '{.big=1099511627776}', '"byt"', '[-1, ...]',
              '[{.a=2, .name="x", .s="y"}, ...]', '["t0", ...]', '"flex"')
MANY = '{.m=%s, ' + ', '.join('.m%d=%d' % (n, 2 if n == 2 else 0) for n in range(2, 33)) + '%s, ...}'

SCRIPT = r'''
    function same(text:string, at:long) { return str_replace(text, sprintf("%p", at), "PTR") }
    probe process.function("show") {
        println(same($p$, $p->pin)); println(same($p$$, $p->pin)); println($pp$ == $p$)
        println($p->in$, $p->in$$, $p->pin$, $p->op$, $p->c$, $p->e$, $p->f3$, $p->s5$, $p->fl$)
        println($p->sh$, $p->sh$$, $p->ins$, $p->ins[0]$, $p->bytes$, $p->texts[1]$, $argv$, " ", $v$)
    }
    probe process.function("show") {
        println($f$ == sprintf("<function>:%p", $f), $p->fn$)
        println($m$); println($m$$)
        println(@cast($p, "struct all")->pin$, @var("global_in")$$, " ", @cast(16, "struct in")$, @cast(16, "struct in")->s$)
        println(@var("mine"), " ", $mine)
    }'''


def test_text_of_structures(ctx):
    shallow_many = MANY % ('[...]', ', .m33=0')
    everywhere(ctx, 'shown.c', SCRIPT, '\n'.join([
        SHALLOW, DEEP, '1',
        '{.a=1, .name=[...], .s="s\\n"}{.a=1, .name="in", .s="s\\n"}{.a=7, .name=[...], .s="g"}' + "{...}'c'55-6?",
        '[-1, ...][-1, ...][{...}, ...]{.a=2, .name=[...], .s="y"}"byt""t1""arg0" 0x10',
        '1<function>:0x0', shallow_many, MANY % ('[8, ...]', ''),
        '{.a=7, .name=[...], .s="g"}{.a=7, .name="seven", .s="g"} ERRORERROR', '12 12']) + '\n')


def test_bits_of_characters_are_numbers(ctx):
    everywhere(ctx, 'shown.c', 'probe process.function("halves") { println($n$, $p$$, $p->a$, $p->b$, $p->c$, $n->a, $n->b) }',
               "{.a=-3, .b=13, .c='n'}" * 2 + "-313'n'-313\n")


def test_lists_of_variables(ctx):
    """At the entry of optimised and of plain code a structure in registers has its members, a double its bits."""
    everywhere(ctx, 'shown.c', r'''
        probe process.function("small") {
            println($$parms$); println($$parms$$ == $$parms$, " ", $p->x, " ", $p->y, " ", $p->z)
            printf("%x %x\n", $d, $f)
            println(isinstr($$parms, "p={...} d=0x4004000000000000 f=0x3e800000 c=0x7a"))
        }
        probe process.function("both").return { println($$return$, $$return, "|", $return$$, $return->z) }
        probe process.function("half").return { printf("%s %x\n", $$return, $return) }
        probe process.function("small").return { println($$parms$$, $p->z, "|", $$return$) }''',
               "p={.x=10, .y=-20, .z=30} d=? f=? c='z'\n1 10 -20 30\n4004000000000000 3e800000\n1\n"
               "p={.x=10, .y=-20, .z=30} d=? f=? c='z'30|return=114\n"
               'return={.x=1, .y=2, .z=-3}|{.x=1, .y=2, .z=-3}-3\nreturn=0x4012000000000000 4012000000000000\n')


def test_lists_without_debug_information(ctx):
    """They are empty, and that is told, once for each: a call graph serves stripped programs too."""
    program = ctx.target('../examples/shop', cflags=('-O1', '-s', '-rdynamic'))
    script = """probe process.function("sell"), process.function("m*n") { println("[", $$parms, $$vars$, $$locals, "]") exit() }
        probe process.function("sell").return, process.function("m*n").return { println("[", $$return, $$parms, "]") exit() }"""
    p = ctx.run([ctx.bin('trapless'), '-o', 'out', '-e', script, '-c', program + ' 1 1'], timeout=300)
    assert p.returncode == 0 and open(ctx.tmp + '/out').readline() == '[]\n', p
    empty = re.findall(r'^warning\[DEBUGINFO_NONE\]: `(\S+)` is empty here: no debug information for ' + re.escape(program), p.stderr, re.M)
    assert empty == ['$$parms', '$$vars', '$$locals', '$$return', '$$parms'], p.stderr
    assert '= next step: build %s with -g' % os.path.basename(program) in p.stderr, p.stderr
    p = ctx.run([ctx.bin('trapless'), '-p2', '-e', 'probe process.function("sell") { println($$nothing) }', '-c', program])
    assert p.returncode == 1 and 'CTX_VAR_UNKNOWN' in p.stderr, p


def test_variables_of_modules(ctx):
    """@var and @cast name the program, or a library by its name."""
    program = built(ctx, 'shown.c', 'gcc', '-O0')
    out = traced(ctx, program, r'''
        probe process.function("half") {
            println(@var("global_in@shown.c", "%s")->a, " ", @var("global_in", "%s")$, " ", @cast(&$p, "struct in", "%s")->a)
        }'''.replace('&$p', '&@var("global_in")') % ((program,) * 3))
    assert out == '7 {.a=7, .name=[...], .s="g"} 7\n', out
