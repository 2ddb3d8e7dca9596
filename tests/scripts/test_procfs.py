# SPDX-License-Identifier: MIT
"""procfs("name"): files that run a handler when they are read or written to."""
import os
import re
import signal
import subprocess


class Session:
    def __init__(self, ctx, script, *args):
        self.process = ctx.start([ctx.bin('trapless'), *args, '-e', script], stderr=subprocess.PIPE)
        self.files = {}
        for line in self.process.stderr:
            at = re.search(r'trapless-run: file (.*/(.*))\n', line)
            self.files[at[2]] = at[1]
            if at[2] == 'last':
                break

    def end(self):
        self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate(timeout=300)
        assert self.process.returncode == 0, err
        return out


def shell(ctx, text):
    p = ctx.run(['sh', '-c', text], timeout=300)
    assert p.returncode == 0, p
    return p.stdout


LAST = ' probe procfs("last").read { }'


def test_reading_and_writing(ctx):
    s = Session(ctx, r'''global level = 1, n
        probe procfs("level").read { $value = sprintf("level %d\n", level) }
        probe procfs("level").write { level = strtol($value, 10); printf("now %d by %s", level, $value) }
        probe procfs("count").read { n++; $value .= "a"; $value .= sprint(n); $value .= "\n" }
        probe procfs("in").write.umask(0077) { printf("in %s", $value) }''' + LAST)
    f = s.files
    assert sorted(f) == ['count', 'in', 'last', 'level'] and shell(ctx, 'cat ' + f['last']) == ''
    assert shell(ctx, 'cat %(level)s; echo 7 >%(level)s; cat %(level)s' % f) == 'level 1\nlevel 7\n'
    assert [shell(ctx, 'cat ' + f['count']) for _ in range(20)] == ['a%d\n' % (n + 1) for n in range(20)], 'each gets one text'
    shell(ctx, 'echo one >%(in)s; cat %(count)s; cat %(count)s; echo two >%(in)s' % f)
    assert (os.stat(f['level']).st_mode & 0o777, os.stat(os.path.dirname(f['level'])).st_mode & 0o777) == (0o600, 0o700)
    assert s.end() == 'now 7 by 7\nin one\nin two\n'
    assert not os.path.exists(os.path.dirname(f['level']))


def test_written_as_the_session_ends(ctx):
    """What was written before the session was told to end is in it: here while another handler runs."""
    s = Session(ctx, '''global till
        probe procfs("in").write { printf("in %s", $value) }
        probe procfs("slow").read { till = gettimeofday_ms() + 1000; while (gettimeofday_ms() < till) $value = "done" }''' + LAST, '-DMAXACTION=1000000000')
    with open(s.files['slow']) as slow, open(s.files['in'], 'w') as f:
        f.write('time\n')
        f.flush()
        assert s.end() == 'in time\n' and slow.read() == 'done'


def test_long_texts(ctx):
    """As long as .maxsize says, whatever MAXSTRINGLEN is; MAXSTRINGLEN without it. A slow reader gets the same."""
    s = Session(ctx, r'''
        probe procfs("long").read.maxsize(200000) { for (i = 0; i < 5000; i++) $value .= sprintf("%039d\n", i) }
        probe procfs("short").read { for (i = 0; i < 100; i++) $value .= sprintf("%039d\n", i) }
        probe procfs("set").read { $value = "much"; $value = "little" }''' + LAST, '-DMAXACTION_INTERRUPTIBLE=100000', '-DMAXACTION=100000')
    want = ''.join('%039d\n' % i for i in range(5000))
    assert shell(ctx, 'cat ' + s.files['long']) == want
    assert shell(ctx, '(head -c 40; sleep 1; cat) <' + s.files['long']) == want
    assert shell(ctx, 'cat ' + s.files['short']) == want[:511]
    assert shell(ctx, 'cat ' + s.files['set']) == 'little'
    s.end()


def test_readers_that_go_away(ctx):
    s = Session(ctx, 'global n probe procfs("x").read.maxsize(100000) { n++; for (i = 0; i < 900; i++) $value .= sprintf("%099d\\n", i) } probe end { println(n) }' + LAST,
                '-DMAXACTION=100000')
    shell(ctx, 'for i in $(seq 100); do head -c 1 <%s; done' % s.files['x'])
    assert s.end() == '100\n'


def test_errors_and_mistakes(ctx):
    s = Session(ctx, 'probe procfs("x").read { $value = "a"; try { error("no") } catch (m) { $value .= m } }' + LAST)
    assert shell(ctx, 'cat ' + s.files['x']) == 'ano'
    s.end()
    for point in ('procfs("a/b").read', 'procfs("").read', 'procfs(".x").read', 'procfs(5).read', 'procfs("x")', 'procfs("x").other', 'procfs("x").read.write',
                  'procfs("x").read.maxsize(0)', 'procfs("x").read.maxsize(9999999)', 'procfs("x").read.umask("a")'):
        p = ctx.run([ctx.bin('trapless'), '-p2', '-e', 'probe %s { }' % point])
        assert p.returncode == 1 and 'error[POINT_ARGUMENT]' in p.stderr and 'next step: e.g. procfs("name").read' in p.stderr, (point, p)
    p = ctx.run([ctx.bin('trapless'), '-p2', '-e', 'probe begin { $value = "a" }'])
    assert p.returncode == 1 and 'error[' in p.stderr, p


def test_by_an_alias(ctx):
    s = Session(ctx, 'probe mine = procfs("x").read { $value = "before " } probe mine { $value .= pn() }' + LAST)
    assert shell(ctx, 'cat ' + s.files['x']) == 'before mine'
    s.end()
