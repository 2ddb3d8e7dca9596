/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the core's files share, and the layouts that the ports' entry code
 * relies on: `current` of a site, and the tl_probe fields behind it.
 */
#ifndef TRAPLESS_ENGINE_CORE_INTERNAL_H
#define TRAPLESS_ENGINE_CORE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trapless/probe.h>
#include "../arch/arch.h"
#include "../os/os.h"
#include "image.h"
#include "mem.h"
#include "thread.h"
#include "unpaired.h"

/* --- intrusive ordered index (index.c) ----------------------------------- */

struct tl_node {
	uintptr_t key;
	struct tl_node *left, *right;
};
struct tl_index {
	struct tl_node *root;
};
void tl_index_insert(struct tl_index *ix, struct tl_node *n, uintptr_t key);
void tl_index_remove(struct tl_index *ix, struct tl_node *n);
struct tl_node *tl_index_find(const struct tl_index *ix, uintptr_t key);
struct tl_node *tl_index_floor(const struct tl_index *ix, uintptr_t key); /* greatest key <= key */
struct tl_node *tl_index_ceil(const struct tl_index *ix, uintptr_t key); /* least key >= key */

uint32_t tl_index_priority(uintptr_t key);

/* --- free places (gaps.c) ---------------------------------------------------- */

/* The room behind something that is taken, which `key` is the place of. */
struct tl_gap {
	uintptr_t key, from;
	size_t room; /* bytes from `from` on; may be 0 */
	size_t most; /* of all below it, and itself */
	struct tl_gap *left, *right;
};
struct tl_gaps {
	struct tl_gap *root;
};
void tl_gap_add(struct tl_gaps *all, struct tl_gap *g); /* key, from and room are set */
void tl_gap_remove(struct tl_gaps *all, struct tl_gap *g);
void tl_gap_resize(struct tl_gaps *all, struct tl_gap *g, size_t room);
struct tl_gap *tl_gap_floor(const struct tl_gaps *all, uintptr_t key); /* greatest key <= key */
/* The lowest one of at least `size` bytes that ends behind `at`, or NULL. */
struct tl_gap *tl_gap_next(const struct tl_gaps *all, uintptr_t at, size_t size);
#ifdef TL_TEST
extern size_t tl_gap_looks; /* how often that was asked */
#endif

/* --- small objects (slab.c) ----------------------------------------------- */

struct tl_slab {
	size_t size;
	void *free;
	uint8_t *untouched; /* the rest of the last chunk */
	size_t left;
	struct tl_slab_chunk *chunks;
};
void *tl_slab_get(struct tl_slab *s); /* zeroed, NULL: no memory */
void tl_slab_put(struct tl_slab *s, void *obj);
void tl_slab_deinit(struct tl_slab *s);

/* --- objects of which little is touched (arena.c) --------------------------- */

void *tl_arena_get(size_t size); /* zeroed, NULL: no memory */
void tl_arena_put(void *obj);
void tl_arena_deinit(void); /* whatever is in it */

/* --- sites ------------------------------------------------------------------ */

/*
 * One probed address. The detour reads `current` once, after the thread's
 * guard is set, and calls current->pre(current, regs, thread). It is never
 * NULL, and its `pre` is never NULL; where the point has `post`, the detour
 * reads `current` anew behind the instruction and its `post` is never NULL.
 */
