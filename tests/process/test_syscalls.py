# SPDX-License-Identifier: MIT
"""System calls of programs: counts are what the program has made, arguments what it has given."""
import os
import re
import shutil
import subprocess

import scripted
import support

GETPPID, READ, SCHED_YIELD, CLONE3 = 110, 0, 24, 435
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
        assert p.wait(20) == 5


test_calls_of_a_running_program.variants = support.PAIR


def test_as_strace_counts(ctx):
    if not shutil.which('strace'):
        ctx.skip('no strace')
    path = next(builds(ctx, 'dynamic'))
    theirs = subprocess.run(['strace', '-f', '-c', '-U', 'calls,name', path, '3', '100'], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, timeout=100)
    theirs = {name: int(n) for n, name in re.findall(r'^ *(\d+) (\w+)$', theirs.stderr, re.M)}
    ours = counts(scripted.launch(ctx, COUNT, path + ' 3 100').script)
    for name, nr in NUMBERS.items():
        assert ours[nr] == theirs[name], (name, ours, theirs)


test_as_strace_counts.variants = support.PAIR


def test_what_may_be_asked(ctx):
    path = next(builds(ctx, 'static'))
    r = ctx.run([ctx.bin('trapless'), '-L', 'process("%s").syscall' % path])
    assert r.stdout.split(').syscall')[1] == ' $syscall:long' + ''.join(' $arg%d:long' % i for i in range(1, 7)) + '\n', r.stdout
    r = scripted.launch(ctx, 'probe process.syscall { println($arg7) exit() }', path + ' 1 1')
    assert 'a system call has no $arg7' in r.stderr, r.stderr
    r = scripted.launch(ctx, 'probe process.syscall(1) { exit() }', path + ' 1 1')
    assert 'takes no argument' in r.stderr, r.stderr


test_what_may_be_asked.variants = support.PAIR


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


def test_children_of_go(ctx):
    """A child that shares its parent's memory, and thread pointer, until it runs another program: its hits must not make
    its parent's thread one that has ended with it. Go's threads are known by that pointer alone."""
    path = support.go_program(ctx, CHILDREN)
    p = support.start(ctx, path, stderr=subprocess.STDOUT)
    seen = 0
    for _ in range(20 if ctx.long else 6):
        r = ctx.run([ctx.bin('trapless'), '-w', '--cc', 'gcc', '-x', str(p.pid), '-e', SHORT], env=scripted.environment(ctx), timeout=60)
        if p.poll() is not None:
            raise AssertionError((p.returncode, p.communicate()[0], r))
        assert r.returncode == 0, r
        seen += int(r.stdout)
    p.stdin.write('\n')
    p.stdin.flush()
    out, _ = p.communicate(timeout=30)
    assert (p.returncode, out) == (15, '') and seen, (p.returncode, out, seen)
