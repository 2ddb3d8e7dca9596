# SPDX-License-Identifier: MIT
"""System calls of programs: counts are what the program has made, arguments what it has given."""
import os
import re
import shlex
import shutil
import subprocess

import scripted
import support

GETPPID, READ, SCHED_YIELD, CLONE3, GETPID, GETTID = 110, 0, 24, 435, 39, 186
NUMBERS = dict(getppid=GETPPID, read=READ, sched_yield=SCHED_YIELD, clone3=CLONE3, close=3, mmap=9, mprotect=10, rt_sigprocmask=14,
               madvise=28, openat=257, set_robust_list=273, rseq=334)
COUNT = '''global n, good
probe process.syscall {
    n[$syscall]++
    if ($syscall == 110 && $arg1 == 11 && $arg2 == 12 && $arg3 == 13 && $arg4 == 14 && $arg5 == 15 && $arg6 == 16) good++
    if ($syscall == 0 && int_arg(1) == -1 && $arg3 == 77) good++
}
probe end { foreach (nr in n) printf("%d %d\\n", nr, n[nr])  printf("good %d\\n", good) }
'''
BUILDS = dict(dynamic=(('-O2',), ('-pthread',)), static=(('-O2',), ('-pthread', '-static')),
              fixed=(('-O2', '-fno-pie'), ('-pthread', '-no-pie')))


def builds(ctx, *names):
    for name in names or BUILDS:
        cflags, ldflags = BUILDS[name]
        yield ctx.target('syscalls', cflags, 'gcc', ldflags)


def counts(text):
    return {int(nr): int(n) for nr, n in re.findall(r'^(-?\d+) (\d+)$', text, re.M)}


def test_calls_and_arguments(ctx):
    """By its first instruction on, in threads, with and without a dynamic loader."""
    for path in builds(ctx):
        r = scripted.launch(ctx, COUNT, path + ' 4 500')
        assert r.returncode == 5, r.stdout + r.stderr
        n = counts(r.script)
        assert (n[GETPPID], n[SCHED_YIELD], n[CLONE3]) == (4000, 2000, 4), (path, r.script, r.stderr)
        assert n[READ] >= 2000 and 'good 4000\n' in r.script, (path, r.script, r.stderr)
        assert [scripted.number(r.stderr, w) for w in ('probes refused', 'hits missed')] == [0, 0], r.stderr


test_calls_and_arguments.variants = support.PAIR


BY_NUMBER = '''global good, bad
probe process.syscall {
    if ($syscall == 110 && long_arg(3) == 13 && long_arg(4) == 14 && uint_arg(5) == 15 && pointer_arg(6) == 16) good++
    if ($syscall == 110) try { long_arg(7) } catch { bad++ }
}
probe process.syscall.return { if ($syscall == 110 && long_arg(1) == 11 && long_arg(4) == 14) good++ }
probe syscall.getppid { if (long_arg(1) == 11 && long_arg(4) == 14) good++ }
probe process.function("main") { if (int_arg(1) == 3 && pointer_arg(2)) good++ }
probe end { println(good, " ", bad) }
'''


def test_arguments_by_number(ctx):
    """They are the kernel's: the fourth is not where a function has it, and there is no seventh."""
    r = scripted.launch(ctx, BY_NUMBER, next(builds(ctx, 'dynamic')) + ' 2 100')
    assert r.returncode == 5 and r.script == '601 400\n', r.script + r.stderr


test_arguments_by_number.variants = support.PAIR


def test_calls_of_a_running_program(ctx):
    """And of it alone: what it does before and behind the session is not seen."""
    for path in builds(ctx, 'dynamic', 'static'):
        p = support.start(ctx, path, 3, 400, 'waits')
        before = support.Before(p.pid, os.path.basename(path))
        s = scripted.attach(ctx, COUNT, pid=p.pid)
        p.stdin.write('\n')
        p.stdin.flush()
        assert p.stdout.readline() == 'done\n'
        out, _ = scripted.finish(s)
        n = counts(out)
        assert (n[GETPPID], n[SCHED_YIELD]) == (2400, 1200) and 'good 2400\n' in out, out
        before.check_text()
        assert not support.tracer_of(p.pid)
        p.stdin.write('\n')
        p.stdin.close()
        assert p.wait(300) == 5


