# SPDX-License-Identifier: MIT
"""Return probes on stacks that end or switch in unusual ways: the program prints what it does alone, and each normal
return is seen once."""
import os
import re
import shutil
import subprocess

from scripted import launch, number
from support import ALL, PAIR, go_program, tap

NAMES = ('thrower', 'rethrower', 'quiet', 'sleeper', 'yielder', 'in_handler', 'interrupted', 'walker')
SCRIPT = '\nglobal entered, returned, wrong, child\n' + ''.join(
    'probe process.function("%s") { entered++ }\n'
    'probe process.function("%s").return { returned++ }\n' % (n, n) for n in NAMES) + '''
probe process.function("yielder").return { if ($return != @entry($n)) wrong++ }
probe process.function("interrupted").return { if ($return != @entry($n)) wrong++ }
probe process.function("in_handler").return { if ($return != @entry($n) + 1) wrong++ }
probe process.function("in_child").return { child++; if ($return != @entry($n)) wrong++ }
probe end { printf("entered %d returned %d wrong %d child %d\\n", entered, returned, wrong, child) }
'''
CHILDREN = 3  # the parent, the vfork child, which runs in its memory, and the clone child, which is followed
LEFT = 'calls left by an exception or longjmp'
MISSED = 'hits missed'
UNPAIRED = 'returns without their call'


def same(ctx, path, rounds=10):
    bare = ctx.run([path, str(rounds)])
    r = launch(ctx, SCRIPT, '%s %d' % (path, rounds))
    assert (r.stdout, r.returncode) == (bare.stdout, bare.returncode) and bare.returncode == 12, (bare, r)
    assert ' bad 0\n' in bare.stdout, bare.stdout
    entered, returned = (int(x) for x in re.search(r'entered (\d+) returned (\d+)', bare.stdout).groups())
    assert r.script == 'entered %d returned %d wrong 0 child %d\n' % (entered, returned, CHILDREN), (r.script, bare.stdout, r.stderr)
    assert number(r.stderr, MISSED) == number(r.stderr, UNPAIRED) == 0, r.stderr


def target(ctx, cxx='g++', *more):
    return ctx.target('frames.cc', cc=cxx, cflags=('-O2', '-g', '-pthread') + more)


def test_frames(ctx):
    """Rethrown, through noexcept, forced unwind, cancelled, swapcontext, signals, backtrace, vfork, clone."""
    same(ctx, target(ctx))


def test_static(ctx):
    same(ctx, target(ctx, 'g++', '-static'))


def test_clang(ctx):
    same(ctx, target(ctx, 'clang++'))


def test_coroutines(ctx):
    """Those of C++20: a body is entered to go on and returns to hand over; an exception ends some."""
    path = ctx.target('coroutines.cc', cc='g++', cflags=('-O2', '-g', '-std=c++20'))
    symbols = tap.elf_symbols(open(path, 'rb').read())
    body = next(addr for name, (addr, _, _) in symbols.items() if name.endswith('.actor'))
    bare = ctx.run([path])
    r = launch(ctx, '''
global entered, returned, bodies, wrong
probe process.function("between") { entered++ }
probe process.function("between").return { returned++; if ($return != @entry($n) * 2) wrong++ }
probe process.function("resumed") { entered++ }
probe process.function("resumed").return { returned++; if ($return != @entry($want)) wrong++ }
probe process.statement(0x%x) { bodies++ }
probe end { printf("entered %%d returned %%d bodies %%d wrong %%d\\n", entered, returned, bodies, wrong) }
''' % body, path)
    assert (r.stdout, r.returncode) == (bare.stdout, bare.returncode) and bare.returncode == 16, (bare, r)
    assert r.script == bare.stdout, (r.script, bare.stdout, r.stderr)
    assert number(r.stderr, MISSED) == number(r.stderr, UNPAIRED) == 0, r.stderr


PROTECTED = ('-fcf-protection=full', '-Wl,-z,ibt,-z,shstk')
# Prints what the kernel has switched on for it.
STATUS = '''
#include <stdio.h>
int main(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	for (int c; f && (c = getc(f)) != EOF;)
		putchar(c);
}
'''


def test_control_flow_protection(ctx):
    """Landing pads for indirect branches (endbr64): they stay where they are."""
    same(ctx, target(ctx, 'g++', *PROTECTED))


