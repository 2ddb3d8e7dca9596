/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the kernel says of its text in tables and lists of its own: read as a
 * whole, sorted, and looked up. All but the kprobes stay as they are until a
 * module comes or goes.
 */
#include <linux/rculist.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/stringhash.h>
#include "../../core/image/func.h"
#include "kernel.h"
#include "machine.h"

enum { LEAST = 1024, FOLLOWED = 64 };

struct stretch {
	uintptr_t lo, hi;
};

static struct marks {
	struct stretch *at;
	size_t n, max;
} marks[TL_MARKS]; /* sorted, none overlaps the next; engine lock */

static bool stale = true, nomem, smp_locks;

/* --- one list ------------------------------------------------------------------ */

static bool grow(struct marks *m, size_t max)
{
	struct stretch *at = kvmalloc_array(max, sizeof(*at), GFP_KERNEL);

	if (!at)
		return false;
	memcpy(at, m->at, m->n * sizeof(*at));
	kvfree(m->at);
	m->at = at;
	m->max = max;
	return true;
}

static void mark(enum tl_mark kind, uintptr_t lo, uintptr_t hi)
{
	struct marks *m = &marks[kind];

	if (lo >= hi)
		return;
	if (m->n == m->max && !grow(m, m->max ? 2 * m->max : LEAST)) {
		nomem = true;
		return;
	}
	m->at[m->n++] = (struct stretch){lo, hi};
}

static int by_address(const void *a, const void *b)
{
	const struct stretch *l = a, *r = b;

	return l->lo < r->lo ? -1 : l->lo > r->lo;
}

static void put_in_order(struct marks *m)
{
	size_t n = 0;

	if (!m->n)
		return;
	sort(m->at, m->n, sizeof(m->at[0]), by_address, NULL);
	for (size_t i = 1; i < m->n; i++)
		if (m->at[i].lo <= m->at[n].hi)
			m->at[n].hi = max(m->at[n].hi, m->at[i].hi);
		else
			m->at[++n] = m->at[i];
	m->n = n + 1;
}

/* The first that ends behind lo. */
static size_t first_behind(const struct marks *m, uintptr_t lo)
{
	size_t a = 0, b = m->n;

	while (a < b) {
		size_t mid = a + (b - a) / 2;

		if (m->at[mid].hi <= lo)
			a = mid + 1;
		else
			b = mid;
	}
	return a;
}

bool tl_marked(enum tl_mark kind, uintptr_t lo, uintptr_t hi)
{
	const struct marks *m = &marks[kind];
	size_t i = first_behind(m, lo);

	return i < m->n && m->at[i].lo < hi;
}

void tl_marks_each(enum tl_mark kind, uintptr_t lo, uintptr_t hi,
	void (*fn)(void *arg, uintptr_t at), void *arg)
{
	const struct marks *m = &marks[kind];

	for (size_t i = first_behind(m, lo); i < m->n && m->at[i].lo < hi; i++)
		for (uintptr_t at = max(lo, m->at[i].lo); at < min(hi, m->at[i].hi); at++)
			fn(arg, at);
}

/* --- tables of the kernel and of each module -------------------------------------- */

static void read_labels(const struct jump_entry *e, const struct jump_entry *end)
{
	uint8_t insn[TL_LABEL_MAX];

	for (; e < end; e++) {
		uintptr_t at = jump_entry_code(e), to = jump_entry_target(e);

		if (tl_os_text_read(at, insn, sizeof(insn)) != sizeof(insn))
			continue; /* of code that only starts the kernel */
		mark(TL_MARK_CHANGED, at, at + tl_machine_label_len(insn));
		mark(TL_MARK_ENTRY, to, to + 1);
	}
}

static void read_static_calls(const struct static_call_site *s, const struct static_call_site *end)
{
	uint8_t insn[TL_LABEL_MAX];

	for (; s < end; s++) {
		uintptr_t at = (uintptr_t)&s->addr + (uintptr_t)(long)s->addr;

		if (tl_os_text_read(at, insn, sizeof(insn)) == sizeof(insn))
			mark(TL_MARK_CHANGED, at, at + tl_machine_static_call_len(insn));
	}
}

/* An instruction that may fault, and where control goes on then. */
static void read_faults(
	const struct exception_table_entry *e, const struct exception_table_entry *end)
{
	for (; e < end; e++) {
		uintptr_t at = tl_machine_fault_at(e), to = tl_machine_fault_to(e);

		mark(TL_MARK_FAULTS, at, at + 1);
		mark(TL_MARK_ENTRY, to, to + 1);
	}
}

