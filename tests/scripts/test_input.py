# SPDX-License-Identifier: MIT
"""input.char and input.line: the standard input of a session whose target has another one."""
import os
import pty
import select
import subprocess
import termios

BOTH = r'''probe input.char { printf("[%s]", char); if (char == "q") exit() }
    probe input.line { printf("<%s>%d", line, strlen($value)) }
    probe end { println("end") }'''


def session(ctx, script, text, *args):
    p = ctx.run([ctx.bin('trapless'), *args, '-e', script], input=text)
    assert p.returncode == 0, p
    return p.stdout


def test_bytes_and_lines(ctx):
    assert session(ctx, BOTH, 'on\n\nqx\n') == '[o][n][\n]<on\n>3[\n]<\n>1[q]end\n'


def test_the_last_line(ctx):
    assert session(ctx, 'probe input.line { printf("<%s>", line); if (line == "last") exit() }', 'one\ntwo\nlast') == '<one\n><two\n><last>'


def test_long_lines(ctx):
    """No more than a string holds is kept of one; whatever else is of it is nobody's."""
    script = 'probe input.line { printf("%d%s ", strlen(line), substr(line, 0, 2)); if (line == "q\\n") exit() }'
    text = 'a' * 5000 + '\n' + 'b' * 511 + '\n' + 'c' * 510 + '\nq\n'
    assert session(ctx, script, text) == '511aa 511bb 511cc 2q\n '
    assert session(ctx, script, text, '-DMAXSTRINGLEN=4000') == '3999aa 512bb 511cc 2q\n '


def test_many_handlers(ctx):
    """Each gets the text as it came; the end of the input ends nothing."""
    assert session(ctx, '''global lines, ticks
        probe input.line { line = substr(line, 0, 1) . "+"; print(line, $value, " ") }
        probe input.line { print(line); lines++ }
        probe timer.ms(50) { if (lines == 2 && ++ticks == 4) { println("later"); exit() } }''', 'x\ny\n') == 'x+x\n x\ny+y\n y\nlater\n'


def test_beside_a_target(ctx):
    target = ctx.start(['sleep', '1000'])
    script = 'probe process.function("nothing")? { } probe input.line { printf("%d %s", target(), line); exit() }'
    assert session(ctx, script, 'go\n', '-x', str(target.pid)) == '%d go\n' % target.pid


def test_not_the_programs(ctx):
    p = ctx.run([ctx.bin('trapless'), '-e', 'probe input.line { }', '-c', 'cat'], input='text\n')
    assert p.returncode == 1 and p.stdout == '' and 'the standard input is the program\'s own' in p.stderr, p
    assert 'attach with -x PID' in p.stderr, p


def until(fd, text):
    got = b''
    while text not in got:
        if not select.select([fd], [], [], 300)[0]:
            raise subprocess.TimeoutExpired(text, 300, got)
        piece = os.read(fd, 1000)
        assert piece, got
        got += piece
    return got


def test_terminal(ctx):
    """Bytes come as they are typed and are not shown; after that the terminal is as it was."""
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    p = ctx.start(['setsid', '-c', '-w', ctx.bin('trapless'), '-e', BOTH + ' probe timer.ms(10) { if (!said++) println("ready") } global said'],
                  stdin=theirs, stderr=subprocess.DEVNULL)
    assert p.stdout.readline() == 'ready\n'
    while termios.tcgetattr(theirs)[3] & (termios.ICANON | termios.ECHO):
        assert p.poll() is None
    os.write(ours, b'a')
    assert p.stdout.read(3) == '[a]'
    os.write(ours, b'q')
    assert p.stdout.read() == '[q]end\n' and p.wait(300) == 0
    assert termios.tcgetattr(theirs) == before
    assert not select.select([ours], [], [], 0)[0], 'nothing was shown'


def test_terminal_by_lines(ctx):
    """Lines are edited and shown by the terminal."""
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    p = ctx.start(['setsid', '-c', '-w', ctx.bin('trapless'), '-e', 'probe input.line { print(line); exit() }'], stdin=theirs, stderr=subprocess.DEVNULL)
    os.write(ours, b'ac\x7fb\n')
    assert p.stdout.read() == 'ab\n' and p.wait(300) == 0
    assert until(ours, b'\n').startswith(b'ac') and termios.tcgetattr(theirs) == before