def test_shadow_stacks(ctx):
    """No return address is touched. Without such a processor: tests/engine/process/shadow.c."""
    with open(ctx.tmp + '/status.c', 'w') as f:
        f.write(STATUS)
    subprocess.run(['gcc', *PROTECTED, '-o', ctx.tmp + '/status', ctx.tmp + '/status.c'], check=True)
    os.environ['GLIBC_TUNABLES'] = 'glibc.cpu.hwcaps=SHSTK' # a program marked for it does not get it by itself
    try:
        if not re.search('x86_Thread_features:.*shstk', ctx.run([ctx.tmp + '/status']).stdout):
            ctx.skip('processor, kernel or C library give programs no shadow stack')
        same(ctx, target(ctx, 'g++', *PROTECTED))
    finally:
        del os.environ['GLIBC_TUNABLES']


def test_rust(ctx):
    """A Rust program that panics and catches it, with threads."""
    rustc = shutil.which('rustc')
    if not rustc:
        ctx.skip('no rustc')
    source, path = ctx.tmp + '/frames.rs', ctx.tmp + '/frames-rs'
    with open(source, 'w') as f:
        f.write(RUST)
    subprocess.run([rustc, '-O', '-g', '-o', path, source], check=True)
    bare = ctx.run([path])
    r = launch(ctx, '''
global n, r
probe process.function("plain") { n++ }
probe process.function("plain").return { r++ }
probe process.function("panics") { n++ }
probe process.function("panics").return { r++ }
probe end { printf("entered %d returned %d\\n", n, r) }
''', path)
    assert (r.stdout, r.returncode) == (bare.stdout, 13) and bare.returncode == 13, (bare, r)
    assert bare.stdout.endswith(r.script), (bare.stdout, r.script, r.stderr)
    # 20 panics; the last one of a thread is not missed by anybody before the thread ends
    assert 16 <= number(r.stderr, LEFT) <= 20, r.stderr


RUST = '''
use std::panic;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
static ENTERED: AtomicU64 = AtomicU64::new(0);
static RETURNED: AtomicU64 = AtomicU64::new(0);

#[no_mangle]
#[inline(never)]
pub extern "C" fn plain(n: u64) -> u64 {
    ENTERED.fetch_add(1, SeqCst);
    RETURNED.fetch_add(1, SeqCst);
    n * 3
}

#[no_mangle]
#[inline(never)]
pub fn panics(n: u64) -> Vec<u64> {
    ENTERED.fetch_add(1, SeqCst);
    let v = vec![plain(n); 3];
    if n % 2 == 1 {
        panic!("odd");
    }
    RETURNED.fetch_add(1, SeqCst);
    v
}

fn main() {
    panic::set_hook(Box::new(|_| {}));
    let all: Vec<_> = (0..4)
        .map(|_| std::thread::spawn(|| (0..10).filter(|&n| panic::catch_unwind(|| panics(n)).is_ok()).count()))
        .collect();
    let ok: usize = all.into_iter().map(|t| t.join().unwrap()).sum();
    println!("ok {}", ok);
    println!("entered {} returned {}", ENTERED.load(SeqCst), RETURNED.load(SeqCst));
    std::process::exit(13);
}
'''


def test_go(ctx):
    """Goroutines that are switched in the middle of probed calls, recursion, panic and recover. On one processor:
    a call that goes on in another thread is not paired with its entry."""
    if not shutil.which('gccgo-12'):
        ctx.skip('no gccgo-12')
    source, path = ctx.tmp + '/frames.go', ctx.tmp + '/frames-go'
    with open(source, 'w') as f:
        f.write(GO)
    subprocess.run(['gccgo-12', '-O2', '-g', '-o', path, source], check=True)
    bare = ctx.run([path])
    r = launch(ctx, '''
global n, r, wrong
probe process.function("main.yields") { n++ }
probe process.function("main.yields").return { r++; if ($return != @entry($n) * 2) wrong++ }
probe process.function("main.deep") { n++ }
probe process.function("main.deep").return { r++ }
probe process.function("main.panics") { n++ }
probe process.function("main.panics").return { r++ }
probe end { printf("entered %d returned %d wrong %d\\n", n, r, wrong) }
''', path)
    assert (r.stdout, r.returncode) == (bare.stdout, 15) and bare.returncode == 15, (bare, r)
    assert bare.stdout.endswith(r.script), (bare.stdout, r.script, r.stderr)


