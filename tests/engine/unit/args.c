/* SPDX-License-Identifier: MIT */
/* Argument probes on the toy machine: three registers, and words on the stack. */
#include "machine.h"
#include <trapless/argprobe.h>

static uintptr_t got[5];
static const struct tl_arg_call *call;

static void handler(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e)
{
	uintptr_t key = fake.key;

	hits++;
	got[0] = a;
	got[1] = b;
	got[2] = c;
	got[3] = d;
	got[4] = e;
	call = tl_arg_call();
	fake.key = key + 4096; /* a thread that is in no handler */
	if (tl_arg_call())
		got[0] = 0;
	fake.key = key;
}

/* 0 set r1,9 | 3 inc r0 | 5 nop | 6 nop | 7 ret */
static void function(void)
{
	world();
	E(TOY_SET, 1, 9, TOY_INC, 0, TOY_NOP, TOY_NOP, TOY_RET);
	hits = 0;
	call = NULL;
	memset(got, 0, sizeof(got));
}

static struct tl_argprobe watching(void)
{
	struct tl_argprobe p = {.entry = (void *)TEXT(0), .handler = (tl_arg_fn)handler};

	p.probe.func_start = TEXT(0);
	p.probe.func_size = (uint32_t)text_end;
	return p;
}

static bool clean(void)
{
	return tl_engine_exit() && !fake.live && !fake.locked;
}

/* A call with r0 to r2 as 5, 6, 7 and two words on the stack; the result is checked. */
static bool called_right(void)
{
	static struct cpu c;

	cpu_init(&c, 0, 0);
	c.r[0] = 5;
	c.r[1] = 6;
	c.r[2] = 7;
	c.stack[--c.sp] = 22;
	c.stack[--c.sp] = 11;
	c.stack[--c.sp] = HALT;
	return run(&c) && c.r[0] == 6 && c.r[1] == 9 && c.r[2] == 7;
}

static void the_handler_gets_the_arguments(void)
{
	struct tl_argprobe p;

	function();
	p = watching();
	CHECK(called_right() && hits == 0);
	CHECK(tl_argprobe_register(&p) == 0 && p.probe.state == TL_PROBE_ARMED);
	CHECK(called_right() && hits == 1);
	CHECK(got[0] == 5 && got[1] == 6 && got[2] == 7 && got[3] == 0 && got[4] == 0);
	CHECK(call && !tl_arg_call());
	CHECK(tl_argprobe_unregister(&p) == 0);
	p.stack_bytes = 2 * sizeof(uintptr_t);
	CHECK(tl_argprobe_register(&p) == 0);
	CHECK(called_right() && got[3] == 11 && got[4] == 22);
	CHECK(tl_argprobe_unregister(&p) == 0);
	CHECK(called_right() && hits == 2);
	CHECK(clean());
}

static void the_knob_and_the_trap_rung(void)
{
	struct tl_argprobe p;

	function();
	p = watching();
	CHECK(tl_probes_optimize(false) == 0);
	CHECK(tl_argprobe_register(&p) == 0);
	CHECK(p.probe.site->patch->plan->rung == TL_RUNG_TRAP);
	CHECK(called_right() && hits == 1 && got[2] == 7);
	CHECK(tl_probes_optimize(true) == 0);
	CHECK(p.probe.site->patch->plan->rung != TL_RUNG_TRAP);
	CHECK(called_right() && hits == 2 && got[0] == 5);
	CHECK(tl_probe_disable(&p.probe) == 0);
	CHECK(called_right() && hits == 2);
	CHECK(tl_probe_enable(&p.probe) == 0);
	CHECK(called_right() && hits == 3);
	CHECK(tl_argprobe_unregister(&p) == 0);
	CHECK(clean());
}

static void refusals_change_nothing(void)
{
	struct tl_argprobe p;

	function();
	p = watching();
	p.stack_bytes = TL_ARG_STACK_MAX + 1;
	CHECK(tl_argprobe_register(&p) == -TL_E_INVAL);
	p.stack_bytes = 0;
	p.handler = NULL;
	CHECK(tl_argprobe_register(&p) == -TL_E_INVAL);
	p.handler = (tl_arg_fn)handler;
	p.entry = (void *)TEXT(1);
	CHECK(tl_argprobe_register(&p) == -TL_E_NOT_BOUNDARY);
	p.entry = (void *)TEXT(0);
	CHECK(tl_argprobe_register(&p) == 0);
	CHECK(tl_argprobe_register(&p) == -TL_E_STATE);
	CHECK(tl_argprobe_unregister(&p) == 0);
	CHECK(tl_argprobe_unregister(&p) == -TL_E_STATE);
	CHECK(called_right() && hits == 0);
	CHECK(clean());
}

int main(void)
{
	RUN(the_handler_gets_the_arguments);
	RUN(the_knob_and_the_trap_rung);
	RUN(refusals_change_nothing);
	return UNIT_RESULT();
}
