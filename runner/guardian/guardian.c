/* SPDX-License-Identifier: MIT */
/* The guardian's life: seize, inject, arm, watch, leave. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <trapless/error.h>
#include <trapless/probe.h>

#include "guardian.h"

double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

int guardian_fail(struct guardian *g, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (!g->error[0])
		vsnprintf(g->error, sizeof(g->error), fmt, ap);
	va_end(ap);
	return -1;
}

static void send_message(struct guardian *g, struct message *m)
{
	while (send(g->sock, m, sizeof(*m), MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

void guardian_say(struct guardian *g, uint32_t kind, uint32_t number, const char *text)
{
	struct message m = {.kind = kind, .number = number};

	snprintf(m.text, sizeof(m.text), "%s", text);
	send_message(g, &m);
}

void guardian_note(struct guardian *g, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	guardian_say(g, MSG_NOTE, 0, text);
}

void guardian_phase(struct guardian *g, const char *name, double since)
{
	if (g->verbose)
		guardian_note(g, "%-10s %8.3f ms", name, now_ms() - since);
}

/* --- the control block ------------------------------------------------------------- */

static int control_create(struct guardian *g)
{
	size_t probes = sizeof(struct tl_ctl), parts;

	parts = probes + g->mod->nprobes * sizeof(struct tl_ctl_probe);
	g->ctl_size = (parts + g->mod->nparts * sizeof(struct tl_ctl_part) + 4095) & ~4095ull;
	g->ctl_fd = memfd_create("trapless", MFD_CLOEXEC);
	if (g->ctl_fd < 0 || ftruncate(g->ctl_fd, (off_t)g->ctl_size))
		return guardian_fail(g, "cannot make the control block: %s", strerror(errno));
	g->ctl = mmap(NULL, g->ctl_size, PROT_READ | PROT_WRITE, MAP_SHARED, g->ctl_fd, 0);
	if (g->ctl == MAP_FAILED) {
		g->ctl = NULL;
		return guardian_fail(g, "cannot map the control block: %s", strerror(errno));
	}
	g->ctl->magic = TL_CTL_MAGIC;
	g->ctl->version = TL_CTL_VERSION;
	g->ctl->guardian = (uint32_t)getpid();
	g->ctl->target = (uint32_t)g->pid;
	g->ctl->size = g->ctl_size;
	g->ctl->session_size = g->session_size;
	g->ctl->probes_off = probes;
	g->ctl->nprobes = g->mod->nprobes;
	g->ctl->parts_off = parts;
	g->ctl->nparts = g->mod->nparts;
	return 0;
}

struct tl_ctl_probe *guardian_probe(struct guardian *g, uint32_t i)
{
	return (struct tl_ctl_probe *)((char *)g->ctl + g->ctl->probes_off) + i;
}

/* What the agent needs to know of each probe, besides its address. */
static void fill_probes(struct guardian *g)
{
	uint32_t i;

	for (i = 0; i < g->mod->nprobes; i++) {
		const struct tl_tap_probe *from = &g->mod->probes[i];
		struct tl_ctl_probe *p = guardian_probe(g, i);

		p->number = i;
		p->kind = from->kind;
		p->handler = from->handler == TL_NONE ? 0 : g->module_at + from->handler;
		p->on_entry = from->on_entry == TL_NONE ? 0 : g->module_at + from->on_entry;
		p->point = g->strings_at + from->point;
		p->func = g->strings_at + from->func;
		p->call_data = from->call_data;
		p->first_part = from->first_part;
		p->nparts = from->nparts;
		p->flags = (from->flags & TL_TAP_PROBE_REGS ? TL_PROBE_REGS : 0) |
			   (from->flags & TL_TAP_PROBE_BIG_STACK ? TL_PROBE_BIG_STACK : 0) |
			   (g->traps_only ? TL_PROBE_NO_JUMP : 0);
	}
}

/* --- arming --------------------------------------------------------------------------- */

