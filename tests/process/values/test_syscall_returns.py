# SPDX-License-Identifier: MIT
"""Returns of system calls: each call that was seen returns once, with what the kernel has given."""
import os
import re
import shutil
import subprocess

import scripted
import support
import test_syscalls

CLONE, FORK, VFORK, EXECVE, EXIT, ARCH_PRCTL, EXIT_GROUP = 56, 57, 58, 59, 60, 158, 231
# not to return; arch_prctl gives the thread another thread pointer, by which it is known
NO_RETURN = {EXECVE, EXIT, EXIT_GROUP, ARCH_PRCTL}
PAIRS = '''global e, r, wrong
probe process.syscall { e[$syscall] <<< 1 }
probe process.syscall.return { r[$syscall] <<< 1  if ($return < 0 && $return > -4096 && $syscall == 110) wrong++ }
probe end {
    foreach (nr in e) printf("%d %d %d\\n", nr, @count(e[nr]), (nr in r) ? @count(r[nr]) : 0)
    foreach (nr in r) if (!(nr in e)) printf("%d 0 %d\\n", nr, @count(r[nr]))
    printf("wrong %d\\n", wrong)
}
'''


def pairs(text):
    assert 'wrong 0\n' in text, text
    return {int(nr): (int(e), int(r)) for nr, e, r in re.findall(r'^(\d+) (\d+) (\d+)$', text, re.M)}


def assert_paired(found, what):
    assert found and all(e == r for nr, (e, r) in found.items() if nr not in NO_RETURN), (what, found)
    assert all(r <= e for e, r in found.values()), (what, found)


def test_each_call_returns_once(ctx):
    """Real programs, alone and with threads; both ends of a call at one time, two bytes apart."""
    threads = ctx.target('syscalls', ('-O2',), 'gcc', ('-pthread',))
    for command in ('cat /etc/passwd', 'sort /etc/passwd', 'gzip -c /etc/passwd >/dev/null', threads + ' 4 200'):
        r = scripted.launch(ctx, PAIRS, command)
        assert r.returncode in (0, 5), r.stderr
        found = pairs(r.script)
        assert_paired(found, command)
        assert sum(e for e, _ in found.values()) > 20, found
        assert scripted.number(r.stderr, 'hits missed') == 0, r.stderr
    assert found[110] == (1600, 1600), found


test_each_call_returns_once.variants = support.PAIR


def test_children_threads_and_signals(ctx):
    """Who begins behind the instruction does not return; a call that is interrupted does, whatever the handler calls."""
    storm = ctx.target('storm', ('-O2',), 'gcc', ('-pthread',))
    for us in (0, 2000):
        r = scripted.launch(ctx, PAIRS, '%s 5 %d' % (storm, us), timeout=300)
        assert r.returncode == 5, r.stderr
        found = pairs(r.script)
        assert_paired(found, (us, r.stderr))
        assert found[VFORK] == (5, 5) and found[EXECVE][0] == 5, found


test_children_threads_and_signals.variants = support.PAIR


NAMED = '''open("/dev/null", O_RDWR|O_CLOEXEC) = 3
open("/no/such\\n", O_WRONLY|O_CREAT|O_EXCL, 0640) = -2 (ENOENT)
openat(AT_FDCWD, "/dev/zero", O_RDONLY) = 4
openat(-1, 0x10, O_RDONLY|O_PATH) = -14 (EFAULT)
read(-2, *, 3) = -9 (EBADF)
write(-3, "a\\0b", 3) = -9 (EBADF)
access("/", R_OK|X_OK) = 0
execve("/no/such/program", ["nothing", "a b"], []) = -2 (ENOENT)
umask(022) = 022
'''


def test_by_name(ctx):
    """Arguments are those of the entry, results as SystemTap shows them."""
    path = ctx.target('named', ('-O2',), 'gcc', ('-static',))
    show = 'printf("%s(%s) = %s\\n", name, argstr, retstr) if (retval != $return || returnval() != $return) println("wrong")'
    r = scripted.launch(ctx, 'probe syscall.{open,openat,read,write,access,execve,umask}.return { %s }' % show, path)
    wanted = re.escape(NAMED).replace(r'\*', '0x[0-9a-f]+')
    assert r.returncode == 0 and re.fullmatch(wanted, r.script), r.script + r.stderr


test_by_name.variants = support.PAIR


def test_several_probes_of_one_return(ctx):
    """Each of them has every return, and beside them the entries."""
    path = ctx.target('named', ('-O2',), 'gcc', ('-static',))
    script = '''probe syscall.open { printf("entry\\n") }
    probe syscall.open.return { printf("one %d\\n", retval) }
    probe syscall_any.return { if (name == "open") printf("any %d %d\\n", retval, $syscall) }
    probe process.syscall.number(2).return { printf("two %d\\n", $return) }'''
    r = scripted.launch(ctx, script, path)
    once = 'entry\none %d\nany %d 2\ntwo %d\n'
    assert r.script == once % (3, 3, 3) + once % (-2, -2, -2), r.script + r.stderr


