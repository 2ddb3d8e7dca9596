# SPDX-License-Identifier: MIT
"""Hand-made modules for tests of the runner: C handlers in, a .tap file out.

A module is compiled with gcc against runtime/script.h and taken apart here;
no part of the compiler under test is needed.
"""
import os
import struct
import subprocess
import zlib

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NONE = 0xffffffff
(STRINGS, IMAGES, PROBES, PARTS, CODE, DATA, RELOCS, IMPORTS, PRINTS, GLOBALS, OPTIONS, SYMBOLS,
 WARNINGS) = range(1, 14)
BEGIN, END, ERROR, TIMER, SITE, RETURN = range(1, 7)
PROGRAM = 1
LINK = '''SECTIONS {
  . = 0;
  .text : { *(.text*) *(.rodata*) }
  . = ALIGN(4096);
  .data : { data_start = .; *(.data.rel.ro*) *(.got) *(.got.plt) *(.data*) *(.bss*) data_end = .; }
  . = ALIGN(4096);
  .dynamic : { *(.dynamic) }
  .dynsym : { *(.dynsym) }
  .dynstr : { *(.dynstr) }
  .rela.dyn : { *(.rela*) }
  .hash : { *(.hash) *(.gnu.hash) }
  /DISCARD/ : { *(.comment) *(.note*) *(.eh_frame*) }
}
'''


def elf_sections(data):
    shoff, = struct.unpack_from('<Q', data, 40)
    entsize, num, strndx = struct.unpack_from('<HHH', data, 58)
    raw = [struct.unpack_from('<IIQQQQIIQQ', data, shoff + i * entsize) for i in range(num)]
    names = raw[strndx]
    out = []
    for s in raw:
        end = data.index(b'\0', names[4] + s[0])
        out.append(dict(name=data[names[4] + s[0]:end].decode(), type=s[1], addr=s[3], off=s[4], size=s[5],
                        link=s[6]))
    return out