static int tell_refusals(struct guardian *g)
{
	char text[700];
	uint32_t i, bad = 0;

	for (i = 0; i < g->mod->nprobes; i++) {
		struct tl_ctl_probe *p = guardian_probe(g, i);
		const struct tl_tap_probe *from = &g->mod->probes[i];

		if (!p->result || p->armed || (from->flags & TL_TAP_PROBE_OPTIONAL) ||
			g->told[i] & TOLD_REFUSAL)
			continue;
		g->told[i] |= TOLD_REFUSAL;
		bad++;
		snprintf(text, sizeof(text), "%s: probe refused [%s]: %s%s%s",
			module_string(g->mod, from->point), tl_error_name(p->result),
			tl_error_text(p->result), *tl_error_next(p->result) ? "; " : "",
			tl_error_next(p->result));
		guardian_say(g, MSG_WARN, 1, text);
	}
	return (int)bad;
}

static void note_states(struct guardian *g)
{
	uint32_t i;

	for (i = 0; i < g->mod->nprobes; i++) {
		const struct tl_ctl_probe *p = guardian_probe(g, i);

		if (p->armed)
			g->shared_state[i] = PROBE_ARMED;
		else if (p->result && g->shared_state[i] != PROBE_ARMED)
			g->shared_state[i] = PROBE_REFUSED;
	}
}

static int arm_now(struct guardian *g)
{
	double at = now_ms();
	int ret;

	g->ctl->first = 0;
	g->ctl->count = g->mod->nprobes;
	g->ctl->explain = g->explain || g->verbose;
	ret = helper_command(g, TL_CMD_ARM);
	guardian_phase(g, "arm", at);
	if (ret >= 0)
		g->narmed = (uint32_t)ret;
	note_states(g);
	tell_refusals(g);
	explain(g);
	return ret < 0 ? guardian_fail(g, "arming failed: %s", tl_error_text(ret)) : 0;
}

static int first_steps(struct guardian *g)
{
	double at = now_ms();
	int ret = inject(g);

	guardian_phase(g, "inject", at);
	if (ret)
		return ret;
	fill_probes(g);
	at = now_ms();
	g->ctl->tid_offset = g->launched ? loader_tid_offset(g) : 0;
	if (maps_read(g) || images_read(g))
		return guardian_fail(g, "cannot read the mappings of process %d", g->pid);
	ret = helper_command(g, TL_CMD_INIT);
	guardian_phase(g, "start", at);
	if (ret)
		return guardian_fail(g, "the engine did not start in process %d: %s; %s", g->pid,
			tl_error_text(ret), tl_error_next(ret));
	return 0;
}

/* Some probes wait for objects that may come later: be told of them. true: the agent has to act. */
static bool watch_loader(struct guardian *g, bool final)
{
	if (!final || !g->pending || g->ctl->dl_state)
		return false;
	g->ctl->dl_state = loader_state(g);
	return g->ctl->dl_state != 0;
}

int session_arm(struct guardian *g, struct thread *from, bool final)
{
	double at = now_ms();
	int ret;

	if (!helper_start(g, from))
		return guardian_fail(g, "process %d has ended", g->pid);
	guardian_phase(g, "borrow", at);
	ret = first_steps(g);
	if (!ret)
		ret = probes_resolve(g, final) < 0 ? -1 : 0;
	if (!ret) {
		watch_loader(g, final);
		ret = arm_now(g);
	}
	if (!ret)
		g->armed = true;
	helper_end(g);
	return ret;
}

/* More has been mapped: arm what is there now. */
int session_more(struct guardian *g, struct thread *from, bool final)
{
	int ret = probes_resolve(g, final);

	if (ret < 0 || (!ret && !watch_loader(g, final)))
		return ret;
	if (!helper_start(g, from))
		return -1;
	ret = arm_now(g);
	helper_end(g);
	return ret;
}