struct tl_site {
	struct tl_probe *current; /* a probe, &aggregate, or tl_probe_nothing */
	uintptr_t addr;
	struct tl_node node; /* in tl_core.sites */
	struct tl_probe *probes; /* oldest first; readers walk it inside a guard */
	struct tl_probe aggregate; /* its handlers walk the list */
	struct tl_patch *patch; /* that serves it now, NULL: not armed */
	uint32_t flags; /* wanted: union of the enabled probes' TL_PROBE_ flags */
	bool post; /* wanted: some enabled probe has a post handler */
	bool had_post; /* detours that call one may be in use, live or retired */
	bool private_stack; /* detours that need one may be in use, live or retired */
	uint32_t lacks; /* of TL_PROBE_ASKS: what some of them, live or retired, do not give */
	bool want; /* to be armed */
	bool queued; /* in the running batch */
	bool shy; /* in the running batch: somebody stands in its window */
	bool replaced; /* the program wrote over its patch */
	struct tl_patch *planned; /* in the running batch: the patch that will serve it */
	struct tl_site *waits_next; /* the optimizer's queue */
	bool waits; /* in it */
	uint8_t tries; /* of the optimizer, in vain */
	uint32_t refs; /* detours, live and retired, that hold its address */
	int why; /* it was refused, -TL_E_: of use only to who has just cleared it */
	uint32_t image; /* tl_image_generation() when it was registered */
	uintptr_t func_start; /* as given by a probe, else 0 */
	uint32_t func_size;
	uint64_t missed[TL_MISSED_KINDS]; /* added to the probes under the lock */
};

extern struct tl_probe tl_probe_nothing; /* both handlers do nothing */

struct tl_site *tl_site_get(uintptr_t addr); /* found or made */
struct tl_site *tl_site_find(uintptr_t addr);
struct tl_site *tl_site_next(uintptr_t addr); /* the first at or behind addr */
void tl_site_put(struct tl_site *s); /* freed when neither probes nor detours remain */
void tl_site_wants(struct tl_site *s); /* recompute flags, post, want out of the probes */
bool tl_site_only_trap(const struct tl_site *s); /* its flags or the knob forbid jumps */
void tl_site_link(struct tl_site *s, struct tl_probe *p);
void tl_site_unlink(struct tl_site *s, struct tl_probe *p); /* p->next stays for readers */
void tl_site_publish(struct tl_site *s); /* one store of `current` */
void tl_site_count_inside(struct tl_site *s); /* another handler */
void tl_site_count_missed(struct tl_site *s, enum tl_missed why);
void tl_site_fold_missed(struct tl_site *s);

/* --- detours ---------------------------------------------------------------- */

/* A block of detour memory. */
struct tl_detour {
	uintptr_t at;
	uint32_t size;
	uint32_t used; /* bytes of code */
	struct tl_plan plan; /* what it was built for */
	struct tl_node node; /* among the retired */
	struct tl_gap behind; /* what is free there; its key is `at` */
	struct tl_detour *next; /* retired for the same address */
	bool retired;
};

/* detmem.c: a reservation of detour memory. */
struct tl_chunk {
	struct tl_node node;
	uintptr_t at;
	size_t size;
	struct tl_gap bottom; /* what is free before its first block; its key is in front of `at` */
	uintptr_t lo, hi; /* tl_detour_poll(): its retired blocks */
	bool quiet;
};
struct tl_chunk *tl_chunk_at(uintptr_t at);
struct tl_chunk *tl_chunk_next(uintptr_t from);
/* From the first to the last of them; false: there is none. */
bool tl_chunks_span(uintptr_t *lo, uintptr_t *hi);
/* Where the plan's block of at least `bound` bytes would lie; 0 and *err. Until the next call of these. */
uintptr_t tl_detmem_look(const struct tl_plan *plan, size_t bound, int *err);
/* false: not even the smallest block fits. What retired detours hold may become free, and is not looked at. */
bool tl_detmem_room(const struct tl_plan *plan);
/* A block of at least `bound` bytes for the plan; NULL and *err. */
struct tl_detour *tl_detmem_get(const struct tl_plan *plan, size_t bound, int *err);
void tl_detmem_put(struct tl_detour *d);
void tl_detmem_usage(struct tl_usage *usage);
void tl_detmem_deinit(void);