static void read_module(const struct module *mod)
{
#ifdef CONFIG_JUMP_LABEL
	read_labels(mod->jump_entries, mod->jump_entries + mod->num_jump_entries);
#endif
#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
	read_static_calls(
		mod->static_call_sites, mod->static_call_sites + mod->num_static_call_sites);
#endif
	read_faults(mod->extable, mod->extable + mod->num_exentries);
}

static void read_tables(void)
{
	const struct module *mod;

	read_labels(tl_names.labels, tl_names.labels_end);
	read_static_calls(tl_names.static_calls, tl_names.static_calls_end);
	read_faults(tl_names.faults, tl_names.faults_end);
	mutex_lock(tl_names.module_mutex);
	list_for_each_entry (mod, tl_names.modules, list)
		if (mod->state != MODULE_STATE_UNFORMED)
			read_module(mod);
	mutex_unlock(tl_names.module_mutex);
}

/* --- what kprobes refuse --------------------------------------------------------------- */

static uintptr_t hash_of(const char *name, size_t len)
{
	return full_name_hash(NULL, name, (unsigned int)len);
}

/* By name too: parts that the compiler has cut off go with the function. */
static void read_blacklist(void)
{
	const struct kprobe_blacklist_entry *e;
	char name[KSYM_NAME_LEN];

	mutex_lock(tl_names.kprobe_mutex);
	list_for_each_entry (e, tl_names.kprobe_blacklist, list) {
		mark(TL_MARK_NEVER, e->start_addr, e->end_addr);
		if (!tl_names.lookup_symbol_name(e->start_addr, name)) {
			uintptr_t hash = hash_of(name, strlen(name));

			mark(TL_MARK_NAME, hash, hash + 1);
		}
	}
	mutex_unlock(tl_names.kprobe_mutex);
}

bool tl_marked_name(const char *name, size_t len)
{
	uintptr_t hash = hash_of(name, len);

	return tl_marked(TL_MARK_NAME, hash, hash + 1);
}

/* --- what our own work runs through ------------------------------------------------------ */

struct callees {
	uintptr_t at[FOLLOWED];
	unsigned n;
};

static void add_callee(struct callees *c, uintptr_t to)
{
	for (unsigned i = 0; i < c->n; i++)
		if (c->at[i] == to)
			return;
	if (c->n < FOLLOWED)
		c->at[c->n++] = to;
}

static void note_jump(void *arg, uintptr_t to)
{
	add_callee(arg, to);
}

/* Nothing was decoded: only the start of a function can be meant. */
static void note_call(void *arg, uintptr_t from, uintptr_t to)
{
	unsigned long size, offset;

	if (tl_names.kallsyms_lookup_size_offset(to, &size, &offset) && !offset)
		add_callee(arg, to);
}

/* Those in the list, and what they lead to by so many steps. */
static void mark_callees(struct callees *c, unsigned steps, bool calls)
{
	unsigned long size, offset;
	const struct tl_code *code;

	for (unsigned i = 0, next = c->n; i < c->n; i++) {
		if (i == next) {
			next = c->n;
			steps -= steps > 0;
		}
		if (!tl_names.kallsyms_lookup_size_offset(c->at[i], &size, &offset))
			continue;
		mark(TL_MARK_NEVER, c->at[i] - offset, c->at[i] - offset + size);
		if (!steps || tl_func_walk(c->at[i], size - offset, 0, &code))
			continue;
		tl_arch_code_leaves(code, note_jump, c);
		if (calls)
			tl_arch_wide_calls(code->text, code->size, code->start, note_call, c);
	}
}

/*
 * What the compiler calls wherever it likes, also in our slow path, jumps to other forms of it by processor. And between
 * a breakpoint and our notifier, the kernel goes through a few functions that its kprobes need not fear: they are asked
 * before. The last of these steps is one that does nothing in a breakpoint.
 */
static void read_callees(void)
{
	struct callees copies = {
		.at = {(uintptr_t)tl_names.copy, (uintptr_t)tl_names.move, (uintptr_t)tl_names.set},
		.n = 3};
	struct callees chain = {.at = {(uintptr_t)tl_names.notify_die}, .n = 1};

	mark_callees(&copies, 3, false);
	mark_callees(&chain, 3, true);
}

static void add_named(struct callees *c, const char *const *names, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		uintptr_t at = tl_names.kallsyms_lookup_name(names[i]);

		if (at)
			add_callee(c, at);
	}
}

