/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The kernel and its modules as images. */
#include <linux/notifier.h>
#include <linux/string.h>
#include <linux/version.h>
#include "../../core/image/image.h"
#include "kernel.h"

enum { KNOWN_MAX = 512 };

/* Where modules lie that the core has been told of. Engine lock. */
static uintptr_t known[KNOWN_MAX];
static unsigned nknown;
static bool stale;

/*
 * Modules whose exit function is over: nothing of them runs any more, and what
 * comes next may lie at the same place.
 */
static uintptr_t left[KNOWN_MAX];
static unsigned nleft;
static DEFINE_SPINLOCK(left_lock);

static void text_of(const struct module *mod, uintptr_t *lo, uintptr_t *hi)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
	*lo = (uintptr_t)mod->mem[MOD_TEXT].base;
	*hi = *lo + mod->mem[MOD_TEXT].size;
#else
	*lo = (uintptr_t)mod->core_layout.base;
	*hi = *lo + mod->core_layout.text_size;
#endif
}

static void note_left(const struct module *mod)
{
	uintptr_t lo, hi;

	text_of(mod, &lo, &hi);
	spin_lock(&left_lock);
	if (nleft < KNOWN_MAX)
		left[nleft++] = lo;
	spin_unlock(&left_lock);
}

static bool has_left(const struct module *mod)
{
	uintptr_t lo, hi;
	bool ret = false;

	if (mod->state != MODULE_STATE_GOING)
		return false;
	text_of(mod, &lo, &hi);
	spin_lock(&left_lock);
	for (unsigned i = 0; i < nleft; i++)
		ret |= left[i] == lo;
	spin_unlock(&left_lock);
	return ret;
}

static int on_module(struct notifier_block *nb, unsigned long state, void *module)
{
	if (state == MODULE_STATE_GOING) {
		note_left(module);
		smp_store_release(&stale, true);
	}
	tl_marks_look_again();
	return NOTIFY_DONE;
}

static struct notifier_block module_block = {.notifier_call = on_module};

int tl_images_watch(void)
{
	return register_module_notifier(&module_block) ? -TL_E_NOMEM : 0;
}

void tl_images_unwatch(void)
{
	unregister_module_notifier(&module_block);
	nknown = 0;
}

bool tl_os_images_stale(void)
{
	return smp_load_acquire(&stale);
}

static int add(const char *name, uintptr_t lo, uintptr_t hi, uint32_t flags)
{
	struct tl_image img = {.bias = lo,
		.lo = lo,
		.hi = hi,
		.eh_frame_hdr = lo,
		.flags = flags | TL_IMAGE_LISTED};

	strscpy(img.name, name, sizeof(img.name));
	return tl_image_add(&img);
}

static int add_module(const struct module *mod)
{
	uintptr_t lo, hi;
	int ret;

	text_of(mod, &lo, &hi);
	if (nknown == KNOWN_MAX)
		return -TL_E_LIMIT;
	ret = add(mod->name, lo, hi, mod == THIS_MODULE ? TL_IMAGE_SELF : 0);
	if (!ret)
		known[nknown++] = lo;
	return ret;
}

/* A module that is going still runs its exit function, maybe through probes. */
static bool is_there(const struct module *mod)
{
	return mod->state != MODULE_STATE_UNFORMED && !has_left(mod);
}

/* None that is still listed has left any more. */
static void forget_left(void)
{
	const struct module *mod;
	bool any = false;

	list_for_each_entry (mod, tl_names.modules, list)
		any |= has_left(mod);
	spin_lock(&left_lock);
	if (!any)
		nleft = 0;
	spin_unlock(&left_lock);
}

/* The others are told anew, which changes nothing for them. */
static void forget_gone(void)
{
	while (nknown) {
		const struct module *mod;
		uintptr_t at = known[nknown - 1], lo = 0, hi;

		list_for_each_entry (mod, tl_names.modules, list) {
			text_of(mod, &lo, &hi);
			if (lo == at && is_there(mod))
				break;
			lo = 0;
		}
		if (!lo)
			tl_image_remove(at);
		nknown--;
	}
}

int tl_os_images_update(void)
{
	const struct module *mod;
	int ret;

	smp_store_release(&stale, false);
	mutex_lock(tl_names.module_mutex);
	forget_gone();
	ret = add("vmlinux", (uintptr_t)tl_names.stext, (uintptr_t)tl_names.etext, 0);
	list_for_each_entry (mod, tl_names.modules, list) {
		if (!ret && is_there(mod))
			ret = add_module(mod);
		if (mod->state == MODULE_STATE_GOING)
			smp_store_release(&stale, true); /* look again next time */
	}
	forget_left();
	mutex_unlock(tl_names.module_mutex);
	return ret;
}

/* The lowest image above addr, or NULL. */
static const struct tl_image *image_above(uintptr_t addr)
{
	uintptr_t at = (uintptr_t)tl_names.stext;

	if (at <= addr)
		at = UINTPTR_MAX;
	for (unsigned i = 0; i < nknown; i++)
		if (known[i] > addr && known[i] < at)
			at = known[i];
	return tl_image_find(at);
}

bool tl_os_text_next(uintptr_t addr, uintptr_t *lo, uintptr_t *hi)
{
	const struct tl_image *img = tl_image_find(addr);

	*lo = addr;
	if (!img) {
		img = image_above(addr);
		*lo = img ? img->lo : 0;
	}
	*hi = img ? img->hi : 0;
	return img != NULL;
}
