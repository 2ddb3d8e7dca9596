# SPDX-License-Identifier: MIT
"""What the tests of the command line share."""
import os
import re
import signal
import subprocess

from context import wait_until


def trapless(ctx, *args, **kw):
    return ctx.run([ctx.bin('trapless')] + [str(a) for a in args], **kw)


def good(ctx, *args, **kw):
    p = trapless(ctx, *args, **kw)
    assert p.returncode == 0, '%d: %s' % (p.returncode, p.stderr)
    return p


def shop(ctx, **kw):
    return ctx.target('../examples/shop', **kw)


def joined(lines):
    """Mappings as [lo, hi, permissions, name]. Text that was written may stay in several: pieces of one count as one."""
    out = []
    for line in lines:
        words = line.split(None, 5)
        (lo, hi), name = (int(x, 16) for x in words[0].split('-')), words[5].strip() if len(words) > 5 else ''
        if out and out[-1][1:] == [lo, words[1], name]:
            lo = out.pop()[0]
        out.append([lo, hi, words[1], name])
    return out


class Untouched:
    """A process, and what must be so after something was refused: its text, what is mapped executable or ours, threads,
    descriptors, and who traces it."""

    def __init__(self, pid):
        self.pid = pid
        self.before = self.state()

    def state(self):
        folder = '/proc/%d/' % self.pid
        with open(folder + 'maps') as f:
            maps = joined(line for line in f if re.search(r'^\S+ ..x|memfd:trapless', line))
        text = []
        with open(folder + 'mem', 'rb', 0) as mem:
            for lo, hi, mode, name in maps:
                if mode == 'r-xp' and name[-1:] != ']':
                    mem.seek(lo)
                    text.append(mem.read(hi - lo))
        with open(folder + 'status') as f:
            tracer = re.search(r'^TracerPid:.*$', f.read(), re.M).group()
        fds = {fd: os.readlink(folder + 'fd/' + fd) for fd in os.listdir(folder + 'fd')}
        return dict(text=text, maps=maps, threads=sorted(os.listdir(folder + 'task')), fds=fds, tracer=tracer)

    def unchanged(self):
        now = self.state()
        changed = {k: (v, now[k]) for k, v in self.before.items() if now[k] != v and k != 'text'}
        assert not changed, 'changed: %s' % changed
        assert now['text'] == self.before['text'], 'the text has changed'


class Selling(Untouched):
    """A running target."""

    def __init__(self, ctx, path=None, **kw):
        self.path = path or shop(ctx)
        self.process = ctx.start([self.path, '1', '0'], **kw)
        assert self.process.stdout.readline() == 'ready\n'
        wait_until(lambda: len(os.listdir('/proc/%d/task' % self.process.pid)) == 2, 'it has no second thread')
        super().__init__(self.process.pid)

    def unchanged(self):
        assert self.process.poll() is None, 'the target has ended'
        super().unchanged()

    def end(self):
        """Its own count of sales."""
        self.process.send_signal(signal.SIGTERM)
        out, _ = self.process.communicate(timeout=300)
        assert self.process.returncode == 0, self.process.returncode
        return int(re.search(r'sold (\d+)', out).group(1))


def symbol(path, name):
    out = subprocess.run(['nm', path], stdout=subprocess.PIPE, text=True, check=True).stdout
    return int(re.search(r'^([0-9a-f]+) \w %s$' % name, out, re.M).group(1), 16)