test_calls_of_a_running_program.variants = support.PAIR


def test_code_that_no_table_covers(ctx):
    """What a covered function falls, jumps or calls into is code. What only a pointer leads to is not proven: told by its number."""
    path = ctx.target('gaps', ('-O2',), 'gcc', ('-s',))
    r = scripted.launch(ctx, COUNT.replace('probe end', 'probe process.syscall.return { if ($return < 0 && $syscall == 110) good++ }\nprobe end'),
                        path + ' 50')
    assert (r.returncode, r.stdout) == (21, 'getppid 50 sched_yield 100 getpid 50 gettid 50 bad 0\n'), (r.returncode, r.stdout, r.stderr)
    n = counts(r.script)
    assert (n[GETPPID], n[SCHED_YIELD], n[GETPID], n.get(GETTID)) == (50, 100, 50, None) and 'good 0\n' in r.script, (r.script, r.stderr)
    unseen = [line for line in r.stderr.splitlines() if 'system calls that are not seen' in line]
    assert len(unseen) == 1 and re.search(r': number 186 at gaps-[^ ]*; ', unseen[0]), unseen


test_code_that_no_table_covers.variants = support.PAIR


def test_without_debug_information(ctx):
    """As Debian is without libc6-dbg: the call that makes a thread lies where no unwind entry says what is code."""
    if os.getuid() or subprocess.run(['unshare', '-m', 'true'], stderr=subprocess.DEVNULL).returncode:
        ctx.skip('only root may hide the debug information of this machine')
    hidden = 'mkdir -p /usr/lib/debug && mount -t tmpfs none /usr/lib/debug && exec "$0" "$@"'
    script = 'global n, r  probe process.syscall { n[$syscall]++ }  probe process.syscall.return { r[$syscall]++ }  ' \
             'probe end { printf("%d %d\\n", n[435], r[435]) }'
    r = ctx.run(['unshare', '-m', 'sh', '-c', hidden, ctx.bin('trapless'), '-o', os.path.join(ctx.tmp, 'out'), '-e', script,
                 '-c', next(builds(ctx, 'dynamic')) + ' 4 100'], timeout=300, env=dict(scripted.environment(ctx), DEBUGINFOD_URLS=''))
    assert r.returncode == 5 and 'not seen' not in r.stderr, r
    assert open(os.path.join(ctx.tmp, 'out')).read() == '4 4\n', r.stderr


test_without_debug_information.variants = ('opt',)
test_without_debug_information.root_only = 'only root may hide the debug information from a program'


def test_as_strace_counts(ctx):
    if not shutil.which('strace'):
        ctx.skip('no strace')
    path = next(builds(ctx, 'dynamic'))
    theirs = subprocess.run(['strace', '-f', '-c', '-U', 'calls,name', path, '3', '100'], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, timeout=300)
    theirs = {name: int(n) for n, name in re.findall(r'^ *(\d+) (\w+)$', theirs.stderr, re.M)}
    ours = counts(scripted.launch(ctx, COUNT, path + ' 3 100').script)
    for name, nr in NUMBERS.items():
        assert ours[nr] == theirs[name], (name, ours, theirs)


test_as_strace_counts.variants = support.PAIR


# Real programs, with and without a dynamic loader.
PROGRAMS = (('cat', '/etc/passwd'), ('sort', '/etc/passwd'), ('gzip', '-c', '/etc/passwd'), ('find', '/etc/apt'), ('/sbin/ldconfig', '-p'))
# before the session's begin; not counted by strace, which sees no end of it; the return from signal handlers is not probed
NOT_OF_BOTH = {'execve', 'exit_group', 'rt_sigreturn'}


def strace_counts(ctx, command):
    path = os.path.join(ctx.tmp, 'strace.out')
    subprocess.run(['strace', '-f', '-c', '-U', 'calls,name', '-o', path, *command], stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, timeout=300, check=True)
    with open(path) as f:
        return {name: int(n) for n, name in re.findall(r'^ *(\d+) (\w+)$', f.read(), re.M) if name != 'total'}