GO = '''
package main

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
)

var entered, returned int64

//go:noinline
func yields(n int64) int64 {
	atomic.AddInt64(&entered, 1)
	runtime.Gosched()
	atomic.AddInt64(&returned, 1)
	return n * 2
}

//go:noinline
func deep(n int64) int64 {
	atomic.AddInt64(&entered, 1)
	var r int64
	if n > 0 {
		r = deep(n-1) + 1
	}
	atomic.AddInt64(&returned, 1)
	return r
}

//go:noinline
func panics(n int64) int64 {
	atomic.AddInt64(&entered, 1)
	if n%2 == 1 {
		panic("odd")
	}
	atomic.AddInt64(&returned, 1)
	return n
}

func recovers(n int64) (r int64) {
	defer func() {
		if recover() != nil {
			r = -1
		}
	}()
	return panics(n) + 1
}

func main() {
	runtime.GOMAXPROCS(1)
	var wg sync.WaitGroup
	var sum int64
	for g := int64(0); g < 20; g++ {
		wg.Add(1)
		go func(g int64) {
			defer wg.Done()
			for i := int64(0); i < 20; i++ {
				atomic.AddInt64(&sum, yields(i)+deep(i)+recovers(i))
			}
		}(g)
	}
	wg.Wait()
	runtime.GC()
	fmt.Printf("sum %d\\n", sum)
	fmt.Printf("entered %d returned %d wrong 0\\n", entered, returned)
	os.Exit(15)
}
'''


def test_go_with_moving_stacks(ctx):
    """Go's own compiler. Nothing is harmed, whatever is probed; a stack that grows under a call makes its function begin
    anew, which is one entry more, and moves it, which is one return less."""
    path = go_program(ctx, STACKS)
    count = 'probe process.function("%s") { n++ } probe process.function("%s").return { r++ } '
    # The longer the runtime is probed by breakpoints, the more it has to do at its ticks: there a few goroutines are enough.
    few = 4 if ctx.env.get('TRAPLESS_TRAPS_ONLY') else 20
    for pattern, routines in (('main.grows', 20), ('*', few)) if ctx.long else (('main.grows', 20),):
        bare = ctx.run([path, str(routines)])
        calls = int(re.fullmatch(r'calls (\d+) right\n', bare.stdout).group(1))
        r = launch(ctx, 'global n, r ' + count % (pattern, pattern) + 'probe end { printf("%d %d\\n", n, r) }',
                   '%s %d' % (path, routines), timeout=300)
        assert (r.stdout, r.returncode) == (bare.stdout, 15) and bare.returncode == 15, (bare, r)
        entered, returned = map(int, r.script.split())
        assert entered > calls and returned > calls / 2, (calls, entered, returned, r.stderr)
        if pattern != '*':
            missed = sum(max(number(r.stderr, words), 0) for words in (MISSED, UNPAIRED))
            assert returned < calls and abs(returned + missed - calls) <= calls / 100, (calls, returned, missed, r.stderr)


STACKS = '''
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
)

var calls int64

//go:noinline
func grows(n int64) int64 {
	var room [64]int64

	atomic.AddInt64(&calls, 1)
	if n == 0 {
		return 0
	}
	room[n%64] = n
	return grows(n-1) + room[n%64]
}

func main() {
	var wg sync.WaitGroup
	said := "right"
	routines, _ := strconv.Atoi(os.Args[1])
	for g := 0; g < routines; g++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for n := int64(0); n < 200; n += 10 {
				if grows(n) != n*(n+1)/2 {
					said = "wrong"
				}
			}
		}()
	}
	wg.Wait()
	fmt.Println("calls", calls, said)
	os.Exit(15)
}
'''


def test_collector(ctx):
    """
    A collector that stops all threads by signals and scans their stacks (libgc), with probes in what runs meanwhile.
    It is to rely on each of them: where it sends those anew that take over 10 ms, libgc 8.2.2 counts some twice, and hangs.
    """
    source = ctx.tmp + '/gc.c'
    with open(source, 'w') as f:
        f.write(COLLECTED)
    path = ctx.tmp + '/collected'
    p = subprocess.run(['gcc', '-O2', '-g', '-pthread', '-o', path, source, '-lgc'], capture_output=True, text=True)
    if p.returncode:
        ctx.skip('no libgc-dev')
    bare = ctx.run([path])
    ctx.env = dict(ctx.env, GC_RETRY_SIGNALS='0')
    r = launch(ctx, '''
global n, r, wrong
probe process.function("node") { n++ }
probe process.function("node").return { r++; if (!$return) wrong++ }
probe end { printf("nodes %d %d wrong %d\\n", n, r, wrong) }
''', path)
    assert (r.stdout, r.returncode) == (bare.stdout, 14) and bare.returncode == 14, (bare, r)
    count = int(re.search(r'nodes (\d+)', bare.stdout).group(1))
    assert r.script == 'nodes %d %d wrong 0\n' % (count, count), (r.script, bare.stdout, r.stderr)


