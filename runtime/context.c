/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Where and in whom the handler runs: registers, arguments, names. */
#include "internal.h"

/* --- registers ----------------------------------------------------------------------- */

int64_t tl_reg_none(struct tl_run *run)
{
	tl_run_error(run, "register access fault [man error::fault]");
	return 0;
}

static bool has_arg(struct tl_run *run, int64_t n)
{
	if (!run->regs || !tl_reg_result(run->regs))
		tl_run_error(run, "cannot access function args in this context");
	else if (n < 1 || n > (run->env->at_syscall ? TL_SYSCALL_ARGS : 1000))
		tl_run_error(run, "cannot access arg(%d)", n);
	else
		return true;
	return false;
}

/* NULL: it lies on the stack. */
static uintptr_t *arg_in_register(struct tl_run *run, int64_t n)
{
	if (run->env->at_syscall)
		return tl_reg_syscall_arg(run->regs, (uint32_t)n - 1);
	return n <= TL_REG_ARGS ? tl_reg_arg(run->regs, (uint32_t)n - 1) : NULL;
}

static uint64_t stack_arg(struct tl_run *run, int64_t n)
{
	uint64_t at = tl_machine_stack_arg(run->regs, (uint64_t)n - 1);

	return (uint64_t)tl_load(run, at, sizeof(uintptr_t), false);
}

int64_t tl_arg_slow(struct tl_run *run, int64_t n, uint32_t size, bool is_signed)
{
	uintptr_t *reg;
	uint64_t v;

	if (!has_arg(run, n))
		return 0;
	reg = arg_in_register(run, n);
	v = reg ? *reg : stack_arg(run, n);
	return tl_extend(v, size, is_signed);
}

/* What the function has at its return belongs to its caller. */
void tl_arg_set(struct tl_run *run, int64_t n, uint32_t size, int64_t value)
{
	uintptr_t *reg;

	if (run->error || !has_arg(run, n))
		return;
	reg = arg_in_register(run, n);
	if (run->call)
		tl_run_error(run, "arguments are set at the entry of a function");
	else if (reg)
		*reg = (uintptr_t)tl_extend((uint64_t)value, size, false);
	else
		tl_store(run, tl_machine_stack_arg(run->regs, (uint64_t)n - 1), size, value);
}

void tl_returnval_set(struct tl_run *run, int64_t value)
{
	uintptr_t *at = run->regs && run->call ? tl_reg_result(run->regs) : NULL;

	if (run->error)
		return;
	if (at)
		*at = (uintptr_t)value;
	else
		tl_run_error(run, "set_returnval() not valid in this context");
}

int64_t tl_returnval(struct tl_run *run)
{
	uintptr_t *at = run->regs ? tl_reg_result(run->regs) : NULL;

	if (at)
		return (int64_t)*at;
	tl_run_error(run, "returnval() not defined in this context");
	return 0;
}

int64_t tl_addr(struct tl_run *run)
{
	return run->regs ? (int64_t)TL_REGS_IP(run->regs) : 0;
}

int tl_left(struct tl_run *run, struct tl_from *at)
{
	const struct tl_view_ops *ops = run->view->ops;

	return run->regs && ops && ops->left ? ops->left(run->view, at) : -1;
}

int64_t tl_uaddr(struct tl_run *run)
{
	struct tl_from at = {0};

	return tl_left(run, &at) < 0 ? tl_addr(run) : (int64_t)at.pc;
}

/* At a system call the kernel is probed, though the registers are the program's. */
int64_t tl_user_mode(struct tl_run *run)
{
	const struct tl_view_ops *ops = run->view->ops;
	uint64_t at = run->env->at_syscall ? 0 : (uint64_t)tl_addr(run);

	return !ops || !ops->of_program || ops->of_program(run->view, at);
}

int64_t tl_caller_addr(struct tl_run *run)
{
	uint64_t v = 0;

	if (run->call)
		return (int64_t)run->call->ret_ip;
	if (run->regs && !run->error && !tl_machine_caller(run, &v))
		return 0;
	return (int64_t)v;
}

/* --- names ------------------------------------------------------------------------------ */

