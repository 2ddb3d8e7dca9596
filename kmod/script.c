/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "script.h"

#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/elf.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>
#include <trapless/error.h>

#include "../engine/os/kernel/contexts.h"
#include "../engine/core/probe/probe.h"
#include "../engine/os/kernel/kernel.h"
#include "../home/fill.h"
#include "../home/view.h"
#include "../runtime/machine/machine.h"
#include "modules.h"

/* Session memory is memory here, touched or not: fewer records than a process has. */
enum { RING_POOL = 16, AGAIN_MS = 1 };

/* All sessions' arming is one caller's at a time: home.h. */
static DEFINE_MUTEX(arming_lock);
static struct tl_arming arming = {.jump = 1};

/* --- session memory -------------------------------------------------------------------- */

static bool layout(const struct script *s, struct tl_session *l)
{
	struct tl_tap_options o = *s->tap.options;

	if (!o.ring_pool)
		o.ring_pool = RING_POOL;
	/* Handlers' blocks are the contexts'; the runner has one, and those of ioctl. read() gives out whole records. */
	return !tl_session_layout(&o, tl_contexts() + 2, l) && l->chunk_size <= TL_DEVICE_READ;
}

/* The kernel would end programs to find so much. A part of all memory stays theirs. */
static bool is_affordable(uint64_t size)
{
	enum { KEPT = 16 };
	long left = si_mem_available() - (long)(totalram_pages() / KEPT);

	return left > 0 && size >> PAGE_SHIFT < (unsigned long)left;
}

/* One at a time: the next one sees what this one has taken. */
static void *take_memory(uint64_t size)
{
	static DEFINE_MUTEX(lock);
	void *mem = NULL;

	mutex_lock(&lock);
	if (is_affordable(size))
		mem = vmalloc_user(size);
	mutex_unlock(&lock);
	return mem;
}

static void describe(struct script *s, const struct tl_device_load *l)
{
	struct tl_session *to = s->memory;

	to->tz_offset = l->tz_offset;
	memcpy(to->tz_name, l->tz_name, sizeof(to->tz_name));
	to->tz_name[sizeof(to->tz_name) - 1] = 0;
	to->runner = (uint32_t)current->tgid;
	to->uid = __kuid_val(current_uid());
	strscpy(to->module_name, tl_tap_string(&s->tap, s->tap.header->name),
		sizeof(to->module_name));
}

static int make_memory(struct script *s, const struct tl_device_load *l)
{
	struct tl_session session;

	if (!layout(s, &session))
		return -TL_E_LIMIT;
	s->size = PAGE_ALIGN(session.size);
	s->memory = take_memory(s->size);
	if (!s->memory)
		return -TL_E_NOMEM;
	tl_session_init(s->memory, &session);
	describe(s, l);
	if (tl_view_attach(&s->outside, s->memory, s->size, s->tap.options) ||
		tl_session_globals(&s->outside, s->tap.globals, s->tap.nglobals, s->tap.strings,
			s->tap.strings_size))
		return -TL_E_BAD_MODULE;
	script_clock_start(s);
	return 0;
}

/* --- loading ------------------------------------------------------------------------------- */

/* What is called here, and where functions lie, which this kernel tells. */
static bool is_for_kernel(const struct tl_tap *t)
{
	for (uint32_t i = 0; i < t->nprobes; i++)
		if (t->probes[i].handler == TL_NONE || t->probes[i].nparts)
			return false;
	return t->header->flags & TL_TAP_KERNEL;
}

static int copy_file(struct script *s, const struct tl_device_load *l)
{
	uint8_t *file;

	if (l->size > TL_TAP_MAX)
		return -TL_E_BAD_MODULE;
	file = is_affordable(l->size) ? kvmalloc(l->size, GFP_KERNEL) : NULL;
	if (!file)
		return -TL_E_NOMEM;
	if (copy_from_user(file, u64_to_user_ptr(l->file), l->size) ||
		tl_tap_check(&s->tap, file, l->size, ELF_ARCH) || !is_for_kernel(&s->tap)) {
		kvfree(file);
		s->tap.file = NULL;
		return -TL_E_BAD_MODULE;
	}
	return 0;
}

static int make_control(struct script *s)
{
	const struct tl_ctl_module m = {
		.code = (uintptr_t)s->code, .strings = (uintptr_t)s->tap.strings};
	uint32_t n;
	int ret = script_find(s);

	if (ret)
		return ret;
	n = s->nslots;
	s->ctl = vzalloc(tl_ctl_session_size(n, n));
	if (!s->ctl)
		return -TL_E_NOMEM;
	s->ctl->count = n;
	s->ctl->explain = 1;
	s->ctl->nprobes = s->ctl->nparts = n; /* a function has one part here */
	s->ctl->module = (uintptr_t)&s->module;
	s->ctl->memory = (uintptr_t)s->memory;
	s->ctl->memory_size = s->size;
	s->module = (struct tl_home_module){
		.code = (uintptr_t)s->code,
		.strings = (uintptr_t)s->tap.strings,
		.strings_size = s->tap.strings_size,
		.options = (uintptr_t)s->tap.options,
	};
	for (uint32_t i = 0; i < n; i++)
		tl_ctl_fill(tl_ctl_probe(s->ctl, i), s->slots[i].probe,
			&s->tap.probes[s->slots[i].probe], &m);
	return 0;
}

