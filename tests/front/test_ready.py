# SPDX-License-Identifier: MIT
"""Ready commands (trapless top, hist, trace, strace, profile, leaks), each against a second opinion on real programs."""
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import termios

from context import wait_until
from support_front import Selling, good, shop, trapless

PAIR = ('opt', 'traps')
NAMES = ('top', 'hist', 'trace', 'strace', 'profile', 'leaks')
# What git and sqlite3 do then is the same in every run.
GIT = ('git', '--version')
SQLITE = ('sqlite3', ':memory:', 'select 1; select 2; select 3')
PLAIN = {'LC_ALL': 'C', 'PATH': '/usr/bin:/bin', 'HOME': '/nonexistent'}
# same() of shop, for the three goods in turn
COMPARED = (1, 2, 3)


def sameness(n):
    return sum(COMPARED[i % 3] for i in range(n))


def rows(out):
    """Of a table: the last column, and the numbers before it."""
    found = re.findall(r'^ *(\d+) +((?:[\d-]+ +)+)([^\s\d-].*)$', out, re.M)
    return {name: [n if n == '-' else int(n) for n in [first] + rest.split()] for first, rest, name in found}


def summaries(out):
    """Of hist: the calls of each function, and the sum of its histogram's rows."""
    found = {}
    for part in re.split(r'^(?=\S+: \d+ calls)', out, flags=re.M)[1:]:
        name, calls = re.match(r'(\S+): (\d+) calls', part).groups()
        found[name] = int(calls), sum(int(n) for n in re.findall(r'\|@* +(\d+)$', part, re.M))
    return found


def hits_in_gdb(ctx, where, command):
    """How often gdb's breakpoint there is met; it stops at none."""
    p = ctx.run(['gdb', '-nx', '-batch', '-ex', 'set breakpoint pending on', '-ex', 'break ' + where, '-ex', 'ignore 1 100000000',
                 '-ex', 'run', '-ex', 'info breakpoints', '--args', *command], env=PLAIN)
    return int(re.search(r'breakpoint already hit (\d+) time', p.stdout).group(1))


def test_hist_counts(ctx):
    out = good(ctx, 'hist', 'sell', 'price_of', 's*e', '--', shop(ctx), 2, 150).stdout
    assert summaries(out) == {'sell': (300, 300), 'price_of': (300, 300), 'same': (2 * sameness(150),) * 2}, out


test_hist_counts.variants = PAIR + ('nobody',)


def test_hist_as_gdb_counts(ctx):
    if shutil.which('gdb') is None:
        ctx.skip('no gdb')
    theirs = hits_in_gdb(ctx, 'sqlite3_step', SQLITE)
    out = good(ctx, 'hist', 'libsqlite3.so.0:sqlite3_step', '-c', "sqlite3 :memory: 'select 1; select 2; select 3'", env=PLAIN).stdout
    assert out.startswith('1\n2\n3\n') and theirs >= 3, (theirs, out)
    assert summaries(out) == {'sqlite3_step': (theirs, theirs)}, (theirs, out)


def test_hist_every_second(ctx):
    """Each table has no fewer calls than the one before."""
    target = Selling(ctx)
    out = good(ctx, 'hist', 'sell', '--every', 1, '-T', 5, '-x', target.pid).stdout
    target.end()
    counts = [int(n) for n in re.findall(r'^sell: (\d+) calls', out, re.M)]
    assert len(counts) >= 3 and counts == sorted(counts) and '\x1b' not in out, out


def test_hist_without_a_call(ctx):
    assert 'no call returned while this ran\n' in good(ctx, 'hist', 'sell', '--', shop(ctx), 0, 1).stdout


def test_top_counts(ctx):
    out = good(ctx, 'top', '--', shop(ctx), 2, 150).stdout
    found = rows(out)
    calls = {name: found[name][0] for name in ('main', 'till_main', 'sell', 'price_of', 'same')}
    assert calls == {'main': 1, 'till_main': 2, 'sell': 300, 'price_of': 300, 'same': 2 * sameness(150)}, out
    assert found['_start'][1:] == ['-'] * 3, out
    totals = [v[1] for v in found.values() if v[1] != '-']
    assert totals == sorted(totals, reverse=True), out
    heads = re.findall(r'^ +calls +total us +average ns +max ns  function$', out, re.M)
    assert len(heads) == 1, out


test_top_counts.variants = PAIR + ('nobody',)


def test_top_of_some(ctx):
    """In another order, of named functions, and no more lines than were asked for."""
    out = good(ctx, 'top', 's*', 'price_of', '--sort', 'calls', '--rows', 2, '--', shop(ctx), 1, 90).stdout
    names = list(rows(out))
    assert names[0] == 'same' and names[1] in ('sell', 'price_of') and len(names) == 2, out
    assert re.search(r'^[1-9] more functions were called$', out, re.M), out


