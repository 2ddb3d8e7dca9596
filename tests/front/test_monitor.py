# SPDX-License-Identifier: MIT
"""--monitor: how a session stands, on a terminal and elsewhere."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios

from support_front import Selling, good, shop, trapless

SCRIPT = '''global n = 5, a, s, text = "none"
    probe process("%s").function("sell") { n++; a["sold"]++; a["twice"] += 2; s <<< 3 }
    probe timer.ms(50) { text = "timer"; printf("tick %%d\\n", n > 5) }
    probe end { println("the end ", n > 5) }'''


class Screen:
    """A session on a terminal of its own; what is drawn last is read from its pictures."""

    def __init__(self, ctx, *args, rows=40):
        self.fd, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', rows, 100, 0, 0))
        self.cooked = termios.tcgetattr(slave)
        self.p = ctx.popen([ctx.bin('trapless'), '--monitor', *args], stdin=slave, stdout=slave, stderr=slave,
                           start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        ctx.started.append(self.p)
        self.slave, self.text = slave, ''

    def read(self):
        if not select.select([self.fd], [], [], 300)[0]:
            raise subprocess.TimeoutExpired('the next picture', 300, self.text[-3000:])
        self.text += os.read(self.fd, 65536).decode(errors='replace').replace('\r\n', '\n')

    def picture(self, wanted):
        """The first whole one that has it, from now on."""
        for _ in range(600):
            self.text = self.text[max(self.text.rfind('\x1b[H', 0, self.text.rfind('\x1b[H')), 0):]
            for one in self.text.split('\x1b[H')[:-1]:
                one = one.replace('\x1b[K', '')
                if re.search(wanted, one):
                    return one
            self.read()
        raise AssertionError('%s is never seen: %r' % (wanted, self.text[-5000:]))

    def type(self, keys):
        os.write(self.fd, keys.encode())

    def end(self):
        """What is on the first screen afterwards."""
        while '\x1b[?1049l' not in self.text:
            self.read()
        while self.p.poll() is None:
            if select.select([self.fd], [], [], 0.05)[0]:
                self.read()
        while select.select([self.fd], [], [], 0)[0]:
            self.read()
        assert termios.tcgetattr(self.slave) == self.cooked
        os.close(self.slave)
        os.close(self.fd)
        return self.text.split('\x1b[?1049l')[1]


def hits(picture, number):
    return int(re.search(r'^ *%d +(\d+) ' % number, picture, re.M).group(1))


def test_on_a_terminal(ctx):
    """Probes with hits, globals, the script's output below; keys switch probes, and clear the globals."""
    target = Selling(ctx)
    s = Screen(ctx, '-x', str(target.process.pid), '-e', SCRIPT % shop(ctx))
    seen = s.picture(r'a\["sold"\]=[1-9].*\n(.*\n)*tick 1')
    state = '-' if ctx.variant.endswith('traps') else r'\[OPTIMIZED\]'
    assert re.search(r'^ *0 +[1-9]\d* +0 +%s +process' % state, seen, re.M), seen
    assert re.search(r'process %d \(shop.*\): \d+ bytes of detours' % target.process.pid, seen), seen
    for line in (r'errors 0, skipped \d+, records lost 0; ', r'^n=\d+$', r'^a\["twice"\]=\d+$', r'^s @count=\d+ @min=3 @max=3 ',
                 r'^text="timer"$', r'q quit  p pause'):
        assert re.search(line, seen, re.M), (line, seen)
    assert seen.index('a["twice"]') < seen.index('a["sold"]') and 'the end' not in seen, seen
    s.type('p')
    seen = s.picture(r'0 +\d+ +0 \[DISABLED\]')
    assert re.search(r'\[DISABLED\] +timer\.ms\(50\)\n', seen) and re.search(r' - +end\n', seen), seen
    before = hits(seen, 0)
    s.type('c')
    seen = s.picture(r'\nn=5\n')
    assert '\ntext="none"\n' in seen and 's @count=0x0' in seen and 'a[' not in seen and hits(seen, 0) == before, seen
    s.type('t1')
    assert 'probe to switch (then Enter): 1' in s.picture('Enter.: 1')
    s.type('\r')
    seen = s.picture(r'- +timer\.ms\(50\)\n')
    assert re.search(r' 0 +\d+ +0 \[DISABLED\]', seen) and hits(seen, 0) == before, seen
    s.type('r')
    s.picture(r'\nn=([6-9]|\d\d)')
    s.type('x')
    assert 'NUMBER' not in s.picture(r'^tick')
    s.type('x')
    s.picture('NUMBER')
    s.type('\x1b[B')
    assert 'bytes of detours' in s.picture(r'^  process')
    s.type('q')
    left = s.end()
    assert re.match('(tick [01]\n)+the end 1\n', left) and s.p.returncode == 0, (left, s.p.returncode)
    target.unchanged()
    target.end()