/* Copy a name of 16 bytes with the NULs behind it out of shared memory, which may have none; its length. */
static uint32_t copy_name(char *to, const char *from)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && UINTPTR_MAX > 0xffffffffu
	const uint64_t ones = 0x0101010101010101ull, tops = ones << 7;
	const uint64_t low = tl_get64(from), high = tl_get64(from + 8) << 8 >> 8;
	const uint64_t nul = (low - ones) & ~low & tops;

	memcpy(to, &low, 8);
	memcpy(to + 8, &high, 8);
	if (nul)
		return (uint32_t)__builtin_ctzll(nul) / 8;
	return 8 + (uint32_t)__builtin_ctzll((high - ones) & ~high & tops) / 8;
#else
	memcpy(to, from, 16);
	to[15] = 0;
	return tl_cstr_len(to);
#endif
}

struct tl_ids tl_guest_ids(const struct tl_run *run)
{
	struct tl_ids who = {run->block->tid, run->block->pid};

	if (run->view->ops && run->view->ops->ids)
		run->view->ops->ids(run->view, &who);
	return who;
}

void tl_execname(struct tl_run *run, struct tl_str *dst)
{
	const struct tl_view_ops *ops = run->view->ops;

	_Static_assert(sizeof(run->block->comm) == 16, "copy_name()");
	if ((!run->block->comm[0] || tl_unlikely(*run->view->guests)) && ops && ops->name)
		ops->name(run->view, run->block);
	dst->len = copy_name(dst->b, run->block->comm); /* no string has less room */
}

void tl_pp(struct tl_run *run, struct tl_str *dst)
{
	tl_str_set_c(run, dst, run->env->point ? run->env->point : "");
}

void tl_pn(struct tl_run *run, struct tl_str *dst)
{
	if (run->env->name && run->env->name[0])
		tl_str_set_c(run, dst, run->env->name);
	else
		tl_pp(run, dst);
}

/* Do handlers stand in programs? Else they do in a kernel. */
static bool is_in_kernel(const struct tl_run *run)
{
	const struct tl_view_ops *ops = run->view->ops;
	struct tl_from at;

	return ops && ops->left && ops->left(run->view, &at) >= 0;
}

/* SystemTap's words; by enum tl_tap_probe_kind. */
void tl_probe_type(struct tl_run *run, struct tl_str *dst)
{
	static const char types[][sizeof("hardware_data_breakpoint")] = {
		[TL_TAP_BEGIN] = "begin_end",
		[TL_TAP_END] = "begin_end",
		[TL_TAP_ERROR] = "begin_end",
		[TL_TAP_TIMER] = "hrtimer",
		[TL_TAP_SITE] = "uprobe",
		[TL_TAP_RETURN] = "uretprobe",
		[TL_TAP_PROCESS_BEGIN] = "utrace",
		[TL_TAP_PROCESS_END] = "utrace",
		[TL_TAP_THREAD_BEGIN] = "utrace",
		[TL_TAP_THREAD_END] = "utrace",
		[TL_TAP_PROFILE] = "profile_timer",
		[TL_TAP_TRACE] = "tracepoint",
		[TL_TAP_WATCH] = "hardware_data_breakpoint",
		[TL_TAP_FILE_READ] = "procfs",
		[TL_TAP_FILE_WRITE] = "procfs",
	};
	uint32_t kind = run->env->kind;

	if ((kind == TL_TAP_SITE || kind == TL_TAP_RETURN) && is_in_kernel(run))
		tl_str_set_c(run, dst, kind == TL_TAP_SITE ? "kprobe" : "kretprobe");
	else
		tl_str_set_c(run, dst, kind < sizeof(types) / sizeof(types[0]) ? types[kind] : "");
}

void tl_module_name(struct tl_run *run, struct tl_str *dst)
{
	char name[sizeof(run->view->session->module_name) + 1];

	memcpy(name, run->view->session->module_name, sizeof(name) - 1); /* shared memory */
	name[sizeof(name) - 1] = 0;
	tl_str_set_c(run, dst, name);
}

void tl_probefunc(struct tl_run *run, struct tl_str *dst)
{
	tl_str_set_c(run, dst, run->env->func ? run->env->func : "");
}

