# SPDX-License-Identifier: MIT
"""Files whose segments share pages of the file, as lld and mold lay small ones out: the file's first page is mapped more
than once, and belongs to one image all the same."""
import os
import shutil
import subprocess

import scripted
from support import PAIR, start

HEAD = '''PHDRS {
  headers PT_PHDR PHDRS;
  %(interpreter)s
  ro PT_LOAD FILEHDR PHDRS FLAGS(%(ro)d);
  text PT_LOAD FLAGS(5);
  data PT_LOAD FLAGS(6);
  dynamic PT_DYNAMIC;
  note PT_NOTE;
  frames PT_GNU_EH_FRAME;
  stack PT_GNU_STACK FLAGS(6);
}
SECTIONS {
  . = %(base)s + SIZEOF_HEADERS;
  .interp : { *(.interp) } :ro %(interp)s
  .note.gnu.build-id : { *(.note.gnu.build-id) } :ro :note
  .gnu.hash : { *(.gnu.hash) } :ro
  .dynsym : { *(.dynsym) } :ro
  .dynstr : { *(.dynstr) } :ro
  .gnu.version : { *(.gnu.version) } :ro
  .gnu.version_r : { *(.gnu.version_r) } :ro
  .rela.plt : { *(.rela.plt) } :ro
  .rela.dyn : { *(.rela.*) } :ro
  .rodata : { *(.rodata .rodata.*) } :ro
  .eh_frame_hdr : { *(.eh_frame_hdr) } :ro :frames
  .eh_frame : { KEEP(*(.eh_frame)) } :ro
'''
# On the next page, at the same place of the file.
NEXT = '  . = ALIGN(CONSTANT(MAXPAGESIZE)) + (. & (CONSTANT(MAXPAGESIZE) - 1));\n'
TEXT = NEXT + '''  .init : { KEEP(*(.init)) } :text
  .plt : { *(.plt) } :text
  .plt.got : { *(.plt.got) } :text
  .plt.sec : { *(.plt.sec) } :text
  .text : { *(.text .text.*) } :text
  .fini : { KEEP(*(.fini)) } :text
'''
DATA = NEXT + '''  .init_array : { KEEP(*(.init_array .ctors)) } :data
  .fini_array : { KEEP(*(.fini_array .dtors)) } :data
  .dynamic : { *(.dynamic) } :data :dynamic
  .got : { *(.got) *(.got.plt) } :data
  .data : { *(.data .data.*) } :data
  .bss : { *(.bss .bss.*) *(COMMON) } :data
'''
END = '  /DISCARD/ : { *(.note.gnu.property) *(.note.ABI-tag) *(.comment) }\n}\n'
LAYOUTS = {'text then data': TEXT + DATA, 'data then text': DATA + TEXT}


def build(ctx, source, parts, *flags, base='0', ro=4):
    """A program, or with -shared a library, of these segments."""
    shared = '-shared' in flags
    script, out = os.path.join(ctx.tmp, 'layout.ld'), os.path.join(ctx.tmp, source)
    with open(script, 'w') as f:
        f.write(HEAD % dict(base=base, ro=ro, interpreter='' if shared else 'interp PT_INTERP;', interp='' if shared else ':interp'))
        f.write(parts + END)
    subprocess.run(['gcc', '-g', '-O1', *flags, '-o', out, os.path.join(ctx.root, 'tests', 'targets', source + '.c'),
                    '-Wl,-T,' + script, '-Wl,-z,max-page-size=4096', '-Wl,--no-warn-rwx-segments'], check=True)
    return out


def firsts(pid, path):
    """How often the file's first page is mapped."""
    with open('/proc/%d/maps' % pid) as f:
        return sum(line.split()[2] == '00000000' for line in f if line.rstrip().endswith(path))


COUNT = '''global n, r probe process.function("work") { n++ } probe process.function("work").return { r += $return }
    probe end { println(n, " ", r) }'''
CALLS = 200
SEEN = '%d %d\n' % (CALLS, sum(i * 3 + 1 for i in range(CALLS)))


def counted(ctx, path):
    """By a session that starts it, and by one that comes."""
    r = scripted.launch(ctx, COUNT, '%s 1 %d' % (path, CALLS))
    assert r.script == SEEN, (r.script, r.stderr)
    p = start(ctx, path, 1, CALLS, 0, stdin=-1)
    s = scripted.attach(ctx, COUNT, pid=p.pid)
    times = firsts(p.pid, path)
    p.stdin.write('\n')
    p.stdin.close()
    assert p.wait(timeout=300) == 7
    assert scripted.finish(s, sig=None)[0] == SEEN
    return times


def test_programs(ctx):
    for parts in LAYOUTS.values():
        assert counted(ctx, build(ctx, 'count', parts)) == 3
    assert counted(ctx, build(ctx, 'count', TEXT + DATA, '-no-pie', base='0x400000')) == 3


def test_first_page_executable(ctx):
    assert counted(ctx, build(ctx, 'count', TEXT + DATA, ro=5)) == 3


def test_linkers(ctx):
    """Real ones, where they are there."""
    for linker in 'gold', 'lld', 'mold':
        if shutil.which('ld.' + linker):
            for flags in ((), ('-no-pie',)) + ((('-Wl,--rosegment',),) if linker == 'gold' else ()):
                counted(ctx, ctx.target('count', ('-O1', '-g') + flags, ldflags=('-pthread', '-fuse-ld=' + linker)))


def test_first_page_beside(ctx):
    """A library of that layout, and a program that maps its first page alone, right below it."""
    lib = build(ctx, 'plugin', TEXT + DATA, '-shared', '-fPIC')
    script = '''global n probe process.library("%s").function("plugin") { n++ } probe end { println(n) }''' % lib
    r = scripted.launch(ctx, script, '%s %s %d' % (ctx.target('beside'), lib, CALLS), input='go\n')
    assert r.script == '%d\n' % (CALLS + 1), (r.script, r.stderr)
    p = start(ctx, ctx.target('beside'), lib, CALLS, stdin=-1)
    s = scripted.attach(ctx, script, pid=p.pid)
    assert firsts(p.pid, lib) == 4
    p.stdin.write('go\n')
    p.stdin.close()
    assert p.wait(timeout=300) == 7
    assert scripted.finish(s, sig=None)[0] == '%d\n' % CALLS


RETURNS = '''global n, r  probe process.library("%(lib)s").function("plugged") { n++ }
    probe process.library("%(lib)s").function("plugged").return { r++ }  probe end { println(n, " ", r) }'''


def test_text_first(ctx):
    """Its loader maps such a library as text from end to end, and more than the file has, before its data."""
    shared = '-O2', '-g', '-shared', '-fPIC'
    for flags in ('-Wl,-z,noseparate-code',), ('-Wl,-z,noseparate-code', '-DROOM=3000000'), ('-fuse-ld=gold', '-DROOM=3000000'):
        if flags[0] != '-fuse-ld=gold' or shutil.which('ld.gold'):
            lib = ctx.target('plugged', shared + flags)
            r = scripted.launch(ctx, RETURNS % dict(lib=lib), ctx.target('linked', ldflags=(lib,)))
            assert r.script == '101 101\n', (flags, r.script, r.stderr)


test_programs.variants = test_first_page_beside.variants = PAIR
