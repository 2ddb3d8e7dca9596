/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Who made a system call: the first address between bounds, on the way out of the calls that are under way. */
#include "home.h"
#include "trace.h"

/* Two, of which the one that is not in use is written. */
static struct tl_trace_config configs[2] = {{.high = UINTPTR_MAX}};
static const struct tl_trace_config *config = &configs[0];

int tl_trace_configure(const struct tl_trace_config *wanted)
{
	static const struct tl_trace_config first = {.high = UINTPTR_MAX};
	struct tl_trace_config *spare;
	int ret = tl_trace_home_outside();

	if (ret)
		return ret;
	if (!wanted)
		wanted = &first;
	if (wanted->low >= wanted->high || wanted->depth > TL_TRACE_DEPTH ||
		wanted->words > TL_TRACE_WORDS)
		return -TL_E_INVAL;
	tl_trace_home_lock();
	spare = &configs[config == &configs[0]];
	*spare = *wanted;
	TL_STORE(&config, spare);
	/* before the next one writes the other */
	tl_trace_home_wait();
	tl_trace_home_unlock();
	return 0;
}

static bool is_within(const struct tl_trace_config *c, uintptr_t addr)
{
	return addr >= c->low && addr < c->high;
}

/* A frame begins with the one around it, which is higher up, and then the address that is returned to. */
static uintptr_t by_frames(const struct tl_trace_config *c, uintptr_t sp, uintptr_t fp)
{
	for (uint32_t i = 0; i < c->depth; i++) {
		uintptr_t outer, to;

		if (fp < sp || fp % sizeof(fp) || !tl_trace_home_word(fp, &outer) ||
			!tl_trace_home_word(fp + sizeof(fp), &to))
			return 0;
		if (is_within(c, to))
			return to;
		sp = fp + 2 * sizeof(fp);
		fp = outer;
	}
	return 0;
}

static uintptr_t by_words(const struct tl_trace_config *c, uintptr_t sp)
{
	uintptr_t word;

	for (uint32_t i = 0; i < c->words; i++) {
		if (!tl_trace_home_word(sp + i * sizeof(sp), &word))
			return 0;
		if (is_within(c, word))
			return word;
	}
	return 0;
}

uintptr_t tl_trace_caller(uintptr_t ip, uintptr_t sp, uintptr_t fp)
{
	void *mark = tl_trace_home_enter();
	const struct tl_trace_config *c = TL_LOAD(&config);
	uintptr_t found = is_within(c, ip) ? ip : 0;

	if (!found)
		found = by_frames(c, sp, fp);
	if (!found)
		found = by_words(c, sp & ~(sizeof(sp) - 1));
	tl_trace_home_leave(mark);
	return found;
}
