# SPDX-License-Identifier: MIT
"""Source lines of addresses, as addr2line(1) has them."""
import re
import subprocess

from scripted import launch
from support import NO_BREAKPOINTS, PAIR

BUILDS = [('gcc', ('-O2', '-g')), ('clang', ('-O2', '-g')), ('gcc', ('-O0', '-g', '-gdwarf-4')), ('clang', ('-O1', '-gdwarf-5', '-ffunction-sections'))]
FIXED = ('-fno-pie', '-no-pie')


def text_of(path):
    """Start and size of its code."""
    out = subprocess.run(['readelf', '-SW', path], stdout=subprocess.PIPE, text=True, check=True).stdout
    found = re.search(r' \.text +PROGBITS +(\w+) +\w+ +(\w+)', out)
    return int(found[1], 16), int(found[2], 16)


def by_addr2line(path, addresses):
    out = subprocess.run(['addr2line', '-e', path], input=''.join('%#x\n' % a for a in addresses), stdout=subprocess.PIPE, text=True, check=True)
    lines = [line.partition(' (discriminator')[0] for line in out.stdout.splitlines()]
    return ['%#x' % a if '?' in line or line.endswith(':0') else line for a, line in zip(addresses, lines)]


def check_every_byte(ctx, cc, cflags):
    path = ctx.target('calls', cc=cc, cflags=cflags + FIXED)
    start, size = text_of(path)
    script = '''probe process("%s").function("main") {
        for (a = %d; a < %d; a++) {
            println(usymfileline(a))
            if (usymfileline(a) != (usymline(a) == usymfile(a) ? usymfile(a) : usymfile(a) . ":" . usymline(a))) println("parts")
        }
    }''' % (path, start, start + size)
    r = launch(ctx, script, path, '-DMAXACTION=1000000')
    want = by_addr2line(path, range(start, start + size))
    assert r.script.splitlines() == want, r
    assert sum('calls.c:' in line for line in want) > 50 and sum(line.startswith('0x') for line in want) > 10


def test_every_byte_as_addr2line(ctx):
    for cc, cflags in BUILDS:
        check_every_byte(ctx, cc, cflags)


test_every_byte_as_addr2line.variants = PAIR


def check_stack(ctx, *options):
    """Callers are shown where the call is, not behind it."""
    path = ctx.target('calls', cflags=('-O2', '-g'))
    script = '''probe process("%s").function("leaf") { print_ubacktrace_fileline(); println("--"); print(sprint_ubacktrace_fileline()); exit() }''' % path
    r = launch(ctx, script, path + ' 1', '-DMAXSTRINGLEN=4000', *options)
    printed, made = r.script.split('--\n')
    assert [line.partition(' : ')[2] or line[1:] for line in printed.splitlines()] == made.splitlines(), r
    source = open(ctx.root + '/tests/targets/calls.c').read().splitlines()
    leaf, first, main = (re.fullmatch(r'(\w+)\+\S+ at (.*/calls\.c):(\d+) \[.*calls[^/]*\]', line) for line in made.splitlines()[:3])
    assert (leaf[1], first[1], main[1]) == ('leaf', 'first', 'main'), r
    assert 'leaf(n, 1, 2, 3' in source[int(first[3]) - 1] and 'sum += first(i)' in source[int(main[3]) - 1], r
    assert 'calls.c' not in made.splitlines()[-1], r


def test_stack(ctx):
    check_stack(ctx)


test_stack.variants = PAIR


def test_stack_from_registers(ctx):
    """Of who stands at a place with such registers; here it is the caller."""
    path = ctx.target('calls', cflags=('-O2', '-g'))
    here = 'uaddr(), register("rsp"), register("rbp")'
    caller = 'user_long(register("rsp")), register("rsp") + 8, register("rbp")'
    for name, at in (('', ''), ('_fileline', ' at ')):
        script = 'probe process("%s").function("leaf") { print_ubacktrace%s(); println("--"); ' % (path, name)
        script += 'print_ubacktrace%s(%s); println("--"); print_ubacktrace%s(%s); exit() }' % (name, here, name, caller)
        r = launch(ctx, script + ' probe begin { print_ubacktrace%s(1, 2, 3) }' % name, path + ' 1', '-DMAXSTRINGLEN=4000')
        own, same, above = (text.splitlines() for text in r.script.split('--\n'))
        assert own == same and len(own) >= 3 and at in own[0], r
        assert above[1:] == own[2:] and ' : first+' in above[0], r


test_stack_from_registers.variants = PAIR


def test_stack_under_preload(ctx):
    check_stack(ctx, '--preload')


test_stack_under_preload.jumps_only = NO_BREAKPOINTS


def test_where_nothing_is_known(ctx):
    path = ctx.target('calls', cflags=('-O2',) + FIXED)
    r = launch(ctx, '''probe process("%s").function("leaf") { println(usymfileline(uaddr()) == sprintf("0x%%x", uaddr()), usymfile(5), usymline(6))
        print_ubacktrace_fileline(); println("--"); print_ubacktrace(); exit() }
        probe begin { println(usymfileline(7)) }''' % path, path + ' 1')
    head, stack = r.script.split('\n', 2)[:2], r.script.split('\n', 2)[2].split('--\n')
    assert head == ['0x7', '10x50x6'] and stack[0].splitlines()[:3] == stack[1].splitlines()[:3], r


def test_in_the_runner(ctx):
    """Handlers that do not run in the program."""
    path = ctx.target('calls', cflags=('-O2', '-g') + FIXED)
    start, size = text_of(path)
    at, line = next((a, line) for a, line in zip(range(start, start + size), by_addr2line(path, range(start, start + size))) if 'calls.c' in line)
    r = launch(ctx, 'probe process("%s").end { println(symfileline(%d), " ", symfile(%d), " ", symline(%d)) }' % (path, at, at, at), path)
    assert r.script == '%s %s %s\n' % (line, *line.rsplit(':', 1)), r