/* Names are written straight into dst; one that fills it was cut. */
static uint32_t name_done(struct tl_run *run, struct tl_str *dst, uint32_t n)
{
	if (n >= tl_max_len(run)) {
		n = tl_max_len(run);
		run->block->truncated++;
	}
	dst->len = n;
	dst->b[n] = 0;
	return n;
}

static uint32_t symbol(
	struct tl_run *run, struct tl_str *dst, uint64_t addr, uint64_t *off, uint64_t *size)
{
	const struct tl_view_ops *ops = run->view->ops;

	*off = *size = 0;
	if (!ops || !ops->symbol)
		return name_done(run, dst, 0);
	return name_done(
		run, dst, ops->symbol(run->view, addr, dst->b, run->view->max_string, off, size));
}

/* Behind what dst holds already. */
static uint32_t image(struct tl_run *run, struct tl_str *dst, uint64_t addr)
{
	const struct tl_view_ops *ops = run->view->ops;
	uint32_t n, at = dst->len;

	if (!ops || !ops->image)
		return 0;
	n = ops->image(run->view, addr, dst->b + at, run->view->max_string - at);
	name_done(run, dst, at + n);
	return n;
}

static void add_hex(struct tl_run *run, struct tl_str *dst, const char *before, uint64_t v)
{
	char buf[24];

	tl_str_add(run, dst, before, tl_cstr_len(before));
	tl_str_add(run, dst, buf, tl_text_hex(buf, v));
}

void tl_usymname(struct tl_run *run, struct tl_str *dst, uint64_t addr)
{
	uint64_t off, size;

	if (!symbol(run, dst, addr, &off, &size))
		add_hex(run, dst, "", addr);
}

/* Where addr lies in its image, and how much of that is mapped. */
static bool in_image(const struct tl_view *v, uint64_t addr, uint64_t *off, uint64_t *size)
{
	const uint64_t *image = v->images;
	uint32_t i;

	for (i = 0; image && i < v->nimages; i++, image += v->image_words) {
		if (addr >= image[1] && addr < image[2]) {
			*off = addr - image[1];
			*size = image[2] - image[1];
			return true;
		}
	}
	return false;
}

/* Where a call returns to may be behind its function, which then lies right below. */
static uint32_t caller_symbol(
	struct tl_run *run, struct tl_str *dst, uint64_t addr, uint64_t *off, uint64_t *size)
{
	if (symbol(run, dst, addr, off, size) && *off)
		return dst->len;
	if (!symbol(run, dst, addr - 1, off, size))
		return symbol(run, dst, addr, off, size);
	++*off;
	return dst->len;
}

/* Behind what dst holds already; nothing, where either is not known. */
static bool add_source(struct tl_run *run, struct tl_str *dst, uint64_t addr, uint32_t parts)
{
	const struct tl_view_ops *ops = run->view->ops;
	uint32_t n, line, at = dst->len;
	char number[24];

	if (!ops || !ops->line)
		return false;
	n = ops->line(run->view, addr, dst->b + at, run->view->max_string - at, &line);
	name_done(run, dst, at + (parts & TL_SOURCE_FILE ? n : 0));
	if (!n)
		return false;
	if (parts == (TL_SOURCE_FILE | TL_SOURCE_LINE))
		tl_str_add(run, dst, ":", 1);
	if (parts & TL_SOURCE_LINE)
		tl_str_add(run, dst, number, tl_text_dec(number, line));
	return true;
}

void tl_usymsource(struct tl_run *run, struct tl_str *dst, uint64_t addr, uint32_t parts)
{
	tl_str_put(run, dst, "", 0);
	if (!add_source(run, dst, addr, parts))
		add_hex(run, dst, "", addr);
}

static void add_place(struct tl_run *run, struct tl_str *dst, uint64_t addr)
{
	uint32_t end = dst->len;

	tl_str_add(run, dst, " at ", 4);
	if (!add_source(run, dst, addr, TL_SOURCE_FILE | TL_SOURCE_LINE)) {
		dst->len = end;
		dst->b[end] = 0;
	}
}