def test_top_of_a_library(ctx):
    """Beside those of a program that has no names itself."""
    out = good(ctx, 'top', '--library', 'libsqlite3.so.0', '--rows', 1000, '--', *SQLITE, env=PLAIN).stdout
    found = rows(out)
    assert found['sqlite3_step'][0] >= 3 and found['sqlite3_open_v2'][0] == 1, out
    if shutil.which('gdb'):
        assert found['sqlite3_step'][0] == hits_in_gdb(ctx, 'sqlite3_step', SQLITE), out


def test_top_as_json(ctx):
    path = os.path.join(ctx.tmp, 'out')
    good(ctx, 'top', '--format', 'json', '-o', path, '--', shop(ctx), 1, 90)
    with open(path) as f:
        events = [json.loads(line) for line in f]
    fields = {e['fields']['name']: e['fields'] for e in events if 'name' in e.get('fields', ())}
    assert fields['sell']['calls'] == 90 and fields['sell']['max_ns'] > 0, fields


def test_interrupt(ctx):
    """The table is written, and the status is 0."""
    target = Selling(ctx)
    for words, wanted in ((('top', 'sell'), r'^ *\d+ +\d+ +\d+ +\d+  sell$'), (('hist', 'sell'), r'^sell: \d+ calls'),
                          (('strace', '--summary'), r'^ *\d+ +0 +\d+ +\d+  clock_nanosleep$'), (('leaks',), r'^ *\d+ +\d+  total$')):
        p = ctx.start([ctx.bin('trapless'), *words, '-v', '-x', str(target.pid)], stderr=subprocess.PIPE)
        armed = ''
        while 'armed' not in armed:
            armed = p.stderr.readline()
            assert armed, words
        before = sleeps(target)
        wait_until(lambda: sleeps(target) > before + 20, 'it sells nothing')
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=300)
        assert p.returncode == 0 and re.search(wanted, out, re.M), (words, p.returncode, out, err)
    target.end()


def sleeps(target):
    """How often it has slept: once a sale."""
    folder = '/proc/%d/task' % target.pid
    found = 0
    for thread in os.listdir(folder):
        with open('%s/%s/status' % (folder, thread)) as f:
            found += int(re.search(r'^voluntary_ctxt_switches:\s+(\d+)', f.read(), re.M).group(1))
    return found


class Screen:
    """A command on a terminal of twelve lines."""

    def __init__(self, ctx, *words):
        self.pid, self.fd = pty.fork()
        if not self.pid:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', 12, 80, 0, 0))
            os.execv(ctx.bin('trapless'), ['trapless', *words])
        self.seen = ''

    def until(self, pattern):
        while not re.search(pattern, self.seen, re.S):
            assert select.select([self.fd], [], [], 300)[0], 'not seen: ' + self.seen
            self.seen += self.more()

    def more(self):
        try:
            return os.read(self.fd, 4096).decode(errors='replace')
        except OSError:
            return ''

    def end(self):
        os.write(self.fd, b'\x03')
        while True:
            more = self.more()
            if not more:
                break
            self.seen += more
        status = os.waitpid(self.pid, 0)[1]
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


def test_top_on_a_terminal(ctx):
    """It is drawn anew without being asked to, on no more lines than there are, and Ctrl-C leaves a table."""
    target = Selling(ctx)
    screen = Screen(ctx, 'top', '-w', '-x', str(target.pid))
    screen.until('(\x1b\\[1;1H\x1b\\[J *calls.*){3}')
    assert screen.end() == 0, screen.seen
    target.end()
    pictures = screen.seen.split('\x1b[1;1H\x1b[J')[1:]
    counts = [rows(p.replace('\r', ''))['sell'][0] for p in pictures if 'sell' in p]
    assert len(counts) >= 3 and counts == sorted(counts), screen.seen
    drawn = [p.splitlines() for p in pictures[:-1]]
    assert all(len(lines) <= 12 and max(map(len, lines)) <= 80 for lines in drawn), screen.seen


test_top_on_a_terminal.root_only = 'what a terminal shows is the same for all'


def strace_counts(ctx, command):
    """(calls, errors) of each system call."""
    path = os.path.join(ctx.tmp, 'theirs')
    p = ctx.run(['strace', '-f', '-c', '-U', 'calls,errors,name', '-o', path, *command], env=PLAIN)
    assert p.returncode == 0, p.stderr
    with open(path) as f:
        found = re.findall(r'^ *(\d+) +(\d*) +(\w+)$', f.read(), re.M)
    return {name: [int(n), int(wrong or 0)] for n, wrong, name in found}