/* Build and write a detour for plan; -TL_E_ and *out untouched on failure. Takes a reference on each site. */
int tl_detour_create(const struct tl_plan *plan, struct tl_detour **out);
/* Nothing leads to it any more, but somebody may be inside: keep until quiet. */
void tl_detour_retire(struct tl_detour *d);
bool tl_detours_retired(void); /* are there any? */
/* A retired detour that was built for this very plan, or NULL; and the same, come back to life. */
struct tl_detour *tl_detour_retired(const struct tl_plan *plan);
struct tl_detour *tl_detour_revive(const struct tl_plan *plan);
/* Never reached by anyone: give back at once. */
void tl_detour_cancel(struct tl_detour *d);
/* Free what is quiet among the retired; force: look even when few are retired. Returns how many remain. */
size_t tl_detour_poll(bool force);
/* Frees a retired one if nobody is inside: false, somebody may be. */
bool tl_detour_release(struct tl_detour *d);
/* May somebody inside a retired detour come back between lo and hi (both exclusive)? */
bool tl_detour_returns_into(uintptr_t lo, uintptr_t hi);
/* Nobody is inside any detour, live or retired, that serves one of them. One look at all threads. */
bool tl_detours_quiet(struct tl_site *const *sites, size_t n);
/* What was seen of the threads is out of date. */
void tl_detours_look_again(void);
/* For who leaves: the place in the text of a program counter in a retired detour, 0: it has none. */
uintptr_t tl_detour_text(uintptr_t ip);
void tl_detour_deinit(void);

/* --- patches ----------------------------------------------------------------- */

/* One changed place in the text. plan->points[] are the sites it serves. */
struct tl_patch {
	struct tl_node node; /* in tl_core.patches, key plan->start */
	struct tl_plan *plan; /* the detour's */
	struct tl_detour *detour;
	struct tl_patch
		*moved; /* the neighbour that had to go first: a patch without points, NULL: none */
	struct tl_patch *mover; /* this is such a neighbour, of that patch */
	struct tl_patch *next; /* lists of a batch */
	struct tl_change *change; /* of the running batch, NULL: its bytes stay as they are */
	uint8_t bytes[TL_PATCH_MAX]; /* what stands in the text: plan->changed of them */
	size_t journal; /* its entry there */
	struct tl_node text; /* in tl_core.written, while its bytes stand in the text */
	uint32_t image; /* tl_image_generation() when it was made */
	bool pulled; /* taken out by the running batch */
	bool revived; /* its detour was a retired one */
	bool entered; /* breakpoints led into its detour before it was written */
};

/*
 * A batch: sites whose wanted state changed. tl_batch_commit() plans, builds
 * and writes everything, or changes nothing and says why.
 */
struct tl_batch {
	struct tl_site **sites;
	size_t nsites, max;
	struct tl_patch *old, *fresh;
	struct tl_site *bad; /* the site that was refused */
	bool again; /* plan anew what would still serve */
	bool check; /* sites that nobody wants yet too, so that enabling them later is no surprise */
	bool careful; /* no windows over places that threads may come back to */
	bool no_windows; /* nor any other new one: somebody cannot be stopped */
	bool blocked; /* somebody stood inside a window; its sites are shy now */
	bool gone; /* the text of some patch is not there any more */
};
int tl_batch_init(struct tl_batch *b, size_t expect);
int tl_batch_add(struct tl_batch *b, struct tl_site *s);
int tl_batch_commit(struct tl_batch *b);
/*
 * Plans every wanted site of a batch, tells what became of it (plan NULL: refused, why), and takes it all
 * back: no text is written. The function looked at last stays in tl_core.func, for the next call.
 */
void tl_batch_foresee(struct tl_batch *b,
	void (*tell)(void *arg, const struct tl_site *s, const struct tl_plan *plan, int why),
	void *arg);
void tl_batch_deinit(struct tl_batch *b);
/* How its patch serves it. */
const struct tl_point *tl_site_point(const struct tl_site *s);

/*
 * optimizer.c: sites that may stand better than they do wait in a queue. All
 * of it is greedy: no probe needs it to work.
 */