/* --- leaving ----------------------------------------------------------------------------- */

static uint64_t word_at(struct guardian *g, uint64_t addr)
{
	uint64_t word = 0;

	return addr && target_read(g, g->pid, addr, &word, sizeof(word)) == sizeof(word) ? word : 0;
}

void counts_at_exit(struct guardian *g)
{
	uint32_t i;

	for (i = 0; i < g->mod->nprobes; i++) {
		struct tl_ctl_probe *p = guardian_probe(g, i);

		if (!p->armed)
			continue;
		p->nmissed = word_at(g, p->at_missed[0]) + word_at(g, p->at_missed[1]);
		p->nabandoned = word_at(g, p->at_abandoned);
	}
}

static void counts(struct guardian *g)
{
	struct message m = {.kind = MSG_COUNTS,
		.children = g->children,
		.unclean = g->children_unclean,
		.traps = g->traps};
	uint32_t i;

	for (i = 0; i < g->mod->nprobes; i++) {
		const struct tl_ctl_probe *p = guardian_probe(g, i);

		m.missed += p->nmissed;
		m.abandoned += p->nabandoned;
		m.refused += p->result != 0;
	}
	send_message(g, &m);
}

static void name_blocker(struct guardian *g)
{
	char text[256], path[64], comm[32] = "?";
	struct thread *who = NULL;
	uint32_t i;
	FILE *f;

	for (i = 0; i < g->ctl->nareas && !who; i++) {
		if (g->ctl->areas[i].size)
			quiet(g, g->ctl->areas[i].lo, g->ctl->areas[i].lo + g->ctl->areas[i].size,
				&who);
	}
	if (!who)
		quiet(g, g->ctl->agent, g->ctl->agent + g->ctl->agent_size, &who);
	if (!who)
		return;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", who->tgid, who->tid);
	f = fopen(path, "re");
	if (f) {
		if (fgets(comm, sizeof(comm), f))
			comm[strcspn(comm, "\n")] = 0;
		fclose(f);
	}
	snprintf(text, sizeof(text),
		"thread %d (%s) of process %d still stands in probe memory: that memory is "
		"given back when it has left",
		who->tid, comm, g->pid);
	guardian_say(g, MSG_WARN, 0, text);
}

/* One try at giving everything back. 0: nothing of ours is left. */
static int leave_once(struct guardian *g)
{
	int kept;

	if (!helper_start(g, NULL))
		return g->gone || g->execed ? 0 : 1;
	maps_read(g);
	quiet_forget(g);
	kept = eject(g);
	helper_end(g);
	return g->gone || g->execed ? 0 : kept;
}

static void leave_by_force(struct guardian *g)
{
	/* The agent has failed: the text is what counts. Its memory stays, unused. */
	if (!stop_all(g)) {
		journal_restore(g, g->pid, g->mem);
		resume_all(g, false);
	}
	helper_end(g);
}

static void leave(struct guardian *g)
{
	double end;
	int kept = 0;

	if (g->session && g->orphaned)
		__atomic_store_n(&g->session->live, 0, __ATOMIC_SEQ_CST);
	if (g->injected && !g->gone && !g->execed && !g->crashed && helper_start(g, NULL)) {
		double at = now_ms();

		g->ctl->result = 0;
		if (helper_command(g, TL_CMD_DISARM) >= 0 || !g->crashed) {
			guardian_phase(g, "disarm", at);
			counts(g);
			g->one_look = true; /* from here nothing leads to our memory any more */
			helper_command(g, TL_CMD_EXIT);
			maps_read(g);
			kept = g->crashed || g->gone || g->execed ? 0 : eject(g);
		}
		if (!g->crashed)
			helper_end(g);
		guardian_phase(g, "detach", at);
	} else if (g->injected) {
		counts(g);
	}
	if (g->crashed && !g->gone)
		leave_by_force(g);
	for (end = now_ms() + 900; kept && !g->gone && !g->execed && now_ms() < end;
		kept = leave_once(g)) {
		struct timespec ts = {0, 20000000};

		while (pump(g, false))
			;
		nanosleep(&ts, NULL);
	}
	if (kept && !g->gone && !g->execed)
		name_blocker(g);
	if (g->ctl && g->ctl->env) /* something may have been armed */
		traps_settle(g);
	guardian_say(g, MSG_DONE, (uint32_t)kept, g->error);
	shutdown(g->sock, SHUT_RDWR);
	while (kept && !g->gone && !g->execed) { /* wait behind for those who still stand there */
		struct timespec ts = {0, 200000000};

		while (pump(g, false))
			;
		nanosleep(&ts, NULL);
		kept = leave_once(g);
	}
}

