/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The journal of original bytes, and of those that we put there: written before the
 * text changes, so that whoever finds the process later (guardian, next session)
 * can restore it, where nobody else has written since.
 */
#include "../base/broken.h"
#include "../base/mem.h"
#include "journal.h"

struct tl_journal *volatile tl_journal;
static size_t used, hint;

static size_t bytes_for(size_t max)
{
	return sizeof(struct tl_journal) + max * sizeof(struct tl_journal_entry);
}

int tl_journal_reserve(size_t more)
{
	struct tl_journal *old = tl_journal, *j;
	size_t max = old ? old->max : 0;

	if (used + more <= max)
		return 0;
	max = max ? max : 128;
	while (max < used + more)
		max *= 2;
	j = tl_os_alloc(bytes_for(max));
	if (!j)
		return -TL_E_NOMEM;
	j->magic = TL_JOURNAL_MAGIC;
	j->max = (uint32_t)max;
	if (old)
		tl_copy(j->entry, old->entry, old->max * sizeof(old->entry[0]));
	tl_journal = j;
	if (old)
		tl_os_free(old, bytes_for(old->max));
	return 0;
}

/* The entry number is kept by the caller (struct tl_patch), so nothing is searched. */
size_t tl_journal_put(uintptr_t addr, const uint8_t *orig, const uint8_t *ours, size_t len)
{
	struct tl_journal *j = tl_journal;
	size_t n;

	for (n = 0; n < j->max; n++, hint++)
		if (!j->entry[hint % j->max].len)
			break;
	TL_ASSERT(n < j->max);
	n = hint++ % j->max;
	j->entry[n].addr = addr;
	tl_copy(j->entry[n].orig, orig, len);
	tl_copy(j->entry[n].ours, ours, len);
	TL_STORE(&j->entry[n].len, (uint32_t)len);
	used++;
	return n;
}

void tl_journal_drop(size_t n)
{
	TL_ASSERT(tl_journal && tl_journal->entry[n].len);
	TL_STORE(&tl_journal->entry[n].len, 0);
	used--;
}

void tl_journal_deinit(void)
{
	struct tl_journal *j = tl_journal;

	TL_ASSERT(!used);
	tl_journal = NULL;
	if (j)
		tl_os_free(j, bytes_for(j->max));
	hint = 0;
}