void tl_optimizer_left(const struct tl_patch *p); /* a patch has gone: its neighbours */
void tl_optimizer_changed(
	const struct tl_batch *b); /* a batch has been carried out: its own sites */
void tl_optimizer_all(void); /* whatever stands on the trap rung and need not */
/* At the end of an operation, no batch under way: has the queue worked off, later or now. */
void tl_optimizer_kick(void);
void tl_optimizer_forget(void); /* empties it */

/* place.c: a plan and a detour for every wanted site that has none yet. 0, or -TL_E_ and b->bad. */
int tl_place_all(struct tl_batch *b);
void tl_batch_unmake(struct tl_batch *b); /* takes the first fresh patch back */
/* The same for b->sites[i], and those behind it that share its window. */
int tl_place_site(struct tl_batch *b, size_t i);
int tl_site_check(struct tl_site *s); /* may it be probed at all? 0 or -TL_E_ */
uintptr_t tl_site_insn_end(const struct tl_site *s); /* of the instruction, as far as it is known */

/* traps.c: breakpoints of the batch's fresh patches lead into their detours. 0 or -TL_E_. */
int tl_traps_add(struct tl_batch *b);
/* Takes that back for the fresh patches in front of `end`. */
void tl_traps_undo(struct tl_batch *b, const struct tl_patch *end);
/* Breakpoints that a window will swallow lead into it, and their old detours are empty. 0 or -TL_E_BUSY. */
int tl_traps_lead_in(struct tl_batch *b);
void tl_traps_lead_back(struct tl_batch *b);

/* patch.c: from the batch's old patches to its fresh ones, in the text. 0, or -TL_E_ with the text unchanged. */
int tl_patches_write(struct tl_batch *b);
size_t tl_patch_count(const struct tl_patch *list);
/* Patches do not overlap: the one with the highest start below `end`. */
struct tl_patch *tl_patch_below(uintptr_t end);
/* The patch for whose sake this neighbour was moved, or the patch itself. */
static inline struct tl_patch *tl_patch_first(struct tl_patch *p)
{
	while (p->mover)
		p = p->mover;
	return p;
}
struct tl_patch *tl_patch_at(
	uintptr_t addr); /* the patch that covers or shares the byte at addr, or NULL */
/* The first whose bytes stand in the text at or behind `from`, pulled or not; or NULL. */
struct tl_patch *tl_patch_written(uintptr_t from);
/* Behind the start, in front of the end. */
static inline bool tl_plan_inside(const struct tl_plan *plan, uintptr_t at)
{
	return at > plan->start && at < plan->start + plan->len;
}
/* Its bytes stand in the text now, or do not any more. */
void tl_patch_enter(struct tl_patch *p);
void tl_patch_leave(struct tl_patch *p);
void tl_patch_original(
	uintptr_t addr, uint8_t *buf, size_t len); /* overlay original bytes on a copy of text */

/* --- writing text (textpatch.c) -------------------------------------------------- */

struct tl_change {
	uintptr_t addr;
	uint8_t len;
	bool one_insn; /* before and after, one instruction starts at addr and nothing else does */
	bool window; /* new window: nobody may stand inside */
	bool linked; /* its order with the next higher change matters: where one is written with all stopped, both are */
	bool taken; /* nothing new comes here */
	bool past; /* written past the protection that the program has given its text */
	bool tangled; /* no order will do: everyone is stopped */
	uint8_t round; /* written when those of lower rounds are in force everywhere */
	uint8_t how; /* enum tl_patch_how */
	uint8_t from[TL_PATCH_MAX * 2], to[TL_PATCH_MAX * 2];
	struct tl_patch_step step;
	bool trapped; /* `from` is a breakpoint of ours */
	bool blocked; /* on failure: somebody stands in this window and cannot be moved */
	size_t next; /* the first one that was not opened together with this one, which was the first of those */
	const struct tl_patch *patch; /* the window, or the detour for a passing breakpoint */
};
/* Sorts them. 0, or -TL_E_ with the text unchanged. */
int tl_text_apply(struct tl_change *changes, size_t n);

