/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Places that must not be probed, and why: text that somebody else changes,
 * code that must not run a handler, functions whose return means nothing.
 */
#ifndef TRAPLESS_RESERVE_H
#define TRAPLESS_RESERVE_H

#include <trapless/probe.h>

#ifdef __cplusplus
extern "C" {
#endif

enum tl_reserve {
	/*
	 * Somebody else changes these bytes, or needs them where they are (a jump label, a JIT's stubs). No
	 * probe stands here, and no jump of a probe next to here covers, moves or shares one of them:
	 * -TL_E_RESERVED.
	 */
	TL_RESERVE_TEXT,
	/* No probe here: what handlers call, say. Nor is any of it moved: -TL_E_BLACKLIST. */
	TL_RESERVE_PROBE,
	/* No return probe on a function that begins here; other probes may stand: -TL_E_RET_BLACKLIST. */
	TL_RESERVE_RETURN,
	/* The engine's own code: -TL_E_SELF. In the listing only. */
	TL_RESERVE_OWN,
};

/* A range of text. It is the caller's memory, and lives until it is released. */
struct tl_reservation {
	uintptr_t start;
	size_t size;
	uint32_t kind;	    /* enum tl_reserve */
	uint32_t reserved;  /* the engine's */
	const char *reason; /* for whoever is refused; may be NULL */
};

/*
 * Reserve. Ranges may overlap. Where a probe stands in the range, armed or
 * not, it is refused with -TL_E_PROBED and *who (may be NULL) tells one; with
 * TL_RESERVE_RETURN this is the entry of a return probe. Where only the jump
 * of a probe next to the range would touch it, that probe takes another rung
 * first, and if it has none (TL_PROBE_NO_TRAP), it is the one that stands in
 * the way. -TL_E_INVAL: an empty range or an unknown kind; -TL_E_STATE: it is
 * reserved already. Sleeps.
 */
int tl_text_reserve(struct tl_reservation *r, struct tl_probe_info *who);
/* Probes near by take better rungs again when they are armed the next time. Sleeps. */
int tl_text_release(struct tl_reservation *r);

/* Why a probe may not stand at an address. */
struct tl_refusal {
	int why;	    /* -TL_E_, 0: it may */
	uintptr_t start;    /* the range that forbids it */
	size_t size;	    /* 0: it is about the place itself */
	const char *reason; /* never NULL: the reservation's, or tl_error_text() */
};

/*
 * Asks without registering; nothing changes. With `returns`, may a return
 * probe be on the function that begins at addr, as far as its entry tells?
 * func_start and func_size as in struct tl_probe, or 0. Returns out->why. Sleeps.
 */
int tl_text_refusal(const void *addr, bool returns, uintptr_t func_start, size_t func_size,
	struct tl_refusal *out);

/*
 * All reservations in address order, the engine's own too; not the functions
 * that the engine knows by name not to return as others do: those
 * tl_text_refusal() tells. Stops when fn returns nonzero, and returns that. Sleeps.
 */
int tl_text_reservations(int (*fn)(const struct tl_reservation *r, void *arg), void *arg);

/*
 * Code of the program that no probe may reach, its handlers first of all, as
 * one range:
 *
 *	static int TL_NOPROBE on_hit(struct tl_probe *p, ...)
 *	static struct tl_reservation handlers;
 *	ret = tl_text_reserve_noprobe(&handlers);
 *
 * For the executable or library that this is compiled into.
 */
#if defined(__ELF__)
#define TL_NOPROBE __attribute__((noinline, section("tl_noprobe")))
extern const char __start_tl_noprobe[] __attribute__((weak, visibility("hidden")));
extern const char __stop_tl_noprobe[] __attribute__((weak, visibility("hidden")));
static inline int tl_text_reserve_noprobe(struct tl_reservation *r)
{
	r->start = (uintptr_t)__start_tl_noprobe;
	r->size = (size_t)((uintptr_t)__stop_tl_noprobe - (uintptr_t)__start_tl_noprobe);
	r->kind = TL_RESERVE_PROBE;
	r->reason = "marked TL_NOPROBE";
	return r->size ? tl_text_reserve(r, NULL) : -TL_E_INVAL;
}
#endif

#ifdef __cplusplus
}
#endif
#endif
