/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/facts.h"
#include "machine/machine.h"
#include "base/proc.h"
#include "kernel/kernel.h"
#include "session.h"
#include "zone.h"

enum { BLOCKS = 32768, BLOCKS_FEW = 1024, BLOCKS_LEAST = 16 };
#define MEMORY_MAX (1ull << (sizeof(void *) == 8 ? 32 : 28))

static uint64_t find_export(void *arg, const char *name)
{
	(void)arg;
	return tl_export_find(name);
}

static int fail(struct session *s, const char *what)
{
	if (!s->why[0])
		snprintf(s->why, sizeof(s->why), "%s: %s%s", what, strerror(errno),
			errno == EFBIG ? ": raise the limit of file sizes (ulimit -f)" : "");
	return -1;
}

static int map_module(struct session *s)
{
	size_t span = tl_tap_span(s->mod);

	if (!span)
		return 0;
	s->code = mmap(NULL, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s->code == MAP_FAILED)
		return fail(s, "cannot map the module");
	if (module_place(
		    s->mod, (uintptr_t)s->code, s->code, find_export, NULL, s->why, sizeof(s->why)))
		return -1;
	if (s->mod->code_size && mprotect(s->code, s->mod->code_size, PROT_READ | PROT_EXEC))
		return fail(s, "cannot make the module executable");
	return 0;
}

/* --- what handlers that run here ask for ------------------------------------------- */

static struct session *of(struct tl_view *v)
{
	return v->home;
}

/* Whose memory it is. */
static pid_t looked_at(struct tl_view *v)
{
	return of(v)->acting.pid ? (pid_t)of(v)->acting.pid : of(v)->target;
}

static int read_target(struct tl_view *v, void *dst, uint64_t addr, uint32_t size)
{
	struct iovec here = {dst, size}, there = {(void *)(uintptr_t)addr, size};
	pid_t pid = looked_at(v);

	return pid && process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)size ? 0 : -1;
}

static int write_target(struct tl_view *v, uint64_t addr, const void *src, uint32_t size)
{
	struct iovec here = {(void *)(uintptr_t)src, size};
	struct iovec there = {(void *)(uintptr_t)addr, size};
	pid_t pid = looked_at(v);

	return pid && process_vm_writev(pid, &here, 1, &there, 1, 0) == (ssize_t)size ? 0 : -1;
}

static uint32_t symbol(struct tl_view *v, uint64_t addr, char *buf, uint32_t room, uint64_t *offset,
	uint64_t *size)
{
	return tl_symbol_name(&of(v)->symbols, addr, buf, room, offset, size);
}

static uint32_t image(struct tl_view *v, uint64_t addr, char *buf, uint32_t room)
{
	return tl_symbol_image(&of(v)->symbols, addr, buf, room);
}

static uint32_t line(struct tl_view *v, uint64_t addr, char *buf, uint32_t room, uint32_t *number)
{
	return tl_symbol_line(&of(v)->symbols, addr, buf, room, number);
}

static const struct tl_tap_frame *frame(struct tl_view *v, uint64_t addr)
{
	return tl_unwind_frame(&of(v)->unwind, addr);
}

static void relax(struct tl_view *v)
{
	(void)v;
	machine_pause();
}

static void make_envs(struct session *s)
{
	uint32_t i;

	for (i = 0; i < s->mod->nprobes; i++) {
		tl_env_fill(&s->envs[i], &s->view, i);
		s->envs[i].kind = s->mod->probes[i].kind;
		s->envs[i].point = tl_tap_string(s->mod, s->mod->probes[i].point);
		s->envs[i].func = tl_tap_string(s->mod, s->mod->probes[i].func);
		s->envs[i].name = tl_tap_string(s->mod, s->mod->probes[i].name);
	}
}

