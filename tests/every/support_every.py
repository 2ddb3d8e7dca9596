# SPDX-License-Identifier: MIT
"""Files of the system that the proofs run on, their instructions and functions, and sessions that probe them."""
import functools
import glob
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, 'tests', 'process'))
import tap  # noqa: E402

WHOLE = float('inf')
OPTIONAL = 4
COUNT_EACH = '''
static int count(const struct tl_env *env, struct tl_thread *self)
{
	struct tl_block *b = tl_count_enter(env, self);

	if (b)
		tl_shard_add(env->view, b, env->number * 8, 1);
	return 0;
}
int hit(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)regs;
	return count(p->data, self);
}
int hit_return(struct tl_ret_call *c, struct tl_regs *regs, struct tl_thread *self)
{
	(void)regs;
	return count(c->rp->data, self);
}
int fin(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	struct tl_run run;

	if (!tl_run_enter(&run, p->data, regs, self))
		return 0;
	for (uint32_t i = 0; i < %d; i++) {
		int64_t n = tl_shard_get(&run, i * 8);

		tl_printf_longs(&run, 0, &n, 1);
	}
	tl_run_leave(&run);
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


def chosen(names):
    """The programs of a test."""
    asked = os.environ.get('EVERY_PROGRAMS')
    return asked.split(',') if asked else names


def seconds(usual):
    """How long a program may take in a test. WHOLE: until all is done."""
    return float(os.environ.get('EVERY_SECONDS', usual)) or WHOLE


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


STUCK = 300  # seconds in which a session's processes used no second of a processor
ENDLESS = 300  # seconds of processor for what takes one without us


def processor_time(session):
    """Of all processes of that session and their children that have ended, in seconds."""
    ticks = 0
    for path in glob.glob('/proc/[0-9]*/stat'):
        try:
            with open(path) as f:
                words = f.read().rsplit(')', 1)[1].split()
        except OSError:  # it has ended
            continue
        if int(words[3]) == session:
            ticks += sum(map(int, words[11:15]))
    return ticks / os.sysconf('SC_CLK_TCK')


class TooMuch(AssertionError):
    """More of a processor's time than it may have."""


def run_watched(argv, endless=ENDLESS, **kw):
    """Run it to its end, however long a busy machine makes it wait: only what it does itself counts, `endless` seconds of
    processor at most. Returns (status, standard output, standard error)."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True, **kw)
        used, since = 0, time.monotonic()
        while p.poll() is None:
            try:
                p.wait(timeout=1)
            except subprocess.TimeoutExpired:
                now = processor_time(p.pid)
                if now > used + 1:  # those who only wait use a little, too
                    used, since = now, time.monotonic()
                if used > endless or time.monotonic() - since > STUCK:
                    os.killpg(p.pid, signal.SIGKILL)
        out.seek(0)
        err.seek(0)
        if p.returncode == -signal.SIGKILL:
            said = err.read().decode(errors='replace')[-1500:]
            if used <= endless:
                raise subprocess.TimeoutExpired(argv, STUCK, '%.0f s of processor' % used, said)
            raise TooMuch('endless after %.0f s of processor\n%s' % (used, said))
        return p.returncode, out.read(), err.read()


# A line of trapless-run's, not of the program's; with --explain one for each probe begins with its rung.
RUNGS = 'retarget|whole|pun|evict|window|trap'
SAID = re.compile(r'trapless-run: |WARNING: |ERROR: |  |(%s|refused) ' % RUNGS)


class Session:
    """Modules that count hits at many places, and the program run under them."""

    def __init__(self, ctx, work):
        self.ctx, self.work = ctx, work
        self.bare = self.run_bare()

    def environment(self):
        kept = {k: v for k, v in os.environ.items() if not k.startswith(('PYTHON', 'PERL'))}
        return dict(kept, LC_ALL='C', HOME=self.ctx.tmp, PYTHONHASHSEED='1', PERL_HASH_SEED='0')

    def run_bare(self):
        bare = run_watched(self.work.argv, cwd=self.ctx.tmp, env=self.environment())
        assert bare[0] == 0 and bare[1], (self.work.argv, bare)
        return bare

    def module(self, source):
        m = tap.Module(source, self.ctx.tmp, 'every')
        m.files = {f: m.image(f, program=f == self.work.path) for f in self.work.files}
        return m

    def at_sites(self, sites):
        """A module that counts all their hits."""
        m = self.module(tap.COUNT)
        m.shard_size = 64
        m.format('hits %d\n')
        for s in sites:
            m.probe(tap.SITE, 'hit', m.files[s.file], s.addr, flags=OPTIONAL, point='0x%x' % s.addr,
                    parts=[s.function] if s.function else [])
        m.probe(tap.END, 'fin', point='end')
        return m

    def at_functions(self, functions):
        """A module that counts entries and returns of each (file, start, size), and its points in that order."""
        points = ['%s:0x%x%s' % (os.path.basename(f), start, end) for f, start, _ in functions for end in ('', '.return')]
        m = self.module(COUNT_EACH % len(points))
        m.shard_size = 8 * len(points)
        m.ring_size = 1 << 20
        m.format('%d\n')
        names = iter(points)
        for f, start, size in functions:
            for kind, handler in (tap.SITE, 'hit'), (tap.RETURN, 'hit_return'):
                m.probe(kind, handler, m.files[f], start, flags=OPTIONAL, point=next(names), parts=[(start, size)])
        m.probe(tap.END, 'fin', point='end')
        return m, points

    def all_functions(self):
        return [(f, start, size) for f in self.work.files for start, size in functions(f)]

    def run(self, m, option='-v'):
        """Run the program under the module: it must do what it did without. Returns what was said, and the numbers counted."""
        out = os.path.join(self.ctx.tmp, 'hits')
        words = ' '.join("'%s'" % w for w in self.work.argv)
        argv = [self.ctx.bin('trapless-run'), m.write(), option, '-o', out, '-c', words]
        env = self.ctx.env or {'TRAPLESS_TRAPS_NONE': '1'}  # one variable more makes a program work more
        status, stdout, stderr = run_watched(argv, cwd=self.ctx.tmp, env=dict(self.environment(), **env))
        said, own = [], []
        for line in stderr.decode(errors='replace').splitlines(True):
            (said if SAID.match(line) else own).append(line)
        said = ''.join(said)
        got = status, stdout, ''.join(own).encode()
        assert got == self.bare, 'the program differs under %s: status %d, %d bytes; bare %d, %d bytes\n%s\n%s' % (
            m.name, got[0], len(got[1]), self.bare[0], len(self.bare[1]), got[2].decode()[-500:], said[-1500:])
        with open(out) as f:
            return said, [int(line.split()[-1]) for line in f]
