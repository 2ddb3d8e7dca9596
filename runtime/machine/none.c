/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A machine that nobody has described yet. */
#include "../internal.h"

uint64_t tl_machine_stack_arg(const struct tl_regs *r, uint64_t n)
{
	return (void)r, n;
}

bool tl_machine_caller(struct tl_run *run, uint64_t *v)
{
	return (void)run, (void)v, false;
}

bool tl_machine_register(const struct tl_regs *r, const char *name, uint64_t *value, uint32_t *size)
{
	return (void)r, (void)name, (void)value, (void)size, false;
}

struct tl_tls_vector tl_machine_tls(struct tl_run *run, uint64_t tp)
{
	(void)tp;
	tl_run_error(run, "thread-local storage of libraries is not known on this machine");
	return (struct tl_tls_vector){0, false};
}

int64_t tl_cpu(void)
{
	return 0;
}