/* --- journal: what the text was, for whoever has to clean up -------------------- */

#define TL_JOURNAL_MAGIC 0x746c6a32 /* "tlj2" */
struct tl_journal_entry {
	uint64_t addr;
	uint32_t len; /* 0: free */
	uint8_t orig[TL_PATCH_MAX], ours[TL_PATCH_MAX]; /* without the patch, and with it */
	uint32_t pad;
};
struct tl_journal {
	uint32_t magic, max;
	struct tl_journal_entry entry[];
};
/* Read by others at any moment: an entry's len is stored last and cleared first. */
extern struct tl_journal *volatile tl_journal;
int tl_journal_reserve(size_t more);
size_t tl_journal_put(uintptr_t addr, const uint8_t *orig, const uint8_t *ours,
	size_t len); /* reserved before; returns its number */
void tl_journal_drop(size_t number);
void tl_journal_deinit(void);

/* --- functions (func.c) -------------------------------------------------------------- */

/* The function part under analysis; one is cached during a batch. */
struct tl_func {
	struct tl_code code;
	struct tl_func *behind; /* memory for the part behind this one; NULL: nobody asks for it */
	bool last; /* there is none */
	void *mem;
	size_t mem_size;
	bool valid;
};
/* The part that holds addr, walked. start/size: bounds from the caller, or 0. */
int tl_func_get(struct tl_func *f, uintptr_t addr, uintptr_t start, size_t size);
/* Only copies and walks [start, start + size), in front of the function at `next`: no pads. 0 or -TL_E_. */
int tl_func_walk(uintptr_t start, size_t size, uintptr_t next, const struct tl_code **code);
void tl_funcs_deinit(void); /* what that has left */
void tl_func_forget(struct tl_func *f);
void tl_func_deinit(struct tl_func *f);
/*
 * Adds to the sorted pads[0..*npads) the places in [lo, hi) where other parts
 * of the image jump to. 0, or -TL_E_LIMIT when not all are known.
 */
int tl_image_entries(const struct tl_image *img, uintptr_t lo, uintptr_t hi, uintptr_t *pads,
	size_t max, size_t *npads);
/* A jump from elsewhere to target is known otherwise: from a part that no table lists. */
void tl_image_note_entry(void *arg, uintptr_t target);
void tl_images_deinit(void);

/* --- text that was unmapped (gone.c) ------------------------------------------------------ */

#define TL_PROBE_UNMAPPED 2 /* bit of tl_probe.reserved: gone by itself */
#define TL_PROBE_REPLACED 4 /* ... since something else stands there now */

/* Another number whenever another image, or the same one again, is found at that place; 0: none. */
uint32_t tl_image_generation(uintptr_t addr);
/* What is known of this image's text is out of date. */
void tl_image_renew(uintptr_t addr);
/* Has an image gone, or been replaced, since this was asked last? */
bool tl_images_changed(void);
bool tl_patch_stands(const struct tl_patch *p);
/* Those of n that are gone by themselves are their caller's affair again: they are not listed any more. */
void tl_gone_forget(struct tl_probe **probes, size_t n);
/* Forgets probes and patches whose text is gone. No batch may be under way, or only an empty one. */
void tl_drop_gone(void);
/* The same where nothing is known to have changed. Takes the engine lock. */
void tl_text_look(void);
/* At the start of every operation: looks whether images are gone. 0 or -TL_E_. */
int tl_images_refresh(void);
/* All that are mapped now. Once an operation: whoever comes again and again with what is no text makes nobody look anew. */
int tl_images_ask(void);

/* --- refusals (refuse.c) ---------------------------------------------------------------- */

int tl_refuse_addr(uintptr_t addr, const struct tl_image **img);

