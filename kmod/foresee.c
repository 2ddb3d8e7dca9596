/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* How each instruction of a function could be probed: the engine plans as for probes, and takes it back. */
#include "foresee.h"

#include <linux/bsearch.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "../engine/core/base/core.h"
#include "../engine/core/image/func.h"
#include "../engine/core/image/refuse.h"
#include "../engine/core/probe/gone.h"
#include "../engine/core/probe/foresee.h"
#include "../engine/os/kernel/kernel.h"

struct foreseen {
	struct tl_device_foresee *of;
	struct tl_device_place *places;
	struct tl_batch batch;
	bool alone;
};

static int by_address(const void *addr, const void *place)
{
	const u64 a = *(const uintptr_t *)addr, b = ((const struct tl_device_place *)place)->addr;

	return a < b ? -1 : a > b;
}

/* A batch may hold neighbours of what was asked for. */
static void tell(void *arg, uintptr_t addr, unsigned rung, int why)
{
	struct foreseen *f = arg;
	struct tl_device_place *p = bsearch(&addr, f->places, f->of->count, sizeof(*p), by_address);
	const struct tl_device_fate fate = {.rung = rung, .why = why};

	if (p)
		*(f->alone ? &p->alone : &p->together) = fate;
}

/* What may have come or gone since. */
static int look_at_images(uintptr_t addr)
{
	int ret = tl_images_refresh();

	return ret || tl_image_find(addr) ? ret : tl_images_ask();
}

/* Behind what is ftrace's, or for the processor to see. */
static int find_function(struct tl_device_foresee *of)
{
	unsigned long size, off;
	unsigned bytes;
	int ret = look_at_images(of->addr);

	if (ret < 0)
		return ret;
	if (!tl_names.kallsyms_lookup_size_offset(of->addr, &size, &off))
		return -TL_E_NO_FUNCTION;
	bytes = tl_os_entry_bytes(of->addr - off);
	if (size <= bytes)
		return -TL_E_NO_FUNCTION;
	of->start = of->addr - off + bytes;
	of->size = size - bytes;
	return tl_func_get(&tl_func_now, of->start, of->start, of->size);
}

static void list_places(struct foreseen *f)
{
	struct tl_device_foresee *of = f->of;

	for (u64 a = of->start; a < of->start + of->size && of->count < of->room; a++)
		if (tl_func_has_insn(&tl_func_now, a))
			f->places[of->count++].addr = a;
}

/* Each in a batch of its own, or all in one. */
static int plan(struct foreseen *f, bool alone)
{
	int ret = tl_batch_init(&f->batch, alone ? 0 : f->of->count);

	f->alone = alone;
	for (u32 i = 0; i < f->of->count && !ret; i++) {
		ret = tl_foresee_add(
			&f->batch, f->places[i].addr, f->of->start, f->of->size, alone);
		if (alone)
			tl_foresee(&f->batch, tell, f);
		cond_resched();
	}
	tl_foresee(&f->batch, tell, f);
	tl_batch_deinit(&f->batch);
	return ret;
}

static int foresee_locked(struct foreseen *f)
{
	int ret;

	f->of->count = 0;
	if (tl_core.nprobes)
		return -EBUSY; /* what stands is not to be touched, even for a moment */
	f->of->error = find_function(f->of);
	if (f->of->error)
		return 0;
	list_places(f);
	ret = plan(f, true);
	f->of->error = ret ? ret : plan(f, false);
	return 0;
}

int foresee(struct tl_device_foresee *of)
{
	struct foreseen f = {.of = of};
	const size_t size = array_size(of->room, sizeof(*f.places));
	int ret;

	if (of->room > TL_DEVICE_PLACES)
		return -EINVAL;
	f.places = kvzalloc(size, GFP_KERNEL);
	if (!f.places)
		return -ENOMEM;
	tl_os_lock();
	ret = foresee_locked(&f);
	tl_os_unlock();
	if (!ret && copy_to_user(u64_to_user_ptr(of->to), f.places,
			    array_size(of->count, sizeof(*f.places))))
		ret = -EFAULT;
	kvfree(f.places);
	return ret;
}
