# SPDX-License-Identifier: MIT
"""Files of the system that the proofs run on, their instructions and functions, and sessions that probe them."""
import functools
import glob
import os
import re
import shutil
import struct
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, 'tests', 'process'))
import tap  # noqa: E402

OPTIONAL = 4
COUNT = tap.COUNT + '''
int hit_return(struct tl_ret_call *c, struct tl_regs *regs, struct tl_thread *self)
{
	const struct tl_env *env = c->rp->data;
	struct tl_block *b = tl_count_enter(env, self);
	(void)regs;
	if (b)
		tl_shard_add(env->view, b, 0, 1);
	return 0;
}
'''
LIBRARIES = '/lib/x86_64-linux-gnu', '/usr/lib/x86_64-linux-gnu', '/lib64', '/usr/lib64'
PROGRAMS = '/usr/bin:/bin:/usr/sbin:/sbin'


def find(name):
    """The real path of a program or library, None: it is not installed."""
    if '.so' in name:
        found = (os.path.join(d, name) for d in LIBRARIES)
        path = next((p for p in found if os.path.exists(p)), None)
    elif name == 'cc1':
        path = max(glob.glob('/usr/lib*/gcc/*/*/cc1'), default=None)
    else:
        path = shutil.which(name, path=PROGRAMS)
    return path and os.path.realpath(path)


class Site:
    __slots__ = ('file', 'addr', 'rung', 'function')

    def __init__(self, file, addr, rung, function):
        self.file, self.addr, self.rung, self.function = file, addr, rung, function


@functools.lru_cache(maxsize=4)  # the C library is in every program
def instructions(tool, path):
    """Every instruction of a file that can be probed, as `trapless --coverage` lists them; and how many cannot."""
    p = subprocess.run([tool, '--coverage', path, '-v'], stdout=subprocess.PIPE, text=True, check=True)
    sites, refused = [], 0
    for line in p.stdout.splitlines():
        if not line.startswith('0x'):
            continue
        words = line.split()
        if words[1] == 'refused':
            refused += 1
            continue
        function = tuple(int(w, 16) for w in words[-1].split('+')) if words[-2] == 'in' else None
        sites.append(Site(path, int(words[0], 16), words[1], function))
    return sites, refused


def functions(path):
    """(start, size) of each function in .eh_frame_hdr's table, whose rows have the form that every linker writes."""
    with open(path, 'rb') as f:
        data = f.read()
    phoff, = struct.unpack_from('<Q', data, 32)
    num, = struct.unpack_from('<H', data, 56)
    segments = [struct.unpack_from('<IIQQQQQQ', data, phoff + 56 * i) for i in range(num)]
    at = lambda v: next(s[2] + v - s[3] for s in segments if s[0] == 1 and 0 <= v - s[3] < s[5])
    head = next((s[3] for s in segments if s[0] == 0x6474e550), None)
    if head is None:
        return []
    rows, = struct.unpack_from('<I', data, at(head) + 8)
    out = []
    for i in range(rows):
        start, fde = struct.unpack_from('<ii', data, at(head) + 12 + 8 * i)
        size, = struct.unpack_from('<I', data, at(head + fde) + 12)
        out.append((head + start, size))
    return out


class Session:
    """Modules that count hits at many places, and the program run under them."""

    def __init__(self, ctx, work):
        self.ctx, self.work = ctx, work
        self.number = self.hits = 0
        self.bare = self.run_bare()

    def environment(self):
        return dict(LC_ALL='C', HOME=self.ctx.tmp, PYTHONHASHSEED='1', PERL_HASH_SEED='0')

    def run_bare(self):
        p = subprocess.run(self.work.argv, cwd=self.ctx.tmp, env=dict(os.environ, **self.environment()),
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        assert p.returncode == 0 and p.stdout, (self.work.argv, p)
        return p.returncode, p.stdout, p.stderr

    def module(self):
        """An empty one; add() and add_return() fill it."""
        m = tap.Module(COUNT, self.ctx.tmp, 'every')
        m.shard_size = 64
        m.format('hits %d\n')
        m.files = {f: m.image(f, program=f == self.work.path) for f in self.work.files}
        m.probe(tap.END, 'fin', point='end')
        return m

    @staticmethod
    def add(m, site):
        parts = [site.function] if site.function else []
        m.probe(tap.SITE, 'hit', m.files[site.file], site.addr, flags=OPTIONAL, point='0x%x' % site.addr, parts=parts)

    @staticmethod
    def add_return(m, path, start, size):
        m.probe(tap.SITE, 'hit', m.files[path], start, flags=OPTIONAL, point='0x%x' % start, parts=[(start, size)])
        m.probe(tap.RETURN, 'hit_return', m.files[path], start, flags=OPTIONAL, point='0x%x.return' % start, parts=[(start, size)])

    def run(self, m, timeout):
        """Run the program under the module: it must do what it did without. Returns what was said."""
        out = os.path.join(self.ctx.tmp, 'hits')
        words = ' '.join("'%s'" % w for w in self.work.argv)
        argv = [self.ctx.bin('trapless-run'), m.write(), '-v', '-o', out, '-c', words]
        p = subprocess.run(argv, cwd=self.ctx.tmp, env=dict(os.environ, **self.environment(), **self.ctx.env),
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout)
        said, own = [], []
        for line in p.stderr.decode(errors='replace').splitlines(True):
            (said if re.match('trapless-run: |WARNING: |  ', line) else own).append(line)
        said = ''.join(said)
        got = p.returncode, p.stdout, ''.join(own).encode()
        assert got == self.bare, 'the program differs under %s: status %d, %d bytes; bare %d, %d bytes\n%s\n%s' % (
            m.name, got[0], len(got[1]), self.bare[0], len(self.bare[1]), got[2].decode()[-500:], said[-1500:])
        with open(out) as f:
            self.hits += int(f.read().split()[1])
        return said