static int bring_in(struct script *s, struct tl_device_load *l)
{
	const char *missing = NULL;
	int ret = copy_file(s, l);

	if (!ret)
		ret = script_map_code(s, &missing);
	if (missing)
		strscpy(l->missing, missing, sizeof(l->missing));
	if (!ret)
		ret = make_memory(s, l);
	if (!ret)
		ret = make_control(s);
	if (!ret)
		ret = script_stacks_make(s);
	if (!ret)
		ret = script_outside_start(s);
	if (!ret)
		ret = script_read_start(s);
	return ret;
}

int script_load(struct script *s, struct tl_device_load *l)
{
	if (s->tap.file)
		return -EINVAL;
	l->error = l->version == TL_DEVICE_VERSION ? bring_in(s, l) : -TL_E_VERSION;
	if (l->error) {
		script_unload(s);
		return 0;
	}
	l->memory = s->size;
	l->standing = script_standing(s);
	return 0;
}

void script_unload(struct script *s)
{
	script_unmap_code(s);
	if (s->memory)
		script_forget_indents(s);
	vfree(s->out);
	vfree(s->reader.buffer);
	vfree(s->reader.cursor);
	script_stacks_free(s);
	vfree(s->ctl);
	kvfree(s->slots);
	vfree(s->envs);
	vfree(s->memory);
	kvfree(s->tap.file);
	memset(s, 0, sizeof(*s));
}

uint64_t script_standing(const struct script *s)
{
	return tl_ctl_session_size(s->ctl->nprobes, s->ctl->nparts);
}

/* --- arming ------------------------------------------------------------------------------------- */

/* Probes that may stand better by now, of all scripts, and text that is left: in the background, until there are none. */
static void follow(struct work_struct *work);
static DECLARE_DELAYED_WORK(follower, follow);
static bool left;
/* Where somebody's kprobe stands on what is left: the module stays for it. */
static uintptr_t borrowed;

/* Calls have left by a jump to a function that can be watched from now on. */
static bool is_wanted(void)
{
	return arming.at_wanting && READ_ONCE(*(uint32_t *)arming.at_wanting);
}

static void follow_later(void)
{
	enum { FOLLOW_MS = 200 };

	if (arming.later || arming.at_wanting || left)
		schedule_delayed_work(&follower, msecs_to_jiffies(FOLLOW_MS));
}

static void sweep(void)
{
	uintptr_t was = borrowed;

	left = !tl_probes_sweep();
	borrowed = left ? tl_probes_borrowed() : 0;
	if (borrowed && !was) {
		__module_get(THIS_MODULE);
		pr_notice("trapless: a kprobe was put on a jump of ours at %pS: the jump, and this "
			  "module, stay until it is gone\n",
			(void *)borrowed);
	}
	if (was && !borrowed)
		module_put(THIS_MODULE);
}

static void follow(struct work_struct *work)
{
	mutex_lock(&arming_lock);
	sweep();
	if (!tl_ctl_any_session(&arming))
		arming.later = 0, arming.at_wanting = 0;
	else if (arming.later || is_wanted())
		tl_ctl_follow(&arming);
	follow_later();
	mutex_unlock(&arming_lock);
}

void script_stop(void)
{
	cancel_delayed_work_sync(&follower);
}

void script_usage(struct tl_usage *usage)
{
	mutex_lock(&arming_lock);
	*usage = arming.usage;
	mutex_unlock(&arming_lock);
}

void script_want(struct script *s, const uint8_t *off, bool jump)
{
	mutex_lock(&arming_lock);
	for (uint32_t i = 0; i < s->nslots; i++)
		tl_ctl_probe(s->ctl, i)->off = off[s->slots[i].probe];
	arming.jump = jump;
	mutex_unlock(&arming_lock);
}

static bool take_slot(struct script *s)
{
	for (unsigned i = 0; i < TL_CTL_SESSIONS; i++) {
		if (arming.sessions[i])
			continue;
		arming.sessions[i] = (uintptr_t)s->ctl;
		s->ctl->slot = i;
		return true;
	}
	return false;
}

static bool is_armed(const struct script *s)
{
	return s->ctl && arming.sessions[s->ctl->slot] == (uintptr_t)s->ctl;
}

int script_arm(struct script *s)
{
	int ret = -EBUSY;

	mutex_lock(&arming_lock);
	if (is_armed(s) || take_slot(s)) {
		WRITE_ONCE(s->modules, modules_come());
		script_stacks_own(s);
		script_place(s);
		ret = tl_ctl_arm(&arming, s->ctl);
		ret = ret < 0 ? -ENOMEM : ret + script_hook(s);
		follow_later();
	}
	mutex_unlock(&arming_lock);
	return ret;
}

void script_disarm(struct script *s)
{
	int ret;

	if (!s->ctl)
		return;
	script_unhook(s);
	do {
		mutex_lock(&arming_lock);
		ret = is_armed(s) ? tl_ctl_disarm(&arming, s->ctl) : 0;
		sweep();
		follow_later();
		mutex_unlock(&arming_lock);
		if (ret)
			msleep(AGAIN_MS);
	} while (ret);
}
