# SPDX-License-Identifier: MIT
"""-i: a script that is put together at a prompt; --example: scripts by name."""
import os
import pty
import re
import select
import signal
import stat
import subprocess

HELLO = 'probe begin {\n  println("hello ", n, " ", $#)\n}\nglobal n = 5\nprobe timer.ms(1) { exit() }\n'


def prompt(ctx, text, *args, **env):
    p = ctx.run([ctx.bin('trapless'), '-i', '-w', *args], input=text, timeout=300, env=dict(os.environ, **env))
    assert p.returncode == 0, p
    return p.stdout, p.stderr


def listed(*lines):
    return ''.join('%3d  %s\n' % (n + 1, line) for n, line in enumerate(lines))


def test_a_script_line_by_line(ctx):
    """What is not complete goes on in the next line; what is wrong is not added; each run is of the script as it is then."""
    out, err = prompt(ctx, HELLO + 'list\nrun\nrun one "two three"\nprobe begin { x ] }\nd 1-3\nadd global m\nd 1\nlist\nquit\nrun\n')
    lines = HELLO.splitlines()
    assert out == listed(*lines) + 'hello 5 0\nhello 5 2\n' + listed(lines[4], 'global m'), (out, err)
    # When the probe was complete its n was not declared yet.
    assert re.findall(r'error\[(\w+)\]', err) == ['TYPE_UNRESOLVED', 'PARSE_EXPECTED'] and 'found `]`' in err, err


def test_a_script_that_deleting_breaks(ctx):
    """It can be mended line by line."""
    out, err = prompt(ctx, 'probe begin {\nprintln(1)\n}\nprobe begin { exit() }\ndelete 3\nadd }\ndelete 3\nadd probe begin { exit() }\nlist\nrun\n')
    assert out == listed('probe begin {', 'println(1)', '}', 'probe begin { exit() }') + '1\n', (out, err)


def test_what_is_never_complete(ctx):
    out, err = prompt(ctx, 'global n\nprobe begin {\nn++\n')
    assert out == '' and err.endswith('not added: it was not complete\n'), (out, err)


def test_files_and_editors(ctx):
    one, two, editor = (os.path.join(ctx.tmp, name) for name in ('one.stp', 'two.stp', 'editor'))
    with open(editor, 'w') as f:
        f.write('#!/bin/sh\n[ "$1" = -x ] && sed -i s/hello/goodbye/ "$2"\n')
    os.chmod(editor, stat.S_IRWXU)
    out, err = prompt(ctx, HELLO + 'save %s\ndelete\nlist\nload %s\nedit\nrun\nsave %s\nload /nowhere/x\nlist\n' % (one, one, two), EDITOR=editor + ' -x',
                      VISUAL=editor + ' -x')
    changed = HELLO.replace('hello', 'goodbye')
    assert out == 'goodbye 5 0\n' + listed(*changed.splitlines()), (out, err)
    assert (open(one).read(), open(two).read()) == (HELLO, changed)
    assert 'error: /nowhere/x: No such file or directory' in err, err
    out, err = prompt(ctx, 'global n\nedit\nlist\n', VISUAL='false')
    assert out == listed('global n') and 'error: false failed; the script is as it was' in err, (out, err)


def test_options(ctx):
    """Ours and those that are set hold for each run; a wrong one changes nothing."""
    script = 'probe begin { println(a) exit() } global a = 1\n'
    out, err = prompt(ctx, script + "set -G 'a=2' -T 9\nshow\nrun\nset -x\nset --nothing\nset 'x\nrun\nset\nshow\nrun\n", '-G', 'a=3', '-p5')
    assert out == "options: -w -G 'a=3' -p5 -G 'a=2' -T 9\n2\n2\noptions: -w -G 'a=3' -p5\n3\n", (out, err)
    assert "a value is required for '-x <PID>'" in err and "unexpected argument '--nothing'" in err and 'a quote has no end' in err, err


def test_help_and_wrong_commands(ctx):
    out, err = prompt(ctx, '?\nh\ndelete 1\nglobal n\ndelete 0\ndelete 2-1\ndelete x\nlist\n')
    half = out[:len(out) // 2]
    assert out.endswith(listed('global n')) and out.count('run the script, until it ends') == 2 and half.count('\n') > 10, out
    assert re.findall('no such lines: (.*)', err) == ['1', '0', '2-1', 'x'], err


class Terminal:
    """trapless -i at the other end of one."""

    def __init__(self, ctx):
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.execv(ctx.bin('trapless'), ['trapless', '-i', '-w'])
        self.seen = ''

    def until(self, text):
        while text not in self.seen:
            if not select.select([self.fd], [], [], 300)[0]:
                raise subprocess.TimeoutExpired(text, 300, self.seen)
            self.seen += os.read(self.fd, 4096).decode(errors='replace')
        self.seen = self.seen[self.seen.index(text) + len(text):]

    def say(self, text):
        """At the next line: each begins with this; the prompt is shown anew amid one, too."""
        self.until('\x1b[?2004h')
        os.write(self.fd, text.encode())

    def __enter__(self):
        return self

    def __exit__(self, failed, *_):
        if failed:
            os.kill(self.pid, signal.SIGKILL)
        status = os.waitpid(self.pid, 0)[1]
        os.close(self.fd)
        assert failed or status == 0, status


def test_an_interrupt_ends_the_run_alone(ctx):
    """On a terminal: Ctrl-C ends what is run, and at the prompt a line."""
    with Terminal(ctx) as t:
        t.say('probe begin { println("it ", "runs") } probe end { println("it ", "ends") }\r')
        t.say('run\r')
        t.until('it runs')
        os.write(t.fd, b'\x03')
        t.until('it ends')
        t.say('global half\x03')
        t.say('list\r')
        t.until('1  probe begin')
        t.say('\x04')
        assert 'global half' not in t.seen


def test_typed_ahead(ctx):
    """Lines that come at once, as pasted ones may, are all taken."""
    with Terminal(ctx) as t:
        t.say('global one\rglobal two\rlist\rquit\r')
        t.until('  1  global one')
        t.until('  2  global two')


def test_examples_by_name(ctx):
    """Each that there is, with or without its ending; at the prompt their list is that of the folder."""
    names = sorted(n for n in os.listdir('examples') if n.endswith('.stp'))
    for name in names:
        for word in name, name[:-4]:
            p = ctx.run([ctx.bin('trapless'), '--example', word, '-p1', *map(str, range(9))], timeout=300)
            assert p.returncode == 0 and p.stdout, p
    p = ctx.run([ctx.bin('trapless'), '--example', 'callers', '-c', 'true', 'libc.so.6', 'getenv'], timeout=300)
    assert p.returncode == 0, p
    p = ctx.run([ctx.bin('trapless'), '--example', 'nosuch', '-p1'], timeout=300)
    assert p.returncode == 1 and 'there is no example `nosuch`' in p.stderr and ', '.join(names) in p.stderr, p
    out, err = prompt(ctx, 'sample\nsample nosuch\nsample %s\n' % names[0])
    text = open(os.path.join('examples', names[0])).read()
    assert re.findall(r'^(\S+\.stp) +\S.*', out, re.M) == names and out.endswith(listed(*text.splitlines())), (out, err)
    assert 'there is no example `nosuch`' in err, err
