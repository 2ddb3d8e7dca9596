/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The parts of the process home that a preloaded agent answers by itself. It
 * borrows the own process's (own_*.c) for mappings, threads and stops. There
 * are no traps: nobody watches from outside, and a breakpoint that is hit with
 * SIGTRAP blocked, as C libraries do while they start threads and children,
 * ends the program.
 */
#include <elf.h>
#include "internal.h"
#include "../../engine/core/base/broken.h"
#include "../../engine/os/process/own.h"

bool tl_alone = true;

/* --- the engine's broken promises ------------------------------------------------------- */

/* It counts them; here the user hears of them, too. */
static void tell_broken(const char *what)
{
	uint32_t i;

	if (!tl_preload)
		return;
	for (i = 0; what[i] && i + 1 < sizeof(tl_preload->broken_text); i++)
		tl_preload->broken_text[i] = what[i];
	tl_preload->broken++;
}

/* --- beginning and end ---------------------------------------------------------------------- */

/* By qemu-user: /proc shows the host's view, in which nothing of ours is executable. */
static bool emulated;
static uint32_t emulators[8]; /* threads that are not the program's */
static unsigned nemulators;

static int note_thread(void *arg, uint32_t tid)
{
	(void)arg;
	if (tid != tl_gettid() && nemulators < sizeof(emulators) / sizeof(*emulators))
		emulators[nemulators++] = tid;
	return 0;
}

int tl_home_init(void)
{
	struct tl_mapping own;

	tl_broken_heard = tell_broken;
	tl_machine_init(tl_aux(AT_HWCAP2));
	emulated = tl_home_map((uintptr_t)tl_home_init, &own) && !(own.prot & TL_PROT_EXEC);
	if (emulated)
		tl_own_threads(note_thread, NULL);
	return tl_os_images_update();
}

void tl_home_exit(void)
{
	tl_own_stop_exit();
}

/* --- images ---------------------------------------------------------------------- */

static uint64_t stamp;

static void set_name(char *to, size_t room, const char *path)
{
	const char *name = tl_base_name(path);
	size_t i;

	for (i = 0; name[i] && i + 1 < room; i++)
		to[i] = name[i];
	to[i] = 0;
}

/* The runner wants to know, too: for what it says of places. */
static void tell(const struct tl_object *o, uint32_t i)
{
	struct tl_ctl_image *c = &tl_ctl->images[i];

	c->bias = o->bias;
	c->lo = o->text;
	c->hi = o->hi;
	c->eh_frame_hdr = o->eh_frame_hdr;
	c->eh_frame_hdr_size = o->eh_frame_hdr_size;
	c->flags = o->flags;
	set_name(c->name, sizeof(c->name), o->path);
}

static int add(void *arg, const struct tl_object *o)
{
	struct tl_image img = {
		.bias = o->bias,
		.lo = o->text,
		.hi = o->hi,
		.eh_frame_hdr = o->eh_frame_hdr,
		.eh_frame_hdr_size = o->eh_frame_hdr_size,
		.flags = o->flags,
	};
	uint32_t *n = arg;

	if (*n == TL_CTL_IMAGES)
		return -TL_E_LIMIT;
	set_name(img.name, sizeof(img.name), o->path);
	tell(o, (*n)++);
	return tl_image_add(&img);
}

bool tl_os_images_stale(void)
{
	return tl_objects_stamp() != stamp;
}

int tl_os_images_update(void)
{
	uint32_t n = 0;
	int ret;

	stamp = tl_objects_stamp();
	tl_images_begin();
	ret = tl_objects(add, &n);
	tl_ctl->nimages = n;
	if (!ret)
		tl_images_end();
	return ret;
}

/* --- mappings ------------------------------------------------------------------------ */

/* Under an emulator the objects' own word counts. */
bool tl_home_map(uintptr_t addr, struct tl_mapping *map)
{
	uint32_t i;

	if (!tl_own_map(addr, map))
		return false;
	for (i = 0; emulated && i < tl_ctl->nimages; i++) {
		uintptr_t lo = tl_page_down(tl_ctl->images[i].lo),
			  hi = tl_page_up(tl_ctl->images[i].hi);

		if (addr < lo || addr >= hi)
			continue;
		*map = (struct tl_mapping){lo, hi, TL_PROT_READ | TL_PROT_EXEC};
	}
	return true;
}

/* --- other threads ----------------------------------------------------------------- */

struct threads {
	int (*fn)(void *arg, uint32_t tid);
	void *arg;
};

static int if_program(void *arg, uint32_t tid)
{
	const struct threads *t = arg;
	unsigned i;

	for (i = 0; i < nemulators; i++) {
		if (emulators[i] == tid)
			return 0;
	}
	return t->fn(t->arg, tid);
}

int tl_home_threads(int (*fn)(void *arg, uint32_t tid), void *arg)
{
	struct threads t = {fn, arg};

	return tl_own_threads(if_program, &t);
}

/* An emulator's registers say nothing. */
bool tl_home_asleep(uint32_t tid, struct tl_own_sleep *s)
{
	return !emulated && tl_own_asleep(tid, s);
}

/* Before the program begins, its one thread sleeps in our own code. */
bool tl_home_alone(void)
{
	return tl_alone;
}

/* --- traps: none ------------------------------------------------------------------------ */

bool tl_os_trap_may_kill(void)
{
	return true;
}

int tl_os_trap_allowed(void)
{
	return -TL_E_TRAP_FORBIDDEN;
}

int tl_os_trap_add(uintptr_t addr, uintptr_t detour)
{
	(void)addr, (void)detour;
	return -TL_E_TRAP_FORBIDDEN;
}

void tl_os_trap_remove(uintptr_t addr)
{
	(void)addr;
}