def our_counts(ctx, command):
    path = os.path.join(ctx.tmp, 'ours.out')
    script = 'global n  probe syscall_any { n[name]++ }  probe end { foreach (c in n) printf("%s %d\\n", c, n[c]) }'
    r = subprocess.run([ctx.bin('trapless'), '-w', '--cc', 'gcc', '-o', path, '-c', shlex.join(command), '-e', script],
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=300,
                       env=dict(os.environ, **scripted.environment(ctx)))
    assert r.returncode == 0, r.stderr
    with open(path) as f:
        return {name: int(n) for name, n in re.findall(r'^(\w+) (\d+)$', f.read(), re.M)}


def test_real_programs_as_strace_counts(ctx):
    if not shutil.which('strace'):
        ctx.skip('no strace')
    for command in PROGRAMS:
        same_counts(ctx, command)


def test_commands_of_a_shell_as_strace_counts(ctx):
    """What the target's children become is not named by the script; strace has the shell's own start, too."""
    if not shutil.which('strace'):
        ctx.skip('no strace')
    command = 'ls / >/dev/null; cat /etc/passwd | sort >/dev/null; (date); env env true; exec tail -n 1 /etc/passwd'
    same_counts(ctx, ('sh', '-c', command))


def test_static_child(ctx):
    """Nothing of it can be seen, which is told once; it is as it would be."""
    path = next(builds(ctx, 'static'))
    r = scripted.launch(ctx, 'probe process.syscall { if (execname() != "sh") println(execname()) }',
                        "sh -c '%s 1 1; %s 1 1; exit 9'" % (path, path))
    assert r.returncode == 9 and r.script == '', r.script
    assert r.stderr.count('nothing is seen of child process') == 1, r.stderr
    assert scripted.number(r.stderr, 'child processes that ran untraced') == 2, r.stderr


def test_static_child_of_its_name(ctx):
    path = next(builds(ctx, 'static'))
    alone = scripted.launch(ctx, 'global n probe process.syscall.number(110) { n++ } probe end { println(n) }', path + ' 1 1')
    r = scripted.launch(ctx, 'global n probe process("%s").syscall.number(110) { n++ } probe end { println(n) }' % path,
                        "sh -c '%s 1 1; %s 1 1; exit 9'" % (path, path))
    assert r.returncode == 9 and int(r.script) == 2 * int(alone.script) > 0, (r.script, alone.script)
    assert 'nothing is seen' not in r.stderr, r.stderr


def same_counts(ctx, command, names=None):
    theirs, ours = strace_counts(ctx, command), our_counts(ctx, command)
    names = names or (set(theirs) | set(ours)) - NOT_OF_BOTH
    assert sum(theirs.get(n, 0) for n in names) > 20, (command, theirs)
    assert {n: theirs.get(n) for n in names} == {n: ours.get(n) for n in names}, (command, theirs, ours)


GO_READS = '''package main

import "os"

func main() {
	done := make(chan bool)
	for i := 0; i < 8; i++ {
		go func() {
			for j := 0; j < 10; j++ {
				os.ReadFile("/etc/passwd")
			}
			done <- true
		}()
	}
	for i := 0; i < 8; i++ {
		<-done
	}
	os.Stdout.WriteString("done")
}
'''


def test_go_as_strace_counts(ctx):
    """What its run-time system asks for beside the program's own calls depends on the time."""
    if not shutil.which('strace'):
        ctx.skip('no strace')
    same_counts(ctx, [support.go_program(ctx, GO_READS)], ('openat', 'read', 'close', 'write', 'sched_getaffinity'))


