/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Handlers that stand nowhere: the device runs them, in its caller's context, one at a time. */
#include "script.h"

#include <linux/cred.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <trapless/error.h>

#include "../home/view.h"

static struct tl_value_text *value(struct tl_view *v)
{
	return container_of(v, struct script, outside)->value;
}

/* They are the script's as others are: on a block of their own, live or not. */
int script_outside_start(struct script *s)
{
	s->ops = *tl_ctl_view_ops();
	s->ops.value = value;
	s->outside.ops = &s->ops;
	tl_view_outside(&s->outside);
	s->outside.own = tl_block_claim(
		&s->outside, (uint32_t)current->pid, (uint32_t)current->tgid, current->comm);
	s->envs = vzalloc(array_size(s->tap.nprobes + 1, sizeof(*s->envs)));
	if (!s->outside.own || !s->envs)
		return -TL_E_NOMEM;
	for (uint32_t i = 0; i < s->tap.nprobes; i++)
		tl_ctl_env(&s->envs[i], &s->outside, tl_ctl_probe(s->ctl, i));
	return 0;
}

static bool stands_nowhere(uint32_t kind)
{
	return kind == TL_TAP_BEGIN || kind == TL_TAP_END || kind == TL_TAP_ERROR ||
	       kind == TL_TAP_TIMER || kind == TL_TAP_SHOW || kind == TL_TAP_RESET ||
	       tl_tap_is_file(kind);
}

static int run(struct script *s, uint32_t probe, uint32_t code)
{
	struct tl_probe p = {.data = &s->envs[probe]};

	return (int)script_call_outside(s, s->code + code, &p, tl_view_self(&s->outside));
}

int script_run(struct script *s, uint32_t probe)
{
	const struct tl_tap_probe *t = &s->tap.probes[probe];

	if (!stands_nowhere(t->kind) || t->handler == TL_NONE)
		return -EINVAL;
	run(s, probe, t->handler);
	return 0;
}

/* It says whether the probe's handler has nothing to do. */
int script_condition(struct script *s, uint32_t probe)
{
	const uint32_t code = s->tap.probes[probe].condition;

	return code == TL_NONE ? -EINVAL : !run(s, probe, code);
}

/* --- of files ----------------------------------------------------------------------------- */

/* Of what it held only as much as is text now goes back: no handler has written the rest. */
static int run_with(struct script *s, const struct tl_device_value *v, struct tl_value_text *text,
	u32 __user *len)
{
	int ret;

	if (copy_from_user(text->text, u64_to_user_ptr(v->text), v->len))
		return -EFAULT;
	s->value = text;
	ret = script_run(s, v->probe);
	s->value = NULL;
	if (!ret && (copy_to_user(u64_to_user_ptr(v->text), text->text, text->len) ||
			    put_user(text->len, len)))
		ret = -EFAULT;
	return ret;
}

int script_run_value(struct script *s, const struct tl_device_value *v, u32 __user *len)
{
	struct tl_value_text text = {.len = v->len, .room = v->room};
	int ret;

	if (v->probe >= s->tap.nprobes || !tl_tap_is_file(s->tap.probes[v->probe].kind) ||
		v->room > TL_DEVICE_VALUE_MAX || v->len > v->room)
		return -EINVAL;
	text.text = kvmalloc(v->room + 1, GFP_KERNEL);
	if (!text.text)
		return -ENOMEM;
	ret = run_with(s, v, &text, len);
	kvfree(text.text);
	return ret;
}
