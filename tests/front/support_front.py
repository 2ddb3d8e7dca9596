# SPDX-License-Identifier: MIT
"""What the tests of the command line share."""
import re
import signal
import subprocess
import time


def trapless(ctx, *args, **kw):
    return ctx.run([ctx.bin('trapless')] + [str(a) for a in args], **kw)


def good(ctx, *args, **kw):
    p = trapless(ctx, *args, **kw)
    assert p.returncode == 0, '%d: %s' % (p.returncode, p.stderr)
    return p


def shop(ctx, **kw):
    return ctx.target('../examples/shop', **kw)


class Selling:
    """A running target, and what must be so after something was refused."""

    def __init__(self, ctx, path=None, **kw):
        self.path = path or shop(ctx)
        self.process = ctx.start([self.path, '1', '0'], **kw)
        assert self.process.stdout.readline() == 'ready\n'
        self.pid = self.process.pid
        self.before = self.state()

    def state(self):
        with open('/proc/%d/maps' % self.pid) as f:
            maps = [line for line in f if ' r-xp ' in line]
        text = []
        with open('/proc/%d/mem' % self.pid, 'rb', 0) as mem:
            for line in maps:
                if line.rstrip().endswith(']'):
                    continue
                lo, hi = (int(x, 16) for x in line.split()[0].split('-'))
                mem.seek(lo)
                text.append((line, mem.read(hi - lo)))
        return text

    def unchanged(self):
        assert self.process.poll() is None, 'the target has ended'
        assert self.state() == self.before, 'the text or its mappings have changed'
        with open('/proc/%d/status' % self.pid) as f:
            status = f.read()
        assert re.search(r'^TracerPid:\s*0$', status, re.M), 'still traced'

    def end(self):
        """Its own count of sales."""
        self.process.send_signal(signal.SIGTERM)
        out, _ = self.process.communicate(timeout=20)
        assert self.process.returncode == 0, self.process.returncode
        return int(re.search(r'sold (\d+)', out).group(1))


def wait_for(what, seconds=10):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, 'did not happen within %g s' % seconds
        time.sleep(0.02)


def symbol(path, name):
    out = subprocess.run(['nm', path], stdout=subprocess.PIPE, text=True, check=True).stdout
    return int(re.search(r'^([0-9a-f]+) \w %s$' % name, out, re.M).group(1), 16)