def test_what_may_be_asked(ctx):
    path = next(builds(ctx, 'static'))
    r = ctx.run([ctx.bin('trapless'), '-L', 'process("%s").syscall' % path])
    assert r.stdout.split(').syscall')[1] == ' $syscall:long' + ''.join(' $arg%d:long' % i for i in range(1, 7)) + '\n', r.stdout
    r = scripted.launch(ctx, 'probe process.syscall { println($arg7) exit() }', path + ' 1 1')
    assert 'a system call has no $arg7' in r.stderr, r.stderr
    r = scripted.launch(ctx, 'probe process.syscall(1) { exit() }', path + ' 1 1')
    assert 'takes no argument' in r.stderr, r.stderr
    for point, why in (('syscall.opn', 'did you mean `syscall.open`?'), ('process.syscall.number("read")', '`number` takes that of a system call')):
        r = scripted.launch(ctx, 'probe %s { exit() }' % point, path + ' 1 1')
        assert why in r.stderr, r.stderr
    r = scripted.launch(ctx, 'probe syscall.read { println($nothing) exit() }', path + ' 1 1')
    assert 'a system call has no `$nothing`' in r.stderr, r.stderr


test_what_may_be_asked.variants = support.PAIR


NAMED = '''O_RDWR|O_CLOEXEC
open("/dev/null", O_RDWR|O_CLOEXEC)
open("/no/such\\n", O_WRONLY|O_CREAT|O_EXCL, 0640)
openat(AT_FDCWD, "/dev/zero", O_RDONLY)
openat(-1, 0x10, O_RDONLY|O_PATH)
read(-2, *, 3)
write(-3, "a\\0b", 3)
lseek(-1, -7, SEEK_END)
access("/", R_OK|X_OK)
socket(PF_INET, SOCK_STREAM|SOCK_NONBLOCK, IPPROTO_IP)
connect(-1, {AF_INET, 127.0.0.1, 80}, 16)
bind(-1, {AF_UNIX, "/no/such/socket"}, 110)
mmap2(0x0, 4096, PROT_READ, MAP_PRIVATE, -1, 8192)
nanosleep([0.000000005], 0x0)
kill(0, SIG_0)
pipe2(NULL, O_CLOEXEC)
epoll_ctl(-1, EPOLL_CTL_MOD, 5, 0x0)
fcntl(-1, F_DUPFD_CLOEXEC, 0x9)
execve("/no/such/program", ["nothing", "a b"], [])
fstatat(AT_FDCWD, "", *, AT_EMPTY_PATH)
unshare(CLONE_FS)
umask(022)
'''.splitlines()[1:]


def named(ctx, points, how, **kw):
    """What the handler prints of the program's own calls."""
    r = scripted.launch(ctx, 'probe %s { %s }' % (points, how), ctx.target('named', ('-O2',), 'gcc', ('-static',)), **kw)
    assert r.returncode == 0, r.stdout + r.stderr
    return r.script.splitlines()


def test_calls_by_name(ctx):
    """Each with its arguments as SystemTap shows them."""
    lines = named(ctx, 'syscall.*', 'printf("%s(%s)\\n", name, argstr)')
    begins = [i for i, line in enumerate(lines) if scripted.as_expected(line, NAMED[0])]
    own = lines[begins[0]:begins[0] + len(NAMED)]
    for line, wanted in zip(own, NAMED):
        assert scripted.as_expected(line, wanted), (line, wanted)
    assert len(own) == len(NAMED), own


def test_ways_to_say_a_name(ctx):
    opens = ['/dev/null 524290', '/no/such\\n 193', '/dev/zero 0', ' 2097152']
    show = 'printf("%s %d\\n", text_str(filename_unquoted), flags)'
    for points in ('syscall.{open,openat}', 'nd_syscall.open, dw_syscall.openat', 'tp_syscall.open*', 'syscall.open, syscall.openat',
                   'process.syscall.number(2), process.syscall.number(257)'):
        body = show if 'number' not in points else 'printf("%s %d\\n", text_str(user_string($syscall == 2 ? $arg1 : $arg2, "")), ' \
            '$syscall == 2 ? $arg2 : $arg3)'
        assert named(ctx, points, body) == opens, points
    # the kernel's names, too; several calls under one
    assert named(ctx, 'syscall.newfstatat, syscall.pipe, syscall.mmap?', 'if (name != "mmap2" || length == 4096) println(name)') == \
        ['mmap2', 'pipe2', 'fstatat'] and named(ctx, 'syscall.pipe2', 'println(name)') == ['pipe2']
    lines = named(ctx, 'syscall_any', 'printf("%d %s\\n", syscall_nr, name)')
    assert lines[lines.index('2 open'):][:5] == ['2 open', '2 open', '257 openat', '257 openat', '0 read'], lines


