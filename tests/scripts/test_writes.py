# SPDX-License-Identifier: MIT
"""Guru mode: variables of compiled programs that handlers change."""
from test_values import BUILDS, built


def told(ctx, program, script, *options, status=0):
    """What the program prints while it is traced, and what is said about the script."""
    p = ctx.run([ctx.bin('trapless'), '-g', *options, '-c', program, '-e', script], timeout=300)
    assert p.returncode == status, p
    return p.stdout, p.stderr


def test_variables_are_changed(ctx):
    """Registers, memory, bit-fields, elements, what pointers lead to, globals, and the result."""
    script = r'''
        probe process.function("change") {
            $by = 40; $by += 2; $small = 0x1ff; $p->s = -300; $p->c++; $p->l -= 1
            $p->f->low = 6; $p->f->mid--; $p->f->rest = 0x7f
            i = 0; $p->row[++i] = 70; $p->row[i + 2] *= 5; $p->next->row[0] |= 0x100
            println($p->s, " ", $p->f->mid, " ", $p->row[1]++, " ", ++$p->row[1])
        }
        probe process.function("change").return { $return++; @var("counted@writes.c") = 100; @var("limit@writes.c") <<= 1 }'''
    want = ('-300 -3 70 72\n42 255 -300 121 1099511627775 6 -3 63 72 20 265\n48 100\n'
            '-300 -4 70 72\n42 255 -300 122 1099511627774 6 -4 63 72 100 265\n53 100 text\n')
    for cc, level in BUILDS:
        out, _ = told(ctx, built(ctx, 'writes.c', cc, level), script)
        assert sorted(out.splitlines()) == sorted(want.splitlines()), (cc, level, out)


def test_what_cannot_be_changed_is_said(ctx):
    """A fault ends the handler only; constants, addresses, saved values and structures are refused."""
    program = built(ctx, 'writes.c', 'gcc', '-O0')
    out, err = told(ctx, program, r'''
        probe process.function("change") { try { @cast(16, "struct item")->l = 1 } catch (m) { println(m) } }
        probe process.function("name") { try { $text[0] = 65 } catch { println("read only") } }''')
    assert out.count('write fault [man error::fault] at 0x18\n') == 2 and 'read only\n' in out and ' text\n' in out, out
    for text, tag in (('&$p = 1', 'ASSIGN_TARGET'), ('$p->f = 1', 'CTX_VAR_KIND'), ('$p$ = "x"', 'ASSIGN_TARGET'),
                      ('$by = "x"', 'TYPE_MISMATCH')):
        _, err = told(ctx, program, 'probe process.function("change") { %s }' % text, status=1)
        assert 'error[%s]' % tag in err, (text, err)
    _, err = told(ctx, program, 'probe process.function("change").return { $by = 1 }', status=1)
    assert 'error[ASSIGN_TARGET]' in err and 'saved at entry' in err, err
