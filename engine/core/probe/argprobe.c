/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Argument probes: an ordinary probe at the entry, whose handler calls the
 * caller's as the function itself would be called.
 */
#include <trapless/argprobe.h>
#include "../../arch/arch.h"
#include "../../os/os.h"
#include "../detour/threads.h"

static int hit(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	struct tl_argprobe *ap = p->data;
	struct tl_arg_call call = {
		.probe = ap, .regs = regs, .self = self, .ret_ip = TL_REGS_RET_IP(regs)};
	bool vectors = !(ap->flags & TL_PROBE_NO_VECTORS) && tl_os_vectors();

	self->call = &call;
	tl_arch_call_args(ap->handler, regs, ap->stack_bytes, vectors);
	self->call = NULL;
	return 0;
}

/* A call lies above the frames of its handler; one that does not was left by longjmp. */
const struct tl_arg_call *tl_arg_call(void)
{
	const struct tl_thread *self = tl_thread_known();

	if (!self || !self->guard || (uintptr_t)self->call < (uintptr_t)__builtin_frame_address(0))
		return NULL;
	return self->call;
}

static bool sane(const struct tl_argprobe *ap)
{
	return ap && ap->entry && ap->handler && ap->stack_bytes <= TL_ARG_STACK_MAX;
}

int tl_argprobe_register(struct tl_argprobe *ap)
{
	if (!sane(ap))
		return -TL_E_INVAL;
	if (ap->probe.site)
		return -TL_E_STATE;
	tl_arch_call_args_init();
	ap->probe.addr = ap->entry;
	ap->probe.pre = hit;
	ap->probe.data = ap;
	ap->probe.flags = ap->flags & ~(uint32_t)TL_PROBE_NO_VECTORS;
	return tl_probe_register(&ap->probe);
}

int tl_argprobe_unregister(struct tl_argprobe *ap)
{
	return ap ? tl_probe_unregister(&ap->probe) : -TL_E_INVAL;
}
