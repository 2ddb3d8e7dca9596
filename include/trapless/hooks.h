/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Static hooks (<trapless/hook.h>) from inside of the program: list them, listen to them, switch them. libtrapless.
 *
 *	static void on_packet(void *data, const struct packet *p, uint32_t len) { ... }
 *
 *	ret = tl_hook_listen(net, packet_in, on_packet, &mine);
 *	...
 *	tl_hook_unlisten(net, packet_in, on_packet, &mine);
 *
 * Those who listen are called by the place itself, in its thread, in the order in which they came: ordinary functions, that
 * may do what the place might do. Of a hook with a verdict the first one that returns something else than its default
 * decides, and the rest is not asked. A place that a listener reaches calls it again. longjmp() may not leave it; exceptions,
 * pthread_exit() and cancellation may, where all files with the hook are C++ or compiled with -fexceptions: out of others
 * they leave the thread inside for good, and who detaches waits for it. A child that a listener forks attaches and detaches
 * nothing before the listener has returned.
 *
 * A library may be closed by another thread meanwhile, but none that has hooks of the pattern which are switched by their
 * text, nor one whose hooks are being told (tl_hooks_list(), tl_hooks_trace()).
 *
 * All functions sleep: call them from ordinary code, with threads running through the hooks as they like. From within a
 * listener they are refused with -TL_E_IN_CALLBACK, from a signal handler with -TL_E_IN_SIGNAL. Results: 0 or more, or -TL_E_,
 * with nothing changed.
 */
#ifndef TRAPLESS_HOOKS_H
#define TRAPLESS_HOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trapless/error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tl_hook;
struct tl_hook_call;

/* --- what there is ------------------------------------------------------------------- */

#define TL_HOOK_PARAMETERS 8

struct tl_hook_parameter {
	const char *type, *name;
	unsigned size; /* bytes */
	bool is_signed;
	unsigned
		kind; /* as __builtin_classify_type() says: 1 integer, 5 pointer, 8 floating-point, 12 structure */
};
/* Strings are the file's, and go with it. */
struct tl_hook_info {
	struct tl_hook *hook; /* TL_HOOK_OF(provider, name) */
	const char *name; /* "provider:name" */
	const char *result; /* type of the verdict; "int" where there is none */
	const char *file; /* path, as the loader knows it; "": the program */
	unsigned form; /* TL_HOOK_FLAG, _NOP, _JUMP */
	unsigned nparameters;
	struct tl_hook_parameter parameter[TL_HOOK_PARAMETERS];
	size_t nplaces; /* that are switched by their text; 0 where they test a flag */
	unsigned nlisteners; /* inside of the program */
	bool on; /* somebody listens, inside or outside, or it was switched on */
};

/*
 * Call fn for each hook whose name fits the pattern ("net:*"; '*', '?' and '[...]' as in file names), in the program and
 * its libraries; ends when fn returns nonzero, and returns that. A file and a library that declare the same one have one each.
 */
int tl_hooks_list(
	const char *pattern, int (*fn)(const struct tl_hook_info *info, void *arg), void *arg);
/* -TL_E_NO_HOOK: no file that is mapped has it in its table. */
int tl_hook_describe(const struct tl_hook *hook, struct tl_hook_info *info);
/* The first of this name; NULL: there is none. */
struct tl_hook *tl_hook_find(const char *name);

/* --- listening ------------------------------------------------------------------------ */

/*
 * The compiler looks at the parameters. fn: `void (void *data, parameters)`, of hooks with a verdict its type in place of
 * void. The hook is that of the file in which this stands.
 */
#define tl_hook_listen(provider, name, fn, data)                                                   \
	TL__LISTEN(tl_hook_attach, tl_hook_##provider##_##name, fn, data)
#define tl_hook_unlisten(provider, name, fn, data)                                                 \
	TL__LISTEN(tl_hook_detach, tl_hook_##provider##_##name, fn, data)
#define TL_HOOK_OF(provider, name)     (&tl_hook_##provider##_##name)
#define TL__LISTEN(what, id, fn, data) what(&id, (tl_hook_fn)TL__LISTENER(id##_fn, fn), data)
#ifdef __cplusplus
#define TL__LISTENER(type, fn) (true ? (fn) : (type)NULL)
#else
#define TL__LISTENER(type, fn) _Generic((fn), type : (fn))
#endif

/* Any such function: cast it. */
typedef void (*tl_hook_fn)(void);
/*
 * The same with `call` for the parameters: what listens to hooks whose types it does not know. It cannot ask for them from
 * within: keep what tl_hooks_list() tells, whose `hook` is call->hook.
 */
typedef void (*tl_hook_any_fn)(void *data, const struct tl_hook_call *call);

/*
 * Whoever is attached comes behind those that are. -TL_E_STATE: with this data it is already, or not attached.
 * -TL_E_NO_HOOK, -TL_E_HOOK_TABLE, and of hooks that are switched by their text what tl_probe_register() tells.
 */
int tl_hook_attach(struct tl_hook *hook, tl_hook_fn fn, void *data);
/* When this returns fn does not run, and will not. A hook that went with its library, and came back, has no listeners. */
int tl_hook_detach(struct tl_hook *hook, tl_hook_fn fn, void *data);
/* All hooks that fit the pattern and have it not yet. How many now have it, 0: none fits; where one is refused, none has got it. */
int tl_hooks_attach(const char *pattern, tl_hook_any_fn fn, void *data);
/* How many had it. */
int tl_hooks_detach(const char *pattern, tl_hook_any_fn fn, void *data);

/*
 * ON: places call the hook's function, though nobody listens. OFF: they do not, whoever listens here; who listens from outside
 * is not concerned. AUTO, as all are at first: while somebody listens. How many fit the pattern, or -TL_E_, at the first that
 * was refused.
 */
enum tl_hooks_switch { TL_HOOKS_AUTO, TL_HOOKS_ON, TL_HOOKS_OFF };
int tl_hooks_switch(const char *pattern, enum tl_hooks_switch how);

/* --- as events ------------------------------------------------------------------------ */

/*
 * The trace facility (<trapless/trace.h>) has an event for each hook that fits, with its name; parameters are the fields. Its
 * places are on while somebody wants the event: a tracer, or callbacks. Hooks of one name have one event; those of a library
 * that comes later have it when this is called again. How many hooks fit (0: none), or with nothing changed: -TL_E_PAYLOAD: one has a
 * structure (not a pointer to it) or a reference as parameter, or two of one name have not the same ones; what tl_trace_declare() and
 * tl_hooks_attach() tell.
 */
int tl_hooks_trace(const char *pattern);
/* How many events there were. -TL_E_STATE: one has callbacks, and it and those behind it stay. */
int tl_hooks_untrace(const char *pattern);

#ifdef __cplusplus
}
#endif
#endif