# The program's start comes before the session's; strace counts no call that does not return.
NOT_OF_BOTH = {'execve', 'exit_group', 'total', 'arch_prctl', 'rt_sigreturn'}


def of_both(counts):
    return {name: n for name, n in counts.items() if name not in NOT_OF_BOTH}


def test_strace_summary_as_strace(ctx):
    if shutil.which('strace') is None:
        ctx.skip('no strace')
    for command in GIT, SQLITE, ('sh', '-c', 'cat /etc/passwd | sort >/dev/null; env true; ls /nosuch || true'):
        path = os.path.join(ctx.tmp, 'ours')
        good(ctx, 'strace', '--summary', '-o', path, '--', *command, env=PLAIN)
        with open(path) as f:
            ours = {name: n[:2] for name, n in rows(f.read()).items()}
        assert of_both(ours) == of_both(strace_counts(ctx, command)), command
        assert ours['openat'][0] > 1, ours


test_strace_summary_as_strace.variants = PAIR


def calls(path, of_strace=False):
    """The lines' calls, names and results, of each thread in its order; strace's words for errors are cut."""
    found = []
    with open(path) as f:
        for line in f:
            m = re.match(r'(?:\[pid +\d+\] |\d+ +)?(\w+)\((.*)\) += (-?\w+(?: E\w+)?)', line)
            if m:
                found.append(m.groups())
    return found


def test_strace_lines_as_strace(ctx):
    """Names, paths and errors of files that are opened, in the same order."""
    if shutil.which('strace') is None:
        ctx.skip('no strace')
    ours, theirs = (os.path.join(ctx.tmp, name) for name in ('ours', 'theirs'))
    good(ctx, 'strace', '--calls', 'open*t,clos*,access', '-o', ours, '--', *GIT, env=PLAIN)
    p = ctx.run(['strace', '-s', '1000', '-e', 'trace=openat,close,access', '-o', theirs, *GIT], env=PLAIN)
    assert p.returncode == 0, p.stderr
    assert len(calls(theirs)) > 5 and calls(ours) == calls(theirs), (calls(ours), calls(theirs))


def test_strace_of_a_tree(ctx):
    """Children's lines are marked; calls that do not return are there, too."""
    path = os.path.join(ctx.tmp, 'ours')
    p = trapless(ctx, 'strace', '--times', '-o', path, '--calls', 'execve,exit_group,openat', '-c', 'cat /nosuch; exit 3', env=PLAIN)
    assert p.returncode == 3, p.stderr
    with open(path) as f:
        lines = f.read().splitlines()
    tail = r' <\d+\.\d{6}>$'
    started = [line for line in lines if re.match(r'\[pid +\d+\] execve\("\S+/cat", \["cat", "/nosuch"\]\) += 0' + tail, line)]
    assert len(started) == 1, lines
    assert any(re.match(r'\[pid +\d+\] openat\(AT_FDCWD, "/nosuch", O_RDONLY\) += -1 ENOENT' + tail, line) for line in lines), lines
    ends = [re.sub(r'pid +\d+|' + tail, '', line) for line in lines if 'exit_group' in line]
    assert [e.split(' = ')[0].rstrip() for e in ends] == ['[] exit_group(1)', 'exit_group(3)'], lines


def test_profile_is_folded(ctx):
    """Samples of a function that burns time, with its callers before it."""
    out = good(ctx, 'profile', '--hz', 500, '--', shop(ctx), 1, 1000000).stdout
    lines = [line for line in out.splitlines() if re.match(r'\S+;.* \d+$', line)]
    stacks = [line.rsplit(' ', 1) for line in lines]
    assert stacks and all(int(n) > 0 for _, n in stacks), out
    assert any(re.search(r'^shop[^;]*;(.*;)?till_main;sell(;|$)', stack) for stack, _ in stacks), out


def test_leaks(ctx):
    out = good(ctx, 'leaks', '--', shop(ctx), 2, 100).stdout
    mine = [v for name, v in rows(out).items() if name.startswith('sell+0x')]
    assert mine == [[20 * 777, 20]], out


test_leaks.variants = PAIR


def test_help_teaches(ctx):
    """Each has a usage, its options, examples that are of this command; the main help names each."""
    whole = good(ctx, '--help').stdout
    for name in NAMES:
        told = good(ctx, name, '--help').stdout
        assert 'Usage: trapless %s ' % name in told and '-- CMD ARGS...' in told, told
        assert told == good(ctx, name, '-h').stdout
        examples = told.split('\nExamples:\n')[1].splitlines()
        assert len(examples) >= 2 and all(line.startswith('  trapless %s ' % name) for line in examples), told
        assert re.search(r'^  %s +\S' % name, whole, re.M), whole
        assert max(len(line) for line in told.splitlines()) <= 100, told
        assert os.path.exists(os.path.join(ctx.root, 'examples', 'ready', name + '.stp'))