/* Where no exception can be taken yet. */
static void read_beginnings(void)
{
	static const char *const alone[] = {TL_MACHINE_EARLY};
	static const char *const calling[] = {TL_MACHINE_EARLY_CALLS};
	struct callees first = {.n = 0}, all = {.n = 0};

	add_named(&first, alone, ARRAY_SIZE(alone));
	add_named(&all, calling, ARRAY_SIZE(calling));
	mark_callees(&first, 0, false);
	mark_callees(&all, 2, true);
}

/* By way of these, handlers return and call. */
static void read_thunks(void)
{
	struct callees returns = {.n = 0};

	if (tl_names.return_thunk)
		add_callee(&returns, *tl_names.return_thunk);
	if (tl_names.thunks_end)
		add_callee(&returns, (uintptr_t)tl_names.thunks_end);
	mark_callees(&returns, 2, true);
	mark(TL_MARK_NEVER, (uintptr_t)tl_names.thunks, (uintptr_t)tl_names.thunks_end);
}

/* --- lock prefixes: few kernels have any that may change ------------------------------------ */

static bool any_smp_locks(void)
{
	bool ret;

	if (!tl_names.alternatives_text_reserved)
		return false;
	mutex_lock(tl_names.text_mutex);
	ret = tl_names.alternatives_text_reserved(NULL, (void *)ULONG_MAX);
	mutex_unlock(tl_names.text_mutex);
	return ret;
}

bool tl_marked_smp_lock(uintptr_t lo, uintptr_t hi)
{
	return smp_locks && tl_names.alternatives_text_reserved((void *)lo, (void *)(hi - 1));
}

/* --- kprobes --------------------------------------------------------------------------------- */

/* All there are, as many as there is room for; returns their number. */
static size_t list_kprobes(struct marks *m)
{
	const struct kprobe *p;
	size_t n = 0;

	m->n = 0;
	rcu_read_lock();
	for (unsigned i = 0; i < 1u << TL_KPROBE_BITS; i++)
		hlist_for_each_entry_rcu (p, &tl_names.kprobe_table[i], hlist) {
			uintptr_t at = (uintptr_t)p->addr;

			/* In ftrace's call, which is asked for by itself: nothing else is changed there. */
			if (p->flags & KPROBE_FLAG_FTRACE)
				continue;
			n++;
			if (m->n < m->max)
				m->at[m->n++] = (struct stretch){at, at + TL_KPROBE_MAX};
		}
	rcu_read_unlock();
	return n;
}

int tl_kprobes_read(void)
{
	struct marks *m = &marks[TL_MARK_KPROBE];
	size_t n;

	while ((n = list_kprobes(m)) > m->n) {
		m->n = 0;
		if (!grow(m, n + LEAST))
			return -TL_E_NOMEM;
	}
	put_in_order(m);
	return 0;
}

/* --- all of them ------------------------------------------------------------------------------ */

void tl_marks_look_again(void)
{
	smp_store_release(&stale, true);
}

int tl_marks_read(void)
{
	if (!smp_load_acquire(&stale))
		return 0;
	smp_store_release(&stale, false);
	nomem = false;
	for (unsigned kind = 0; kind < TL_MARK_KPROBE; kind++)
		marks[kind].n = 0;
	read_tables();
	read_blacklist();
	read_callees();
	read_beginnings();
	read_thunks();
	smp_locks = any_smp_locks();
	for (unsigned kind = 0; kind < TL_MARK_KPROBE; kind++)
		put_in_order(&marks[kind]);
	if (nomem)
		tl_marks_look_again();
	return nomem ? -TL_E_NOMEM : 0;
}

void tl_marks_exit(void)
{
	for (unsigned kind = 0; kind < TL_MARKS; kind++) {
		kvfree(marks[kind].at);
		marks[kind] = (struct marks){0};
	}
	tl_marks_look_again();
}

static bool thunks_are_known(void)
{
	return !tl_names.thunks || tl_names.thunks < tl_names.thunks_end;
}

int tl_marks_check(void)
{
	unsigned long size, offset, least = sizeof(struct hlist_head) << TL_KPROBE_BITS;

	if (tl_names.kallsyms_lookup_size_offset(
		    (unsigned long)tl_names.kprobe_table, &size, &offset) &&
		size >= least && size < 2 * least && thunks_are_known())
		return 0;
	pr_err("trapless: this kernel's table of kprobes, or of thunks, is another one\n");
	return -TL_E_NO_SYMBOL;
}
