# SPDX-License-Identifier: MIT
"""Types and constants by name: of the program, of headers, without a program."""
import os
from test_values import built, everywhere


def test_constants_of_enumerations(ctx):
    everywhere(ctx, 'shown.c', r'''
        probe process.function("show") {
            println(@enum("GREEN"), " ", @enum("MINUS"), " ", @enumname($p->e), " ", @enumname(-1, "enum sign"), " ",
                    @enumname($p->sign), " ", @enumname(9, "enum col"), " ", @defined(@enum("NOTHING")), " ", $p->e == @enum("GREEN"))
        }''', '5 -1 GREEN MINUS MINUS 9 0 1\n')


def test_layout_of_types(ctx):
    everywhere(ctx, 'shown.c', r'''
        probe process.function("show") {
            println(@cast_sizeof("struct in"), " ", @offsetof("struct in", s), " ", @type_defined("struct many"), " ",
                    @type_defined("struct money"), " ", @type_member_defined("struct in", name), " ",
                    @container_of(&$p->in->s, "struct in", s)->a, " ", @choose_defined($nothing, $p->in->a))
        }''', '24 16 1 0 1 1 1\n')


def test_several_modules(ctx):
    """They are tried in turn, and one that lacks the type, or is none, is passed over."""
    program = built(ctx, 'shown.c', 'gcc', '-O0')
    first = '/bin/true:/no/such:<time.h>'
    script = r'''probe begin {
        println(@cast_module_sizeof("%s", "struct timespec"), " ", @cast_module_sizeof("<time.h>:%s", "struct in"), " ",
                @enum("IPPROTO_TCP", "<time.h>:<netinet/in.h>"))
        exit() }''' % (first, program)
    p = ctx.run([ctx.bin('trapless'), '-e', script])
    assert p.returncode == 0 and p.stdout == '16 24 6\n', p
    p = ctx.run([ctx.bin('trapless'), '-p2', '-e', 'probe begin { println(@cast(1, "struct nothing", "%s")->y) }' % first])
    assert p.returncode == 1 and p.stderr.count('error[') == 1 and 'struct nothing' in p.stderr, p
    p = ctx.run([ctx.bin('trapless'), '-p2', '-e', 'probe begin { println(@cast(1, "struct nothing", "/no/such:/no/other")->y) }'])
    assert p.returncode == 1 and '/no/such' in p.stderr and '/no/other' in p.stderr, p


def test_types_of_headers(ctx):
    """A header is compiled once for each content; what cannot be compiled is said."""
    cache = os.path.join(ctx.tmp, 'cache')
    env = dict(ctx.env, XDG_CACHE_HOME=cache)
    script = r'''probe begin {
        println(@cast_module_sizeof("<netinet/in.h>", "struct sockaddr_in"), " ",
                @module_offsetof("<netinet/in.h>", "struct sockaddr_in", sin_addr), " ", @enum("IPPROTO_TCP", "<netinet/in.h>"))
        exit() }'''
    for _ in range(2):
        p = ctx.run([ctx.bin('trapless'), '-e', script], env=env)
        assert p.returncode == 0 and p.stdout == '16 4 6\n', p
        made = [n for n in os.listdir(os.path.join(cache, 'trapless')) if n.startswith('header-')]
        assert len(made) == 1, made
    p = ctx.run([ctx.bin('trapless'), '-p2', '-e', 'probe begin { println(@cast(1, "struct x", "<no/such.h>")->y) }'], env=env)
    assert p.returncode == 1 and 'error[TYPE_UNKNOWN]: <no/such.h> cannot be compiled' in p.stderr, p
    for cast in ('@cast(1, "struct x", "<netinet/in.h>")->y', '@cast_module_sizeof("<netinet/in.h>", "struct x")'):
        p = ctx.run([ctx.bin('trapless'), '-p2', '-e', 'probe begin { println(%s) }' % cast], env=env)
        assert p.returncode == 1 and 'no type `struct x` in <netinet/in.h>\n' in p.stderr, p
    program = built(ctx, 'shown.c', 'gcc', '-O0')
    p = ctx.run([ctx.bin('trapless'), '-c', program, '-e', r'''probe process.function("show") {
        println(@cast($p, "struct iovec", "<sys/uio.h><stdio.h>")->iov_len == @cast($p, "uint64_t", "<stdint.h>")[1]) }'''], env=env)
    assert p.returncode == 0 and '1' in p.stdout.splitlines(), p