def test_examples_of_help(ctx):
    """Those that start a program with an end."""
    env = dict(os.environ, PATH=os.path.dirname(ctx.bin('trapless')) + ':/usr/bin:/bin')
    tried = 0
    for name in NAMES:
        for line in good(ctx, name, '--help').stdout.split('\nExamples:\n')[1].splitlines():
            if (' -- ' in line or ' -c ' in line) and 'git log' not in line and 'make' not in line:
                p = ctx.run(['bash', '-c', line], env=env)
                assert p.returncode == 0, (line, p.stdout, p.stderr)
                tried += 1
    assert tried >= 4, tried


def test_manual_has_every_option(ctx):
    with open(os.path.join(ctx.root, 'man', 'trapless.1')) as f:
        part = f.read().split('.SH READY COMMANDS')[1].split('\n.SH ')[0].replace('\\-', '-')
    sections = dict(zip(NAMES, re.split(r'^\.SS \w+$', part, flags=re.M)[1:]))
    assert re.findall(r'^\.SS (\w+)$', part, re.M) == list(NAMES)
    for name in NAMES:
        told = good(ctx, name, '--help').stdout.split('What is shown:')[1].split('\n\n')[0]
        options = set(re.findall(r'^ +(--[a-z]+)', told, re.M))
        assert options and options == set(re.findall(r'^\.TP\n\.BI? (--[a-z]+)', sections[name], re.M)), name


def test_wrong_words(ctx):
    for words, status, said in (
            (('top',), 2, 'of which program? -x PID'),
            (('hist', '--', 'true'), 2, 'of which functions? '),
            (('hist', 'a"b', '--', 'true'), 2, 'without quotes and backslashes'),
            (('strace', 'ls', '-x', 1), 2, 'strace takes no word `ls`; a program and its arguments stand behind --'),
            (('strace', '--calls', 'open at', '-x', 1), 2, 'e.g. openat,read*'),
            (('top', '--sort', 'name', '-x', 1), 2, '[possible values: total, calls, average, max]'),
            (('top', '--rows', 0, '-x', 1), 2, 'a whole number is wanted, 1 to 100000'),
            (('top', '--nosuch', '-x', 1), 2, "unexpected argument '--nosuch'"),
            (('leaks', '-e', 'probe begin { }', '-x', 1), 2, 'leaks runs a script of its own: -e does not go with it'),
            (('top', '--sessions', '-x', 1), 2, 'cannot be used'),
            (('top', '-x', 1, '--', 'true'), 2, "cannot be used with '-c <CMD>'"),
            (('hist', 'nosuch', '--', shop(ctx), 1, 1), 1, '`nosuch`'),
            (('hist', 'libnosuch.so:f', '--', shop(ctx), 1, 1), 1, 'uses no library `libnosuch.so`'),
            (('top', '--library', 'libnosuch.so', '--', shop(ctx), 1, 1), 1, 'uses no library `libnosuch.so`'),
            (('strace', '--calls', 'nosuch', '--', 'true'), 1, '`syscall` has no `nosuch`')):
        p = trapless(ctx, *words)
        assert p.returncode == status and said in p.stderr and not p.stdout, (words, p.returncode, p.stdout, p.stderr)


def test_words_of_the_program_are_as_given(ctx):
    p = good(ctx, 'strace', '--summary', '--', 'printf', '<%s>', "it's", '-o $HOME', '*')
    assert p.stdout.startswith("<it's><-o $HOME><*>") and 'total\n' in p.stdout, p.stdout


def test_status_of_the_program(ctx):
    assert trapless(ctx, 'strace', '--summary', '--', 'sh', '-c', 'exit 7').returncode == 7


def test_completions_offer_the_names(ctx):
    for shell in 'bash', 'zsh', 'fish':
        told = good(ctx, '--completions', shell).stdout
        for name in NAMES:
            assert re.search(r'\b%s\b' % name, told), (shell, name)
    bash = good(ctx, '--completions', 'bash').stdout
    p = ctx.run(['bash', '-c', bash + '\nCOMP_WORDS=(trapless hi) COMP_CWORD=1\n_trapless trapless hi ""\necho "${COMPREPLY[@]}"'])
    assert p.stdout.split() == ['hist'], p


def test_a_script_of_that_name(ctx):
    """By its path."""
    with open(os.path.join(ctx.tmp, 'top'), 'w') as f:
        f.write('probe begin { println("it runs") exit() }')
    assert good(ctx, './top').stdout == 'it runs\n'
