/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A script in this kernel. All functions may sleep; the device calls one at a time for each script. */
#ifndef TRAPLESS_KMOD_SCRIPT_H
#define TRAPLESS_KMOD_SCRIPT_H

#include <linux/types.h>

#include "../home/home.h"
#include "../home/tap.h"
#include "../runtime/session.h"
#include "device.h"

/* Where a probe stands, or may. */
struct script_slot {
	uintptr_t func; /* of the kernel itself; 0: none is known by that name */
	uint32_t probe;
};

/* All clocks at one time. */
struct clocks {
	uint64_t cycles, steady, real; /* steady: what nobody sets */
};

struct script {
	struct tl_tap tap; /* .file NULL: none is loaded */
	uint8_t *code; /* as it runs, CODE and DATA */
	struct clocks began;
	void *memory; /* of the session; readers may map it */
	uint64_t size;
	struct tl_home_module module;
	struct script_slot *
		slots; /* as s->ctl has them: one for each probe, then those for further functions of a name */
	uint32_t nslots;
	struct tl_ctl_session *ctl;
	struct tl_view outside; /* for handlers that run in ioctl */
	struct tl_view_ops ops; /* its own */
	struct tl_env *envs; /* ... one a probe */
	struct tl_value_text *value; /* of the file whose handler runs there */
	struct hooked *hooked; /* as many as probes; NULL: the kernel calls none */
	void *stacks; /* see stack.c; NULL: none is needed */
	struct tl_reader reader;
	uint8_t *out; /* records on their way to read() */
	size_t nout;
	bool final;
	unsigned modules; /* that had come when it was last armed */
};

/* script.c */
int script_load(struct script *s, struct tl_device_load *l); /* 0 or -errno */
void script_unload(struct script *s); /* disarmed */
/* What the next arming makes of the probes: off, a byte for each; jump false: breakpoints only, of all scripts. */
void script_want(struct script *s, const uint8_t *off, bool jump);
int script_arm(struct script *s); /* again, too: probes come and go as is wanted by now */
void script_disarm(struct script *s);
void script_usage(struct tl_usage *usage); /* of all scripts */
uint64_t script_standing(const struct script *s); /* bytes of s->ctl and what lies behind it */

/* outside.c: handlers that run in ioctl. start: 0 or -TL_E_; run: 0 or -errno. */
int script_outside_start(struct script *s);
int script_run(struct script *s, uint32_t probe);
int script_run_value(struct script *s, const struct tl_device_value *v, u32 __user *len);
int script_condition(struct script *s, uint32_t probe); /* 1: true; 0: false */

/* clock.c: time as handlers see it. start: takes some ms; mend: now and then, as rates drift and clocks are set. */
void script_clock_start(struct script *s);
void script_clock_mend(struct script *s);

/* code.c: where the module runs. 0 or -TL_E_ */
int script_map_code(struct script *s, const char **missing);
void script_unmap_code(struct script *s);

/* names.c: s->slots, before there is s->ctl. 0, -TL_E_NOMEM, -TL_E_LIMIT. */
int script_find(struct script *s);

/* places.c: where its probes stand: addresses and sizes of functions into s->ctl, or a result that says why not. */
void script_place(struct script *s);
/* The module that a probe is of; NULL: the kernel itself. */
const char *script_module_of(const struct script *s, const struct tl_tap_probe *p);
/* The module of that name, past its start; NULL: it is not loaded. module_mutex is held. */
const struct module *script_loaded(const char *name);

/* stack.c. 0 or -TL_E_NOMEM; own: it has a slot; free: no handler runs any more. */
int script_stacks_make(struct script *s);
void script_stacks_own(struct script *s);
void script_stacks_free(struct script *s);
/* Has the handler of a probe that is filled in run there, if that is needed. */
void script_stack_of(const struct script *s, struct tl_ctl_probe *p);
/* handler(a, b, c) on such a stack, which there is. Any context. */
unsigned long script_call(struct script *s, void *handler, void *a, void *b, void *c);
/* handler(a, NULL, c) for the device, one at a time; on a stack of the script's own if it needs that. */
unsigned long script_call_outside(struct script *s, void *handler, void *a, void *c);

/* indent.c: no handler runs any more. */
void script_forget_indents(const struct script *s);

/* hooks.c: probes that the kernel calls. How many are on; all off: when it returns no handler runs any more. */
int script_hook(struct script *s);
void script_unhook(struct script *s);

/* symbols.c: all of text is written: "name+0x5", "module:name+0x5", or "". */
void script_name(uint64_t addr, char *text, size_t room);

/* traces.c */
bool script_is_listener(
	unsigned long pc); /* where a tracepoint's handler is called from: no part of its stack */

/* records.c: fill s->out; how many bytes. */
int script_read_start(struct script *s);
size_t script_read(struct script *s);

#endif