COLLECTED = '''
#define GC_THREADS
#include <gc.h>
#include <pthread.h>
#include <stdio.h>

struct node { struct node *next; long value; };
static long nodes;

__attribute__((noinline)) struct node *node(struct node *next, long value)
{
	struct node *n = GC_MALLOC(sizeof(*n));

	__atomic_fetch_add(&nodes, 1, __ATOMIC_RELAXED);
	n->next = next;
	n->value = value;
	return n;
}

static void *work(void *arg)
{
	long sum = 0;

	for (int round = 0; round < 20; round++) {
		struct node *list = NULL;

		for (long i = 0; i < 2000; i++)
			list = node(list, i);
		if (round % 5 == 0)
			GC_gcollect();
		for (; list; list = list->next)
			sum += list->value;
	}
	*(long *)arg = sum;
	return NULL;
}

int main(void)
{
	pthread_t t[4];
	long sum[4];

	GC_INIT();
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, work, &sum[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	printf("sum %ld %ld %ld %ld nodes %ld\\n", sum[0], sum[1], sum[2], sum[3], nodes);
	return 14;
}
'''

test_go_with_moving_stacks.long = True
test_go_with_moving_stacks.variants = PAIR
test_frames.variants = ALL
test_coroutines.variants = test_static.variants = test_clang.variants = test_control_flow_protection.variants = PAIR
test_rust.variants = test_go.variants = PAIR


SMALL_STACKS = '''
package main

import (
	"fmt"
	"os"
	"sync"
)

var touched int

//go:nosplit
//go:noinline
func deepest(room *[300]byte) int {
	room[3]++
	return int(room[3])
}

//go:nosplit
//go:noinline
func nosplit(n int) int {
	var room [300]byte

	room[3] = byte(n)
	return deepest(&room)
}

//go:noinline
func depth(n int) int {
	if n == 0 {
		return 1
	}
	return depth(n-1) + nosplit(n)&1
}

// Its stack lies beside those of others.
func keeps(start, stop chan bool, wrong *int, mu *sync.Mutex) {
	var a [100]uint64

	for i := range a {
		a[i] = 0x5555555555555555
	}
	start <- true
	<-stop
	for i := range a {
		if a[i] != 0x5555555555555555 {
			mu.Lock()
			*wrong++
			mu.Unlock()
		}
	}
	start <- true
}

func main() {
	var wg sync.WaitGroup
	var mu sync.Mutex
	start, stop, wrong, sum := make(chan bool), make(chan bool), 0, 0

	for k := 0; k < 50; k++ {
		go keeps(start, stop, &wrong, &mu)
		<-start
		wg.Add(1)
		go func(k int) {
			defer wg.Done()
			s := 0
			for d := 1; d < 40; d++ {
				s += depth(d + k)
			}
			mu.Lock()
			sum += s
			mu.Unlock()
		}(k)
	}
	wg.Wait()
	close(stop)
	for k := 0; k < 50; k++ {
		<-start
	}
	fmt.Println(sum, wrong)
	os.Exit(15)
}
'''


def test_go_with_little_stack_left(ctx):
    """Functions that may use much of what is left of a goroutine's stack: handlers have stacks of their own there."""
    path = go_program(ctx, SMALL_STACKS)
    calls = sum(d + k for k in range(50) for d in range(1, 40))
    for suffix in '', '.return':
        r = launch(ctx, 'global n probe process.function("main.deepest")%s { n <<< 1 } probe end { println(@count(n)) }' % suffix, path)
        assert (r.stdout.split()[1:], r.returncode) == (['0'], 15), r
        assert r.script == '%d\n' % calls, (r.script, calls, r.stderr)


def test_go_with_no_stack_left(ctx):
    """A chain of nosplit functions that uses up its goroutine's stack: a detour in the deepest would overwrite its neighbour's."""
    path = go_program(ctx, NEIGHBOURS, CHAIN)
    r = launch(ctx, 'global m, r probe process.function("main.middle") { m++ } probe process.function("main.middle").return { r++ } '
               'probe process.function("main.deepest") { error("never") } probe process.function("main.deepest").return { error("never") } '
               'probe end { println(m, " ", r) }', path)
    assert r.stdout == '0\n', r
    assert r.script == '100 100\n', (r.script, r.stderr)
    assert r.stderr.count('probe refused [STACK]: so little of the goroutine') == 2, r.stderr