static void make_symbols(struct session *s)
{
	s->symbols.strings = s->mod->strings;
	s->symbols.strings_size = s->mod->strings_size;
	s->symbols.symbols = s->mod->symbols;
	s->symbols.nsymbols = s->mod->nsymbols;
	s->symbols.lines = s->mod->lines;
	s->symbols.nlines = s->mod->nlines;
	s->symbols.images = s->board.images;
	s->symbols.nrows = tl_symbol_rows(s->mod->nimages);
	s->view.images = (const uint64_t *)s->board.images;
	s->view.image_words = sizeof(*s->board.images) / sizeof(uint64_t);
	s->view.nimages = s->symbols.nrows;
}

static void make_unwind(struct session *s)
{
	s->unwind.of_image = s->mod->unwind;
	s->unwind.rows = s->mod->rows;
	s->unwind.frames = s->mod->frames;
	s->unwind.images = s->board.images;
	s->unwind.nrows = s->mod->nunwind ? s->symbols.nrows : 0;
}

/* Half of what may be mapped, here and in the target, and no file larger than may be. */
static uint64_t memory_room(const struct session *s)
{
	uint64_t room = MEMORY_MAX;
	struct rlimit here, there = {RLIM_INFINITY, RLIM_INFINITY};

	if (s->target)
		prlimit(s->target, RLIMIT_AS, NULL, &there);
	if (!getrlimit(RLIMIT_AS, &here) && here.rlim_cur < there.rlim_cur)
		there = here;
	if (there.rlim_cur != RLIM_INFINITY && there.rlim_cur / 2 < room)
		room = there.rlim_cur / 2;
	if (!getrlimit(RLIMIT_FSIZE, &here) && here.rlim_cur < room)
		room = here.rlim_cur;
	return room;
}

/* For many threads, if there is room; where there is little what they print gives way before few of them do. False: too large in any case. */
static bool fit(const struct session *s, struct tl_session *l)
{
	struct tl_tap_options o = *s->mod->options;
	uint64_t room = memory_room(s);
	uint32_t n = BLOCKS;

	while (tl_session_layout(&o, n, l) || l->size > room) {
		if (n > BLOCKS_FEW)
			n /= 2;
		else if (o.ring_pool != 1)
			o.ring_pool = o.ring_pool ? (o.ring_pool + 1) / 2 : 16;
		else if (n > BLOCKS_LEAST)
			n /= 2;
		else
			return !tl_session_layout(&o, n, l);
	}
	return true;
}

/* The memory that handlers work on, ours and the targets'. NULL with why. */
static void *make_memory(struct session *s)
{
	struct tl_session layout;
	void *mem;

	memset(&layout, 0, sizeof(layout));
	if (!fit(s, &layout)) {
		snprintf(s->why, sizeof(s->why),
			"the script's globals do not fit into session memory: lower "
			"-DMAXMAPENTRIES or the arrays' sizes");
		return NULL;
	}
	s->size = layout.size;
	mem = memory_make(s->size, &s->fd);
	if (!mem) {
		fail(s, "cannot make session memory");
		return NULL;
	}
	tl_session_init(mem, &layout);
	/* a session that lives through a change of the clocks keeps it, as a script may add it up */
	zone_now(&((struct tl_session *)mem)->tz_offset, ((struct tl_session *)mem)->tz_name);
	((struct tl_session *)mem)->runner = (uint32_t)getpid();
	((struct tl_session *)mem)->uid = getuid();
	snprintf(((struct tl_session *)mem)->module_name, sizeof(layout.module_name), "%s",
		tl_tap_string(s->mod, s->mod->header->name));
	return mem;
}

/* `begin` and `end` print what they like. In a live session targets may wait for a lock of ours: no writing then. */
static bool make_room(struct tl_view *v)
{
	struct session *s = v->home;

	if (__atomic_load_n(&s->view.session->live, __ATOMIC_SEQ_CST))
		return false;
	drain(s, true);
	return true;
}

/* As handlers in the target are told: by the numbers that are known there. */
static bool fact_of(const struct who *w, uint32_t what, int64_t asked, uint64_t value[2])
{
	bool nested = w->pid != w->own_pid, own = !asked || asked == w->own_pid;
	pid_t pid = own ? (pid_t)w->pid : (pid_t)asked;

	if (!own && nested)
		return false;
	if ((asked || !proc_fact(pid, (pid_t)w->tid, what, value)) && /* it may be gone */
		!proc_fact(pid, 0, what, value))
		return false;
	if (what == TL_FACT_PPID && nested)
		value[0] = proc_own_number((pid_t)value[0]);
	return true;
}

