/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Argument probes: a handler with the parameters of the function it watches.
 *
 *	static void on_scale(int rows, double factor, const char *name) { ... }
 *
 *	static struct tl_argprobe p = {.entry = (void *)scale, .handler = (tl_arg_fn)on_scale};
 *	ret = tl_argprobe_register(&p);
 *
 * The handler runs at the function's entry, in the thread that calls it, before
 * its first instruction, and gets every argument as the function would: in
 * general registers (the static chain and the count of vector registers of a
 * variadic call too), in vector registers as wide as the processor has them,
 * and stack_bytes of those on the stack, as a copy. When it returns the
 * function runs with its original arguments: all registers, flags, vector and
 * x87 state and their control words are what they were. Only what it does
 * through pointers, to globals and the like stays.
 *
 * Unlike other handlers it is compiled as usual, with vector registers. The
 * rest of probe.h's rules holds: it must not block or allocate, and calls the C
 * library only where the function itself might at this moment (a handler on
 * malloc's inside must not call malloc); a signal may come; a probe that is hit
 * inside it, or a call of the function itself, is skipped and counted in
 * nmissed. No exception may leave it; a longjmp may.
 *
 * It takes about 3.5 KiB of the thread's stack with AVX-512 (1.2 KiB with AVX,
 * next to nothing with TL_PROBE_NO_VECTORS), stack_bytes, and what it needs
 * itself: with TL_PROBE_BIG_STACK all of that comes from a private stack of
 * 64 KiB.
 */
#ifndef TRAPLESS_ARGPROBE_H
#define TRAPLESS_ARGPROBE_H

#include <trapless/probe.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Any function: cast it. Its result is ignored; declare it void. A function
 * that returns a structure by memory has a hidden first parameter, the
 * pointer to it, and so has its handler; a C++ member function has `this`.
 */
typedef void (*tl_arg_fn)(void);

/* AMX tiles are not arguments, and are not saved. */
#define TL_ARG_STACK_MAX 4096

struct tl_argprobe {
	/* Set by the caller before registering, then left alone. */
	void *entry;	     /* the function's first instruction */
	tl_arg_fn handler;
	void *data;	     /* the caller's */
	uint32_t flags;	     /* enum tl_probe_flag */
	/*
	 * Bytes of arguments on the stack, at most TL_ARG_STACK_MAX; 0: all are in registers. What the first 6
	 * integers and pointers, and the first 8 of float, double and vectors leave over: 8 bytes each, 16, 32, 64
	 * for a vector; 16 for a long double; a structure beyond 16 bytes, or that does not fit into the registers
	 * left, as a whole. For `...` as much as the handler is going to read: not more than callers have
	 * passed, where the call may stand at the very end of a stack, since it is read unasked.
	 */
	uint32_t stack_bytes;

	/* The engine's. May be given to tl_probe_enable(), _disable(), and read; the listing shows it. */
	struct tl_probe probe;
};

/*
 * As tl_probe_register(), and -TL_E_INVAL without entry or handler, or with
 * too many stack_bytes. Any number at one function, beside other probes; they
 * see what handlers before them have changed. On every rung. Sleeps.
 */
int tl_argprobe_register(struct tl_argprobe *ap);
int tl_argprobe_unregister(struct tl_argprobe *ap);

/* The call at which a handler runs. */
struct tl_arg_call {
	struct tl_argprobe *probe;
	const struct tl_regs *regs; /* at the entry; call-preserved ones with TL_PROBE_REGS only */
	struct tl_thread *self;	    /* for tl_thread_local() */
	uintptr_t ret_ip;	    /* where the function returns to */
};
/* From an argument probe's handler, in its thread; elsewhere NULL. */
const struct tl_arg_call *tl_arg_call(void);

#ifdef __cplusplus
}
#endif
#endif