/* reserve.c: reserved text. Engine lock held. */
/* By us, by the caller, by other modifiers? 0 or -TL_E_. */
int tl_text_claimed(uintptr_t lo, uintptr_t hi);
int tl_refuse_return(uintptr_t entry); /* 0 or -TL_E_RET_BLACKLIST */
int tl_reserve_own(uintptr_t lo, uintptr_t hi); /* once; may be repeated */
void tl_reserve_deinit(void);
/* unpaired.c: why a return probe here would count what never was, enum tl_unpaired. Engine lock held. */
unsigned tl_ret_forbidden(uintptr_t entry);
unsigned tl_ret_forbidden_name(const char *name); /* the same by name alone. Any context */

/* --- threads (thread.c) --------------------------------------------------------------------- */

#define TL_BIG_STACK	 (64 * 1024)
#define TL_STACKS	 256 /* private stacks in one pool */
#define TL_STACK_POOLS	 16
#define TL_SPARE_STACKS	 64 /* for threads to come */
#define TL_THREAD_WINDOW 64 /* entries looked at from the one the hash names */

int tl_threads_init(void);
void tl_threads_deinit(void);
/* At least one probe needs private stacks: have some in stock. Engine lock held. */
int tl_threads_want_stacks(void);
/*
 * There are so many threads now, as the home counts them: stacks for all of them,
 * if any probe needs one. Says up to how many more need not be asked for; 0: any
 * number, or no more can be had. Sleeps.
 */
unsigned tl_threads_more(unsigned nthreads);
/* The calling thread's record if it has one, whoever had it before. Any context. */
struct tl_thread *tl_thread_known(void);
/* Take back records of threads that are gone. Engine lock held. */
void tl_threads_sweep(void);
void tl_threads_forget(
	unsigned slot); /* what handlers keep there, in all threads; none of them runs */
/*
 * The detour's slow path: called on the interrupted thread's stack when its
 * fast check fails (other key or tid in the hashed entry, guard not 0, or the
 * detour uses a private stack and the entry has none). Returns the thread's
 * record with its guard free, or NULL: run no handler (already counted). The
 * detour sets the guard to sp, reads site->current only after that, and clears
 * the guard when the handler is done.
 */
struct tl_thread *tl_thread_enter_slow(struct tl_site *site, uintptr_t sp, uintptr_t key);
/*
 * What `current` pointed at before is out of use: every handler that may have
 * seen it has ended. quiet(arg) tells that nobody is inside the detours
 * concerned, so that a guard still set is a stale one. Sleeps. -TL_E_BUSY: some
 * handler runs on, and tl_core.patience is over.
 */
int tl_threads_grace(bool (*quiet)(void *arg), void *arg);
/* Those handlers have ended, too. Engine lock held. */
bool tl_threads_settled(void);
/* An object of the arena: what handlers may use that run on stays, for as long as our memory does. */
void tl_put_late(void *obj);

/* --- return probes ------------------------------------------------------------------------------ */

void tl_ret_thread_gone(
	struct tl_thread *t); /* engine lock held: the thread of this record is dead */
void tl_ret_unregister_all(void);
void tl_ret_deinit(void);
/* Some call has left to where tl_retprobe_follow() may find more. */
extern uint32_t tl_ret_wanting;

/* --- the whole ---------------------------------------------------------------------------------- */