def test_order(ctx):
    s = Screen(ctx, '-e', 'probe timer.ms(400) { } probe timer.ms(10) { }')
    s.picture(r'ms\(400\)\n.*ms\(10\)')
    s.type('s')
    s.picture(r'ms\(10\)\n.*ms\(400\)')
    s.type('s')
    s.picture(r'ms\(400\)\n.*ms\(10\)')
    s.type('q')
    s.end()


def test_errors_are_not_wiped_out(ctx):
    s = Screen(ctx, '-e', 'probe timer.ms(300) { println("here"); error("broken") }')
    left = s.end()
    assert left.startswith('here\n') and 'ERROR: broken' in left and s.p.returncode == 1, left


def test_interrupted(ctx):
    """The terminal is as it was also then; lines are cut at its edge, and few rows are enough."""
    s = Screen(ctx, '-e', 'global wide probe begin { for (i = 0; i < 30; i++) wide = wide . "0123456789" } '
               'probe timer.s(100) { }', rows=10)
    seen = s.picture('wide="0123456789')
    lines = seen.split('\x1b[J')[0].split('\n')
    assert max(len(line) for line in lines) == 100 and len(lines) <= 10, seen
    s.p.send_signal(signal.SIGINT)
    s.end()
    assert s.p.returncode == 0


def test_elsewhere(ctx):
    """No terminal: standard error, and the script's output as ever."""
    p = good(ctx, '--monitor', '-T', 1, '-e', 'global n probe timer.ms(20) { if (n++ < 3) println("out") }')
    assert p.stdout == 'out\nout\nout\n', p.stdout
    assert 'timer.ms(20)' in p.stderr and re.search(r'^GLOBALS\nn=\d+$', p.stderr, re.M) and '\x1b' not in p.stderr, p.stderr


def test_a_busy_printer(ctx):
    """What is shown does not get between what is printed, and nothing is lost."""
    p = good(ctx, '--monitor=1', '-T', 3, '-e', 'global n probe timer.ms(1) { printf("<%d>\\n", n++) }')
    assert p.stdout == ''.join('<%d>\n' % i for i in range(p.stdout.count('\n'))), p.stdout[-300:]
    shown = [int(x) for x in re.findall(r'^n=(\d+)$', p.stderr, re.M)]
    assert len(shown) >= 2 and shown == sorted(shown) and shown[-1] > shown[0], p.stderr


def test_refused(ctx):
    for args in (['--monitor=0'], ['--monitor=x'], ['--monitor', '-F', '-o', os.path.join(ctx.tmp, 'out')]):
        p = trapless(ctx, *args, '-e', 'probe timer.s(1) { }')
        assert p.returncode == 2 and p.stdout == '', p
    script = 'global n probe timer.ms(10) { if (n++ > 20) exit() }'
    good(ctx, '-p4', '-m', 'plain', '-e', script, cwd=ctx.tmp)
    plain = os.path.join(ctx.tmp, 'plain.tap')
    p = ctx.run([ctx.bin('trapless-run'), plain, '--monitor', '1'])
    assert p.returncode == 0 and 'NUMBER ' in p.stderr and 'GLOBALS' not in p.stderr, p
    for words in (['--monitor', 'x'], ['--monitor', '1', '--raw']):
        assert ctx.run([ctx.bin('trapless-run'), plain, *words]).returncode == 2