/* --- the loop -------------------------------------------------------------------------------- */

static void hear(struct guardian *g)
{
	struct message m;
	ssize_t n = recv(g->sock, &m, sizeof(m), MSG_DONTWAIT);

	g->orphaned |= n == 0;
	if (n == 0 || (n == (ssize_t)sizeof(m) && m.kind == MSG_LEAVE) ||
		(n < 0 && errno != EAGAIN && errno != EINTR))
		g->leave = true;
}

static void idle(struct guardian *g)
{
	struct pollfd p[2] = {
		{.fd = g->sigchld, .events = POLLIN}, {.fd = g->sock, .events = POLLIN}};
	struct signalfd_siginfo info;

	poll(p, 2, -1);
	if (p[0].revents)
		while (read(g->sigchld, &info, sizeof(info)) == sizeof(info))
			;
	if (p[1].revents)
		hear(g);
}

static int watch(struct guardian *g)
{
	bool said = false;

	while (!g->gone && !g->execed && !g->leave) {
		bool event;

		g->watching = true;
		event = pump(g, false);
		g->watching = false;
		if (event) {
			if (launch_step(g))
				return -1;
			if (g->launched && g->armed && !said) {
				said = true;
				guardian_say(g, MSG_READY, g->narmed, "");
			}
			continue;
		}
		idle(g);
	}
	return 0;
}

static void settle_in(struct guardian *g)
{
	sigset_t set;
	int null, sig;

	setsid();
	prctl(PR_SET_NAME, "trapless-guard", 0, 0, 0);
	for (sig = 1; sig < 32; sig++) {
		if (sig != SIGCHLD && sig != SIGSEGV && sig != SIGBUS && sig != SIGABRT)
			signal(sig, SIG_IGN);
	}
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_SETMASK, &set, NULL);
	g->sigchld = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	null = open("/dev/null", O_RDWR);
	if (null >= 0) {
		dup2(null, 0);
		dup2(null, 1);
		dup2(null, 2);
		if (null > 2)
			close(null);
	}
}

static int begin(struct guardian *g)
{
	double at = now_ms();
	int ret = control_create(g);

	if (!ret)
		ret = target_check(g);
	if (!ret)
		ret = target_seize(g);
	if (ret)
		return ret;
	guardian_phase(g, "seize", at);
	if (g->launched) {
		guardian_say(g, MSG_READY, 0, "seized");
		return 0;
	}
	ret = remote_find_syscall(g);
	if (!ret)
		ret = recover(g);
	if (!ret)
		ret = session_arm(g, NULL, true);
	if (!ret)
		guardian_say(g, MSG_READY, g->narmed, "");
	return ret;
}

int guardian_run(struct guardian *g)
{
	int ret;

	settle_in(g);
	g->told = calloc(g->mod->nprobes + 1, 1);
	ret = begin(g);
	if (!ret)
		ret = watch(g);
	if (ret)
		guardian_say(g, MSG_FAILED, 0, g->error);
	else if (g->gone || g->execed)
		guardian_say(g, MSG_GONE, g->execed, "");
	leave(g);
	/* The kernel lets all threads go on, undisturbed, as we end. */
	return 0;
}
