/* SPDX-License-Identifier: MIT */
#define pr_fmt(fmt) fmt

#include <linux/kallsyms.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include "many.h"

uintptr_t *places;
size_t nplaces;
atomic_long_t hits;

int count(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	atomic_long_inc(&hits);
	return 0;
}

const char *functions_are_listed(void)
{
	unsigned long (*lookup)(const char *name) = find("kallsyms_lookup_name");
	int (*bounds)(unsigned long at, unsigned long *size, unsigned long *offset) =
		find("kallsyms_lookup_size_offset");
	unsigned long at, end, size, offset;

	CHECK(lookup && bounds);
	at = lookup("_stext");
	end = lookup("_etext");
	for (; at < end && nplaces < PLACES_MAX; at += size) {
		size_t off = behind_entry((void *)at);

		if (!bounds(at, &size, &offset) || size <= offset)
			return "kallsyms has a gap";
		size -= offset;
		if (off && off < size)
			places[nplaces++] = at + off;
	}
	CHECK(nplaces > 10000);
	return NULL;
}

u64 since(u64 *from)
{
	u64 now = ktime_get_ns(), took = now - *from;

	*from = now;
	return took;
}

void row(const char *what, u64 ns, size_t n)
{
	pr_info("# many: %s: %llu us a probe (%zu in %llu ms)\n", what, ns / 1000 / (n ? n : 1), n,
		ns / 1000000);
}
