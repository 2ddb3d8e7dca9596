/* SPDX-License-Identifier: MIT */
/*
 * Instructions that fault: the handler must find each at its own address, and may jump out, mend what was wrong and go
 * on, or skip it, on either stack. Prints "right ROUNDS", and returns 7.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#define FUNCTION(name, before, faulty, behind)                                                     \
	long name(long *p, long n);                                                                \
	extern char name##_faulty[], name##_behind[];                                              \
	__asm__(".text\n.globl " #name "\n.type " #name ",@function\n" #name ":\n"                 \
		".cfi_startproc\n" before "\n" #name "_faulty: " faulty "\n" #name                 \
		"_behind: " behind "\nret\n.cfi_endproc\n.size " #name ", . - " #name "\n")

FUNCTION(at_first, "", "mov (%rdi),%rax", "add $1,%rax");
FUNCTION(inside, "mov %rdi,%rcx", "mov (%rdi),%rax", "sub %rcx,%rcx\nadd $1,%rax");
FUNCTION(long_one, "", "movq $41,0x100(%rdi)", "mov 0x100(%rdi),%rax\nadd $1,%rax");
FUNCTION(through, "push %rcx", "call *0x100(%rdi)", "pop %rcx");
FUNCTION(through_first, "", "jmp *0x100(%rdi)", "");
FUNCTION(divides, "cqo", "idiv %rsi", "mov $42,%eax");

static long answer(void)
{
	return 42;
}

static long good[64];

static const struct one {
	long (*fn)(long *p, long n);
	char *faulty, *behind;
	int sig;
	bool cannot_skip;
} all[] = {
	{at_first, at_first_faulty, at_first_behind, SIGSEGV, false},
	{inside, inside_faulty, inside_behind, SIGSEGV, false},
	{long_one, long_one_faulty, long_one_behind, SIGSEGV, true},
	{through, through_faulty, through_behind, SIGSEGV, false},
	{through_first, through_first_faulty, through_first_behind, SIGSEGV, false},
	{divides, divides_faulty, divides_behind, SIGFPE, false},
};
enum { CASES = sizeof(all) / sizeof(all[0]) };
enum how { LEAVE, MEND, SKIP, HOWS };

static const struct one *now;
static enum how how;
static long wrong, handled, at_call;
static sigjmp_buf out;

static void handler(int sig, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;

	handled++;
	getppid(); /* a system call before the last one */
	wrong += sig != now->sig || r[REG_RIP] != (greg_t)now->faulty ||
		 r[REG_RSP] != at_call - (now->fn == through ? 8 : 0);
	wrong += sig == SIGFPE && info->si_addr != now->faulty;
	if (how == LEAVE)
		siglongjmp(out, 1);
	if (how == SKIP) {
		r[REG_RIP] = (greg_t)now->behind;
		r[REG_RAX] = 41;
		return;
	}
	r[REG_RDI] = (greg_t)good;
	r[REG_RSI] = 1;
}

/* The stack pointer where it faults. */
static __attribute__((noinline)) long call(const struct one *o, long *p, long n)
{
	long result;

	__asm__ volatile("lea -8(%%rsp),%%rax\n\tmov %%rax,%3\n\tcall *%4"
			 : "=&a"(result), "+D"(p), "+S"(n), "=m"(at_call)
			 : "b"(o->fn)
			 : "rcx", "rdx", "r8", "r9", "r10", "r11", "cc", "memory");
	return result;
}

static void run(const struct one *o)
{
	now = o;
	good[0] = 41;
	good[32] = (long)answer;
	handled = 0;
	if (!sigsetjmp(out, 1)) {
		long got = call(o, (long *)8, 0);

		wrong += how == LEAVE || (how == MEND && got != 42) || (how == SKIP && got < 41);
	}
	wrong += handled != 1;
	wrong += call(o, good, 1) != 42 || handled != 1; /* and without a fault */
}

static void on(bool alternate)
{
	struct sigaction a = {
		.sa_sigaction = handler, .sa_flags = SA_SIGINFO | (alternate ? SA_ONSTACK : 0)};

	sigaction(SIGSEGV, &a, NULL);
	sigaction(SIGFPE, &a, NULL);
}

int main(int argc, char **argv)
{
	static char memory[64 * 1024];
	stack_t s = {.ss_sp = memory, .ss_size = sizeof(memory)};
	int rounds = argc > 1 ? atoi(argv[1]) : 10, i, n;

	sigaltstack(&s, NULL);
	for (i = 0; i < rounds; i++) {
		on(i & 1);
		for (how = LEAVE; how < HOWS; how++)
			for (n = 0; n < CASES; n++)
				if (!(how == SKIP && all[n].cannot_skip))
					run(&all[n]);
	}
	if (wrong)
		printf("wrong %ld\n", wrong);
	else
		printf("right %d\n", rounds);
	return 7;
}