def test_go_where_the_stack_is_known(ctx):
    """What may not be probed is known without running; and is little: what grows the stack, and the end of the chain."""
    path = go_program(ctx, NEIGHBOURS, CHAIN)
    r = ctx.run([ctx.bin('trapless'), '--explain', '-e', 'probe process.function("main.*") {} probe process.function("runtime.*") {}', '-c', path], timeout=300)
    refused = re.findall(r'^refused .*function\("([^"@]*)\S*  \[STACK\]', r.stderr, re.M)
    assert 'main.deepest' in refused and 'runtime.morestack.abi0' in refused, r.stderr
    assert len(refused) * 8 < len(re.findall(r'^\w+ .*  process\(', r.stderr, re.M)), refused

def test_go_heap_is_no_stack(ctx):
    """
    Goroutines' stacks lie in the heap: who leaves reads them, and not all that lies behind them; nor of a thread that is
    just being born. Some are all the while, and yet all is given back.
    """
    path = go_program(ctx, HEAP)
    p = ctx.start([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert p.stdout.readline() == 'ready\n'
    r = ctx.run([ctx.bin('trapless'), '-v', '-x', str(p.pid), '-e', 'global n probe process.syscall { if (n++ > 1000) exit() }'],
                timeout=300)
    assert r.returncode == 0 and 'still stands' not in r.stderr, r
    read = re.search(r'stacks +(\d+) KiB read', r.stderr)
    assert read and 0 < int(read.group(1)) < HEAP_KIB / 4, r.stderr
    out = p.communicate('\n')[0]
    assert (out, p.returncode) == ('right\n', 15), (out, p.returncode)


HEAP_KIB = 64 * 1024
HEAP = '''
package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
)

func main() {
	var over atomic.Bool
	var wg sync.WaitGroup
	for i := 0; i < 3; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for !over.Load() {
				if out, err := exec.Command("/bin/echo", "hi").Output(); err != nil || string(out) != "hi\\n" {
					fmt.Println("wrong", err, out)
					os.Exit(1)
				}
			}
		}()
	}
	wg.Add(1)
	go func() {
		defer wg.Done()
		for begun := make(chan bool); !over.Load(); <-begun {
			go func() {
				runtime.LockOSThread() // and that ends with it
				begun <- true
			}()
		}
	}()
	heap := make([][]int, 1024)
	for i := range heap {
		heap[i] = make([]int, 8192)
		for j := range heap[i] {
			heap[i][j] = i * j
		}
	}
	fmt.Println("ready")
	bufio.NewReader(os.Stdin).ReadString('\\n')
	over.Store(true)
	wg.Wait()
	runtime.KeepAlive(heap)
	fmt.Println("right")
	os.Exit(15)
}
'''


NEIGHBOURS = '''
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
)

// In assembly: a sum of what lies below the goroutine's stack, and the way down to where little of it is left.
func below() uint64
func down()

func main() {
	wrong := 0
	done := make(chan bool)
	debug.SetGCPercent(-1)
	runtime.GOMAXPROCS(1)
	for i := 0; i < 100; i++ {
		go func() {
			was := below()
			down()
			done <- below() == was
		}()
		if !<-done {
			wrong++
		}
	}
	fmt.Println(wrong)
	os.Exit(15)
}
'''

CHAIN = '''
#include "textflag.h"

// The word at TLS leads to the goroutine, whose first is its stack's lowest address.
TEXT ·below(SB), NOSPLIT, $0-8
	MOVQ (TLS), CX
	MOVQ 0(CX), BX
	XORL AX, AX
	MOVL $16, DX
more:
	SUBQ $8, BX
	ROLQ $1, AX
	XORQ (BX), AX
	DECL DX
	JNZ more
	MOVQ AX, ret+0(FP)
	RET

// By steps of 24 bytes to where it is not grown once more.
TEXT ·down(SB), 0, $8-0
	MOVQ (TLS), CX
	MOVQ SP, AX
	SUBQ 0(CX), AX
	CMPQ AX, $968
	JGE deeper
	CALL ·checks(SB)
	RET
deeper:
	CALL ·down(SB)
	RET

TEXT ·checks(SB), 0, $104-0
	CALL ·middle(SB)
	RET

// These two take 784 bytes, the linker allows for 792.
TEXT ·middle(SB), NOSPLIT, $720-0
	MOVQ $1, 8(SP)
	CALL ·deepest(SB)
	RET

TEXT ·deepest(SB), NOSPLIT, $40-0
	MOVQ $1, 8(SP)
	RET
'''
