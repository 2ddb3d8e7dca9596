/* SPDX-License-Identifier: MIT */
/*
 * Functions of a target: proven, asked for exits, planned and built for every
 * boundary, whatever bytes they are made of. What is planned lies inside the
 * function, what is built is not larger than announced.
 */
#include "../../engine/arch/arch.h"
#include "../../engine/core/detour/thread.h"
#include "fuzz.h"

enum { START = 0x401000, TEXT_MAX = 160, SLACK = 32, FAR = 0x500000, EXITS = 16 };

static const uint8_t *rest; /* memory at FAR: jump tables and such */
static size_t rest_size;

static size_t far_read(uintptr_t addr, void *buf, size_t len)
{
	return read_from(rest, rest_size, FAR, addr, buf, len);
}

static void leads(void *arg, uintptr_t to)
{
	const struct tl_code *c = arg;

	must(to < c->start || to - c->start >= c->size);
}

static void anywhere(void *arg, uintptr_t to)
{
	*(size_t *)arg += to & 1;
}

static bool nobody(void *arg, uintptr_t lo, uintptr_t hi)
{
	(void)arg;
	must(lo <= hi);
	return false;
}

static void build(const struct tl_plan *plan)
{
	static struct tl_gate gate;
	static struct tl_thread threads[1];
	struct tl_detour_env env = {
		.gate = &gate, .threads = threads, .tid_offset = 0x2d0, .fast_key = true};
	uintptr_t at = FAR + 0x100000, ip;
	uint8_t *buf = malloc(TL_DETOUR_MAX), patch[TL_PATCH_MAX];
	int n;

	must(buf != NULL && tl_arch_detour_bound(plan) <= TL_DETOUR_MAX);
	n = tl_arch_detour_build(plan, &env, at, buf);
	must(n < 0 || (size_t)n <= tl_arch_detour_bound(plan));
	for (ip = at; n > 0 && ip < at + (size_t)n; ip += 61) /* each builds it again */
		tl_arch_ip_to_text(plan, &env, at, ip);
	for (ip = plan->start; n > 0 && ip < plan->start + plan->len; ip += 3)
		tl_arch_ip_to_detour(plan, &env, at, ip);
	if (n > 0)
		tl_arch_patch_bytes(plan, at, patch);
	free(buf);
}

static void plan_at(const struct tl_code *c, uintptr_t addr, unsigned allowed, uint32_t flags)
{
	static struct tl_site *no_site;
	struct tl_plan plan = {
		.npoints = 1, .points = {{.addr = addr, .site = no_site, .flags = flags}}};

	if (tl_arch_can_probe(c, addr))
		return;
	if (tl_arch_plan(&plan, c, allowed, &(const struct tl_ground){.claimed = nobody}))
		return;
	must(plan.changed <= plan.len && plan.len <= TL_PATCH_MAX);
	must(plan.start >= c->start && plan.start + plan.len <= c->start + c->size + c->after);
	must(addr >= plan.start && addr < plan.start + plan.len);
	build(&plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	uint8_t how = (uint8_t)take_number(&in, 1);
	size_t n = in.left < TEXT_MAX ? in.left : TEXT_MAX, odd = 0, i;
	uint8_t *text = calloc(1, n + SLACK + 64), boundary[80] = {0}, target[80] = {0};
	uintptr_t pads[1] = {START + how};
	struct tl_code c = {.start = START,
		.size = n,
		.text = text,
		.read = far_read,
		.pads = pads,
		.npads = how & 1 && how < n,
		.hidden_pads = how >> 1 & 1,
		.boundary = boundary,
		.target = target};
	struct tl_func_part part = {START, n};
	struct tl_exit exits[EXITS];

	must(text != NULL);
	take(&in, text, n);
	c.after = n > 64 && how & 4 ? 16 : 0;
	c.size -= c.after;
	part.size = c.size;
	rest = data;
	rest_size = size;
	if (!tl_arch_code_walk(&c)) {
		tl_arch_code_leaves(&c, leads, &c);
		tl_arch_exits(&c, &part, 1, START, exits, EXITS);
		for (i = 0; i < c.size; i++)
			if (boundary[i / 8] >> (i % 8) & 1)
				plan_at(&c, START + i, how & 8 ? 1u << TL_RUNG_TRAP : ~0u,
					how >> 4);
	}
	tl_arch_wide_jumps(text, n, START, anywhere, anywhere, &odd);
	tl_arch_table_targets(FAR, size, START, START + n, far_read, anywhere, &odd);
	free(text);
	return 0;
}