static bool fact(struct tl_view *v, uint32_t what, int64_t asked, uint64_t value[2])
{
	if (of(v)->acting.pid)
		return fact_of(&of(v)->acting, what, asked, value);
	/* our own arguments are of no interest: memory that handlers read is the target's */
	return proc_fact(asked ? (pid_t)asked : getpid(), 0, what, value);
}

/* The thread stands still, and gets it when it goes on. */
static bool raise_there(struct tl_view *v, int64_t sig)
{
	const struct who *w = &of(v)->acting;

	return w->pid && sig > 0 && sig <= SIGRTMAX &&
	       !syscall(SYS_tgkill, w->pid, w->tid, (int)sig);
}

static struct tl_value_text *file_value(struct tl_view *v)
{
	return of(v)->value;
}

static int keep_command(struct tl_view *v, const struct tl_str *text)
{
	return command_keep(v->home, text->b);
}

/* Handlers that run here see it as those in the targets do. */
static int make_view(struct session *s, void *mem)
{
	const struct tl_tap *mod = s->mod;
	char comm[16] = "trapless-run";

	if (tl_view_attach(&s->view, mem, s->size, mod->options) ||
		tl_session_globals(
			&s->view, mod->globals, mod->nglobals, mod->strings, mod->strings_size)) {
		snprintf(s->why, sizeof(s->why),
			"the module's globals contradict each other: compile the script again");
		return -1;
	}
	make_symbols(s);
	make_unwind(s);
	s->ops = (struct tl_view_ops){.read = read_target,
		.write = write_target,
		.symbol = symbol,
		.image = image,
		.line = line,
		.frame = frame,
		.relax = relax,
		.fact = fact,
		.raise = raise_there,
		.command = keep_command,
		.value = file_value,
		.make_room = make_room};
	s->view.ops = &s->ops;
	s->view.home = s;
	tl_view_outside(&s->view);
	make_envs(s);
	s->view.own = tl_block_claim(&s->view, (uint32_t)getpid(), (uint32_t)getpid(), comm);
	return 0;
}

static void live_here(struct session *s, bool on)
{
	__atomic_store_n(&s->view.session->live, on, __ATOMIC_SEQ_CST);
}

static void run_here(struct session *s, uint32_t i, struct tl_regs *regs)
{
	struct tl_probe probe = {.data = &s->envs[i]};
	tl_pre_fn fn = (tl_pre_fn)(uintptr_t)(s->code + s->mod->probes[i].handler);

	fn(&probe, regs, tl_view_self(&s->view));
}

static uint64_t pass_here(struct session *s, bool final)
{
	return tl_reader_pass(&s->reader, drain_record, s, final);
}

static void target_here(struct session *s, pid_t pid)
{
	s->view.session->target_pid = pid;
}

/* It says whether the probe's handler has nothing to do. */
static bool condition_here(struct session *s, uint32_t i)
{
	struct tl_probe probe = {.data = &s->envs[i]};
	tl_pre_fn fn = (tl_pre_fn)(uintptr_t)(s->code + s->mod->probes[i].condition);

	return !fn(&probe, NULL, tl_view_self(&s->view));
}

static bool moved_here(struct session *s)
{
	return __atomic_exchange_n(&s->view.session->conditions, 0, __ATOMIC_ACQUIRE) != 0;
}

/* --- clock --------------------------------------------------------------------------- */