def elf_symbols(data, kinds=(2,)):
    """name -> (value, size) of an ELF file's symbols (2: .symtab, 11: .dynsym)."""
    out = {}
    sections = elf_sections(data)
    for s in sections:
        if s['type'] not in kinds:
            continue
        strings = sections[s['link']]
        for i in range(s['size'] // 24):
            name, info, _, shndx, value, size = struct.unpack_from('<IBBHQQ', data, s['off'] + i * 24)
            end = data.index(b'\0', strings['off'] + name)
            text = data[strings['off'] + name:end].decode()
            if text and shndx:
                out.setdefault(text, (value, size, info & 15))
    return out


def build_id(data):
    for s in elf_sections(data):
        if s['name'] == '.note.gnu.build-id':
            return data[s['off'] + 16:s['off'] + s['size']]
    return b''


class Module:
    def __init__(self, source, tmp, name='test'):
        self.tmp, self.name = tmp, name
        self.strings = bytearray(b'\0')
        self.images, self.probes, self.parts, self.prints = [], [], [], []
        self.shard_size = 0
        self.globals_size = 0
        self.ring_size = 0
        self.compile(source)

    def compile(self, source):
        base = os.path.join(self.tmp, self.name)
        with open(base + '.c', 'w') as f:
            f.write('#include "runtime/script.h"\n' + source)
        with open(base + '.ld', 'w') as f:
            f.write(LINK)
        subprocess.run(['gcc', '-std=gnu11', '-O2', '-ffreestanding', '-fno-strict-aliasing', '-mgeneral-regs-only',
                        '-fPIC', '-fno-plt', '-fvisibility=default', '-fcf-protection=none', '-fno-stack-protector',
                        '-fno-asynchronous-unwind-tables', '-shared', '-nostdlib', '-Wl,-Bsymbolic',
                        '-Wl,--build-id=none', '-Wl,-T,' + base + '.ld', '-I' + ROOT,
                        '-I' + os.path.join(ROOT, 'include'), '-o', base + '.so', base + '.c'], check=True)
        data = open(base + '.so', 'rb').read()
        sections = {s['name']: s for s in elf_sections(data)}
        self.symbols = {k: v[0] for k, v in elf_symbols(data).items()}
        lo, hi = self.symbols['data_start'], self.symbols['data_end']
        self.code = data[sections['.text']['off']:][:sections['.text']['size']]
        self.code += bytes(-len(self.code) % 4096)
        assert lo == len(self.code), (lo, len(self.code))
        d = sections.get('.data')
        self.data = bytearray(data[d['off']:d['off'] + d['size']] if d and d['type'] != 8 else bytes(hi - lo))
        self.relocs, self.imports = [], []
        dyn = self.dynamic(data)
        where = {s['addr']: s['off'] for s in elf_sections(data) if s['addr']}
        for i in range(dyn.get(8, 0) // 24):
            off, info, addend = struct.unpack_from('<QQq', data, where[dyn[7]] + i * 24)
            kind, sym = info & 0xffffffff, info >> 32
            if kind == 8:
                struct.pack_into('<Q', self.data, off - lo, addend)
                self.relocs.append(off - lo)
            elif kind in (6, 1):
                at = where[dyn[6]] + sym * 24
                name, _, _, shndx, value, _ = struct.unpack_from('<IBBHQQ', data, at)
                s = where[dyn[5]] + name
                text = data[s:data.index(b'\0', s)].decode()
                if shndx:
                    struct.pack_into('<Q', self.data, off - lo, value)
                    self.relocs.append(off - lo)
                else:
                    self.imports.append((self.string(text), off - lo))
            else:
                raise ValueError('relocation %d' % kind)

    @staticmethod
    def dynamic(data):
        phoff, = struct.unpack_from('<Q', data, 32)
        num, = struct.unpack_from('<H', data, 56)
        out = {}
        for i in range(num):
            p = struct.unpack_from('<IIQQQQQQ', data, phoff + i * 56)
            if p[0] == 2:
                for j in range(p[5] // 16):
                    tag, value = struct.unpack_from('<QQ', data, p[2] + j * 16)
                    out.setdefault(tag, value)
        return out

    def string(self, text):
        at = len(self.strings)
        self.strings += text.encode() + b'\0'
        return at

    def image(self, path, program=True, with_id=True):
        data = open(path, 'rb').read()
        ident = build_id(data) if with_id else b''
        self.images.append(struct.pack('<II32sIIQ', self.string(path), PROGRAM if program else 0, ident, len(ident),
                                       0, os.path.getsize(path)))
        return len(self.images) - 1

    def format(self, text):
        self.prints.append(struct.pack('<4I', self.string(text), 0, 0, 0))
        return len(self.prints) - 1

    def probe(self, kind, handler, image=NONE, addr=0, arg=0, flags=0, process=NONE, point='', func='', parts=(),
              on_entry=None, call_data=0):
        first = len(self.parts)
        self.parts += [struct.pack('<QQ', *p) for p in parts]
        self.probes.append(struct.pack(
            '<IIIIQqIIIIIIII4I', kind, flags, process, image, addr, arg, first, len(parts),
            NONE if handler is None else self.symbols[handler], NONE if on_entry is None else self.symbols[on_entry],
            call_data, self.string(point), self.string(func), self.string(''), NONE, 0, 0, 0))

    def write(self, path=None, version=2, machine=62):
        path = path or os.path.join(self.tmp, self.name + '.tap')
        options = struct.pack('<12I', self.globals_size, self.shard_size, 0, 512, 1000, 10, 0, 100, self.ring_size, 512,
                              0, 0)
        name = self.string(self.name)
        u32 = lambda items: b''.join(struct.pack('<I', i) for i in items)
        sections = [
            (STRINGS, len(self.strings), bytes(self.strings)), (IMAGES, len(self.images), b''.join(self.images)),
            (PROBES, len(self.probes), b''.join(self.probes)), (PARTS, len(self.parts), b''.join(self.parts)),
            (CODE, len(self.code), self.code), (DATA, len(self.data), bytes(self.data)),
            (RELOCS, len(self.relocs), u32(self.relocs)),
            (IMPORTS, len(self.imports), b''.join(struct.pack('<II', *i) for i in self.imports)),
            (PRINTS, len(self.prints), b''.join(self.prints)), (OPTIONS, 1, options)]
        table, body = b'', b''
        at = 48 + 24 * len(sections)
        for kind, count, content in sections:
            pad = -(at + len(body)) % 16
            body += bytes(pad)
            table += struct.pack('<IIQQ', kind, count, at + len(body), len(content))
            body += content
        rest = table + body
        head = struct.pack('<IHHBBHIQIIQQ', 0x50415481, version, machine, 64, 0, len(sections), zlib.crc32(rest),
                           48 + len(rest), name, 0, 1, 2)
        with open(path, 'wb') as f:
            f.write(head + rest)
        return path


COUNT = '''
int hit(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	const struct tl_env *env = p->data;
	struct tl_block *b = tl_count_enter(env, self);
	(void)regs;
	if (b)
		tl_shard_add(env->view, b, 0, 1);
	return 0;
}
int fin(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	struct tl_run run;
	if (!tl_run_enter(&run, p->data, regs, self))
		return 0;
	int64_t n = tl_shard_get(&run, 0);
	tl_printf_longs(&run, 0, &n, 1);
	tl_run_leave(&run);
	return 0;
}
'''


def counter(tmp, program, functions, library=None, name='count', flags=0, source=COUNT, begin=None):
    """A module that counts calls of functions and prints `hits N` at the end."""
    m = Module(source, tmp, name)
    m.shard_size = 64
    m.format('hits %d\n')
    image = m.image(library or program, program=library is None)
    data = open(library or program, 'rb').read()
    symbols = elf_symbols(data)
    symbols.update(elf_symbols(data, (11,)))
    for f in functions:
        value, size, _ = symbols[f]
        m.probe(SITE, 'hit', image, value, flags=flags, point='function("%s")' % f, func=f, parts=[(value, size)])
    if begin:
        m.probe(BEGIN, begin, point='begin')
    m.probe(END, 'fin', point='end')
    return m.write()