struct tl_core {
	bool ready;
	bool optimize;
	bool foreseeing; /* no detour will be used: none is written */
	bool stop_always; /* TL_PATCHING_STOP */
	struct tl_gate *gate;
	struct tl_index sites; /* all */
	struct tl_index patches; /* as planned: what a running batch will leave */
	struct tl_index written; /* whose bytes stand in the text */
	struct tl_detour_env env;
	struct tl_slab site_slab, patch_slab, detour_slab;
	struct tl_func func, func_behind[2];
	size_t nprobes;
	unsigned nthreads; /* the home's, where it counts them */
	size_t ntraps; /* patches in the text that stand on the trap rung */
	struct tl_probe *gone; /* by themselves, and not unregistered yet; for the listing */
	struct tl_probe **gone_end;
	struct tl_site *waiting; /* the optimizer's queue */
	size_t nwaiting;
	bool kicked; /* tl_optimizer_run() is going to be called */
	bool images_asked; /* in this operation: all images are known */
	bool leftovers; /* some patch could not be taken away yet */
	bool unsettled; /* ... some handler not be awaited */
	unsigned patience; /* how many looks a grace period takes at most; 0: any number */
};
extern struct tl_core tl_core;

int tl_engine_init_locked(void);
int tl_probes_register_locked(struct tl_probe **probes, size_t n, size_t *failed);
/* The same; after a refusal whys[i] is set for all that would be refused, not for the first only. */
int tl_probes_try_locked(struct tl_probe **probes, size_t n, size_t *failed, int *whys);
int tl_probes_unregister_locked(struct tl_probe **probes, size_t n);

/* groups.c: probes that stand or fall together. */
struct tl_group {
	struct tl_probe **list;
	size_t n;
	int result; /* 0 or -TL_E_ */
	void *owner; /* the caller's */
};
/* Registers each group whose result is 0; leaves those that are refused out, and says why in their result. */
void tl_groups_register_locked(struct tl_group *g, size_t n);
/* All of them, whatever their result. 0, or the first -TL_E_. */
int tl_groups_unregister_locked(struct tl_group *g, size_t n);

/*
 * A home that answers for the program's faults has to know which detours there are: it sets tl_detour_watch before
 * tl_engine_init(). Engine lock held. used: threads come into it from now on. retired: nobody is led into it any more,
 * who is in it stays. freed: nobody is in it, its memory is given back.
 */
struct tl_detour_watch {
	void (*used)(struct tl_detour *d);
	void (*retired)(struct tl_detour *d);
	void (*freed)(struct tl_detour *d);
};
extern const struct tl_detour_watch *tl_detour_watch; /* NULL: nobody asks */

/* --- asserts and races ------------------------------------------------------------------------------ */

/* A broken promise inside the engine: test builds stop, others go on and count. */
void tl_broken(const char *what);
/* A home that wants to hear of them sets this. Context: whichever broke it. */
extern void (*tl_broken_heard)(const char *what);
#define TL_ASSERT(cond)                                                                            \
	do {                                                                                       \
		if (!(cond))                                                                       \
			tl_broken(#cond);                                                          \
	} while (0)
#define TL_ASSERT_HELD() TL_ASSERT(tl_os_lock_held())

/* What the listing says of it; its site is armed or not. Engine lock held. */
void tl_probe_describe(const struct tl_probe *p, struct tl_probe_info *info);
/* Moves a probe between states; an illegal move is reported by tl_broken(). */
void tl_probe_move(struct tl_probe *p, enum tl_probe_state from, enum tl_probe_state to);

enum tl_race {
	RP_PUBLISHED,
	RP_TEXT_OPEN,
	RP_TRAPS_IN,
	RP_SPIN_HEAD,
	RP_SPIN_TAIL,
	RP_STOPPED, /* everyone stands, and some of the bytes are written */
	RP_TEXT_DONE,
	RP_RETIRED,
	RP_LOOK, /* at who still stands in a detour */
	RP_GRACE,
	RP_CLAIMED,
	RP_TRAPPED, /* in the thread that ran into a breakpoint, which is not led on yet */
	RP_COUNT
};
#ifdef TL_TEST
extern void (*tl_race_hook)(enum tl_race point);
static inline void tl_race_point(enum tl_race point)
{
	if (tl_race_hook)
		tl_race_hook(point);
}
#else
static inline void tl_race_point(enum tl_race point)
{
	(void)point;
}
#endif

#endif