static uint64_t ns_of(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The rate sharpens with every call: it is measured since the first one, by the clock that nobody sets. */
static void clock_here(struct session *s)
{
	static uint64_t first_cycles, first_ns, mult;
	uint64_t c = machine_clock(), ns = ns_of(CLOCK_MONOTONIC);
	struct timespec nap = {0, 2000000};

	if (!first_ns) {
		first_cycles = c;
		first_ns = ns;
		nanosleep(&nap, NULL);
		c = machine_clock();
		ns = ns_of(CLOCK_MONOTONIC);
	}
	if (c > first_cycles && ns > first_ns)
		mult = (uint64_t)(0x1p32L * (long double)(ns - first_ns) /
				  (long double)(c - first_cycles));
	tl_clock_set(&s->view, machine_clock(), ns_of(CLOCK_REALTIME), mult);
}

static const struct session_backend backend = {.live = live_here,
	.run = run_here,
	.pass = pass_here,
	.target = target_here,
	.condition = condition_here,
	.clock = clock_here,
	.moved = moved_here};

int session_create(struct session *s, const struct tl_tap *mod)
{
	void *mem;

	if (is_for_kernel(mod))
		return kernel_create(s, mod);
	s->backend = &backend;
	s->mod = mod;
	mem = make_memory(s);
	if (!mem)
		return -1;
	s->envs = calloc(mod->nprobes + 1, sizeof(*s->envs));
	if (!s->envs || board_make(&s->board, mod))
		return fail(s, "cannot start the session");
	if (make_view(s, mem))
		return -1;
	clock_here(s);
	if (map_module(s))
		return -1;
	return drain_start(s);
}

void session_clock(struct session *s)
{
	s->backend->clock(s);
}

void session_for(struct session *s, pid_t target)
{
	s->target = target;
	s->backend->target(s, target);
}

void session_break_locks(struct session *s)
{
	if (!is_for_kernel(s->mod))
		tl_locks_break(&s->view);
}

/* --- probes that run here --------------------------------------------------------------- */

void session_live(struct session *s, bool on)
{
	s->backend->live(s, on);
}

bool session_wants_exit(const struct session *s)
{
	return __atomic_load_n(&s->view.session->exit_requested, __ATOMIC_RELAXED) != 0;
}

bool session_has(const struct session *s, uint32_t kind)
{
	uint32_t i;

	for (i = 0; i < s->mod->nprobes; i++) {
		if (s->mod->probes[i].kind == kind &&
			!(s->mod->probes[i].flags & TL_TAP_PROBE_NEVER))
			return true;
	}
	return false;
}

void probe_switch(struct session *s, uint32_t probe, enum off_by by, bool off)
{
	uint8_t *now = &s->board.tuning->off[probe];

	*now = (uint8_t)(off ? *now | by : *now & ~by);
}

bool probe_is_ours(const struct tl_tap_probe *p)
{
	return p->kind == TL_TAP_SHOW || p->kind == TL_TAP_RESET;
}

const char *probe_shown(const struct tl_tap *mod, uint32_t i)
{
	const char *name = tl_tap_string(mod, mod->probes[i].name);

	return *name ? name : tl_tap_string(mod, mod->probes[i].point);
}

/* It has a handler, and nobody has switched it off. */
bool session_may_run(const struct session *s, uint32_t i)
{
	const struct tl_tap_probe *p = &s->mod->probes[i];

	return p->handler != TL_NONE && !(p->flags & TL_TAP_PROBE_NEVER) &&
	       !s->board.tuning->off[i];
}

void session_run_one(struct session *s, uint32_t i, struct tl_regs *regs)
{
	if (session_may_run(s, i))
		s->backend->run(s, i, regs);
}

void session_run_value(struct session *s, uint32_t i, struct tl_value_text *value)
{
	s->value = value;
	session_run_one(s, i, NULL);
	s->value = NULL;
}

/* In order of arg, then of place in the script. */
void session_run(struct session *s, uint32_t kind)
{
	uint32_t n = s->mod->nprobes, i, done = 0;
	char *ran = calloc(n + 1, 1);

	while (ran && done < n) {
		uint32_t best = n;

		for (i = 0; i < n; i++) {
			if (s->mod->probes[i].kind == kind && !ran[i] &&
				(best == n || s->mod->probes[i].arg < s->mod->probes[best].arg))
				best = i;
		}
		if (best == n)
			break;
		ran[best] = 1;
		done++;
		if (kind == TL_TAP_BEGIN && session_wants_exit(s))
			continue;
		session_run_one(s, best, NULL);
	}
	free(ran);
}