def test_values_as_strace_shows(ctx):
    if not shutil.which('strace'):
        ctx.skip('no strace')
    path = os.path.join(ctx.tmp, 'strace.out')
    command = ['gzip', '-c', '/etc/passwd']
    subprocess.run(['strace', '-o', path, '-e', 'raw=all', *command], stdout=subprocess.DEVNULL, timeout=300, check=True)
    line = re.compile(r'^(\w+)\(.*\) += (0x[0-9a-f]+|-?\d+)', re.M)
    with open(path) as f:
        theirs = [(name, int(value, 0)) for name, value in line.findall(f.read())]
    r = scripted.launch(ctx, 'probe syscall_any.return { printf("%s %d\\n", name, $return < 0 ? -1 : $return) }',
                        ' '.join(command) + ' >/dev/null')
    ours = [(name, int(value)) for name, value in re.findall(r'^(\w+) (-?\d+)$', r.script, re.M)]
    # addresses are another run's
    known = ('openat', 'read', 'pread64', 'close', 'lseek', 'access', 'write', 'newfstatat', 'munmap', 'mprotect')
    for name in known:
        assert [v for n, v in ours if n == name] == [v for n, v in theirs if n == name], (name, ours, theirs)
    assert sum(n in known for n, _ in ours) > 20, ours


def test_what_is_refused(ctx):
    path = ctx.target('named', ('-O2',), 'gcc', ('-static',))
    r = ctx.run([ctx.bin('trapless'), '-L', 'process("%s").syscall.return' % path])
    assert r.stdout.split(').syscall')[1].startswith('.return $syscall:long $return:long $arg1:long'), r.stdout
    many = ''.join('probe syscall.open.return { println(%d) }\n' % n for n in range(65))
    for script, why in (('probe syscall.open.return { x = 1 println(@entry(x)) }', 'locals have no value yet'),
                        ('probe syscall.open { println($return) }', 'there is no return value here'),
                        ('probe syscall.open.return { println($nothing) }', "a system call's return has no `$nothing`"),
                        ('probe process.syscall.return(1) { exit() }', 'use .number(n), .return, or nothing'),
                        (many, 'more than 64 probes of returns of system calls')):
        r = scripted.launch(ctx, script, path)
        assert r.returncode == 1 and why in r.stderr, r.stderr


def test_values_at_entry(ctx):
    """Numbers and texts, by name and of all calls, in several threads at once, and where handlers of signals make calls meanwhile."""
    path = ctx.target('named', ('-O2',), 'gcc', ('-static',))
    script = '''probe syscall.{open,openat,access}.return {
        if (@entry(gettimeofday_us()) > gettimeofday_us() || @entry(tid()) != tid()) println("wrong")
        println(name, " ", @entry(user_string(pointer_arg($syscall == 257 ? 2 : 1), "?")), " ", retval) }
    probe process.syscall.return { if ($syscall == 95) println("umask ", @entry($arg1), " ", $return) }'''
    r = scripted.launch(ctx, script, path)
    assert r.script == '''open /dev/null 3
open /no/such
 -2
openat /dev/zero 4
openat ? -14
access / 0
umask 18 18
''', r.script + r.stderr
    storm = ctx.target('storm', ('-O2',), 'gcc', ('-pthread',))
    script = '''global n, wrong
    probe process.syscall.return { n++ if (@entry($syscall) != $syscall || @entry($arg1) != $arg1) wrong++ }
    probe end { printf("%d %d\\n", n > 100, wrong) }'''
    r = scripted.launch(ctx, script, storm + ' 5 2000', timeout=300)
    assert r.returncode == 5 and r.script == '1 0\n', r.script + r.stderr


test_values_at_entry.variants = support.PAIR


def test_values_of_another_call(ctx):
    """Where the handler at the entry fails, the return does not see what the call before has left there."""
    path = ctx.target('named', ('-O2',), 'gcc', ('-static',))
    # the second open() is made with mode 0640
    script = 'probe syscall.open.return { printf("%d %d\\n", @entry(7 / ($arg3 == 416 ? 0 : 1)), retval) }'
    r = scripted.launch(ctx, script, path, '-DMAXERRORS=1')
    assert r.script == '7 3\n', r.script + r.stderr
    assert 'division by 0' in r.stderr, r.stderr


test_values_of_another_call.variants = support.PAIR


def test_children_of_go(ctx):
    """Sessions come and go; the program sees nothing of them."""
    script = '''global e, r  probe process.syscall { e <<< $syscall }  probe process.syscall.return { r <<< $syscall }
        probe timer.ms(100) { exit() }  probe end { printf("%d %d", @count(e), @count(r)) }'''
    said = test_syscalls.sessions_on_children(ctx, script, 20 if ctx.long else 5, 60)
    assert sum(int(s.split()[1]) for s in said) > 0, said