def test_a_probe_at_each_place_for_all_names(ctx):
    """Others' numbers cost a test; what nobody takes is not computed."""
    path = ctx.target('named', ('-O2',), 'gcc', ('-static',))
    def passed(script, *args):
        r = ctx.run([ctx.bin('trapless'), *args, '-c', path, '-e', script])
        assert r.returncode == 0, r.stderr
        return r.stdout + r.stderr
    probes = re.compile(r'analysed (\d+) probes')
    one, all_names, any_call = (int(probes.search(passed('probe %s { println(name) }' % p, '-v', '-p2')).group(1))
                                for p in ('syscall.open', 'syscall.*', 'syscall_any'))
    # send and recv, which no program can make, stand nowhere
    assert one == all_names - 2 == any_call, (one, all_names, any_call)
    c = passed('probe syscall.open, syscall.read { n[name] <<< flags }'.replace('probe', 'global n probe'), '-p3')
    assert re.search(r'switch \(\(uint32_t\)regs->ax\) \{\s+case 0:\s+h\d+\(p, regs, self\);\s+break;\s+case 2:', c), c
    assert 'tl_user_string' not in c, c
    assert 'tl_user_string' in passed('probe syscall.open { println(argstr) }', '-p3')


def test_names_of_the_script_beside_those_of_the_call(ctx):
    """An array that is called like a variable of some call is another thing."""
    r = scripted.launch(ctx, 'global fd  probe syscall.{read,write} { fd[name] = argstr }  probe end { println(fd["read"], fd["write"]) }',
                        ctx.target('named', ('-O2',), 'gcc', ('-static',)))
    assert re.search(r'-2, 0x[0-9a-f]+, 3-3, "a\\0b", 3', r.script), r.script + r.stderr


CHILDREN = '''package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
)

func main() {
	var over atomic.Bool
	var wg sync.WaitGroup
	fmt.Println("ready")
	for i := 0; i < 4; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for !over.Load() {
				out, err := exec.Command("/bin/echo", "hi").Output()
				if err != nil || string(out) != "hi\\n" {
					fmt.Println("wrong", err, out)
					os.Exit(1)
				}
			}
		}()
	}
	bufio.NewReader(os.Stdin).ReadString('\\n')
	over.Store(true)
	wg.Wait()
	os.Exit(15)
}
'''


SHORT = 'global n  probe process.syscall { n++ }  probe timer.ms(60) { exit() }  probe end { println(n) }'


def sessions_on_children(ctx, script, rounds, patience):
    """What each of so many sessions prints on a Go program that starts children all the time, and sees nothing of them."""
    p = support.start(ctx, support.go_program(ctx, CHILDREN), stderr=subprocess.STDOUT)
    said = []
    for _ in range(rounds):
        r = ctx.run([ctx.bin('trapless'), '-w', '--cc', 'gcc', '-x', str(p.pid), '-e', script], env=scripted.environment(ctx), timeout=300)
        if p.poll() is not None:
            raise AssertionError((p.returncode, p.communicate()[0], r))
        assert r.returncode == 0, r
        said.append(r.stdout)
    p.stdin.write('\n')
    p.stdin.flush()
    out, _ = p.communicate(timeout=patience)
    assert (p.returncode, out) == (15, ''), (p.returncode, out, said)
    return said


def test_children_of_go(ctx):
    """A child that shares its parent's memory, and thread pointer, until it runs another program: its hits must not make
    its parent's thread one that has ended with it. Go's threads are known by that pointer alone."""
    said = sessions_on_children(ctx, SHORT, 20 if ctx.long else 6, 30)
    assert sum(int(n) for n in said) > 0, said