/* Of a path that begins at `from`. */
static void keep_last_part(struct tl_str *dst, uint32_t from)
{
	uint32_t i = dst->len;

	while (i > from && dst->b[i - 1] != '/')
		i--;
	memmove(dst->b + from, dst->b + i, dst->len - i + 1);
	dst->len -= i - from;
}

void tl_usymdata_of(
	struct tl_run *run, struct tl_str *dst, uint64_t addr, bool called, enum tl_shown how)
{
	bool sized = how == TL_SHOWN_FULL || how == TL_SHOWN_LINES;
	uint32_t known, end;
	uint64_t off, size;

	known = (called ? caller_symbol : symbol)(run, dst, addr, &off, &size);
	if (known) {
		add_hex(run, dst, "+", off);
		if (sized)
			add_hex(run, dst, "/", size);
	} else {
		add_hex(run, dst, "", addr);
	}
	if (how == TL_SHOWN_BRIEF)
		return;
	if (how == TL_SHOWN_LINES)
		add_place(run, dst, called ? addr - 1 : addr);
	end = dst->len;
	tl_str_add(run, dst, " [", 2);
	if (!image(run, dst, addr)) {
		dst->len = end;
		dst->b[end] = 0;
		return;
	}
	if (how == TL_SHOWN_SIMPLE)
		keep_last_part(dst, end + 2);
	if (!known && in_image(run->view, addr, &off, &size)) {
		add_hex(run, dst, "+", off);
		if (sized)
			add_hex(run, dst, "/", size);
	}
	tl_str_add(run, dst, "]", 1);
}

void tl_usymdata(struct tl_run *run, struct tl_str *dst, uint64_t addr)
{
	tl_usymdata_of(run, dst, addr, false, TL_SHOWN_FULL);
}

void tl_umodname(struct tl_run *run, struct tl_str *dst, uint64_t addr)
{
	tl_str_put(run, dst, "", 0);
	if (!image(run, dst, addr))
		tl_run_error(run, "module cannot be found");
}

int64_t tl_umodaddr(struct tl_run *run, uint64_t addr)
{
	uint64_t off, size;

	if (in_image(run->view, addr, &off, &size))
		return (int64_t)off;
	tl_run_error(run, "umodaddr %p unknown", addr);
	return 0;
}

struct tl_indent tl_indent_change(struct tl_indent *kept, int64_t delta, int64_t now)
{
	struct tl_indent at;

	if (!kept->level)
		kept->since = now;
	at.level = tl_add(kept->level, delta > 0 ? delta : 0);
	at.level -= at.level > 0;
	if (at.level < 0)
		at.level = 0;
	at.since = kept->since;
	kept->level = tl_add(kept->level, delta);
	return at;
}

static struct tl_indent indent(struct tl_run *run, int64_t delta, int64_t now)
{
	const struct tl_view_ops *ops = run->view->ops;
	struct tl_indent at = {0, now};
	int told = ops && ops->indent ? ops->indent(run->view, delta, now, &at) : 0;

	if (told < 0)
		tl_run_error(run, "thread_indent: too many threads at once");
	return told ? at : tl_indent_change(&tl_block_own(run->block)->indent, delta, now);
}

int64_t tl_thread_indent_depth(struct tl_run *run, int64_t delta)
{
	return indent(run, delta, tl_time_us(run)).level;
}

/* "%6d NAME(TID):" and a space for each level; microseconds since the outermost call. */
void tl_thread_indent(struct tl_run *run, struct tl_str *dst, int64_t delta)
{
	int64_t now = tl_time_us(run);
	struct tl_indent at = indent(run, delta, now);
	uint64_t name_room[4];
	struct tl_str *name = (struct tl_str *)name_room;
	struct tl_value args[5];

	tl_execname(run, name);
	args[0] = (struct tl_value){tl_sub(now, at.since), NULL};
	args[1] = (struct tl_value){0, name};
	args[2] = (struct tl_value){tl_tid(run), NULL};
	args[3] = (struct tl_value){at.level < 4096 ? at.level : 4096, NULL};
	name_room[3] = 0; /* a string of no bytes */
	args[4] = (struct tl_value){0, (struct tl_str *)&name_room[3]};
	tl_sprintf(run, dst, "%6d %s(%d):%-*s", args, 5);
}
