/* SPDX-License-Identifier: MIT */
/* trapless-run: run a compiled script against processes of this machine. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "control/control.h"
#include "control/monitor.h"
#include "coverage/coverage.h"
#include "followed.h"
#include "inherited.h"
#include "input.h"
#include "kernel/kernel.h"
#include "later.h"
#include "options.h"
#include "patching.h"
#include "base/passing.h"
#include "base/proc.h"
#include "procfs.h"
#include "raw.h"
#include "rows.h"
#include "session.h"
#include "target.h"

#define VERSION "0.1.0"

enum {
	DRAIN_MANY = 1000,
	DRAIN_LEAST_MS = 1,
	DRAIN_SOON_MS = 20,
	DRAIN_MOST_MS = 100,
	CLOCK_MS = 1000,
	RECYCLE_MS = 80,
	SAME_MOMENT_MS = 500
};

static struct options opt;
static struct tl_tap module;
static struct session session;
static struct target targets[TARGETS_MAX];
static int ntargets, signals = -1;
static bool leaving;
static struct control control = {.opt = &opt,
	.session = &session,
	.targets = targets,
	.ntargets = &ntargets,
	.fd = -1,
	.client = -1};

static int take_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	if (!inherited_ignores(SIGHUP)) /* as by nohup */
		sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* ulimit -f: the call fails, too */
	signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return signals;
}

static int open_output(void)
{
	int why;

	session.out = stdout;
	if (opt.rotate && !rotation_parse(&session.rotation, opt.output, opt.rotate)) {
		fprintf(stderr, "trapless-run: --rotate wants MiB, and after a comma how many "
				"files are kept; see trapless-run --help\n");
		return -1;
	}
	if (opt.output) {
		session.out =
			opt.rotate ? rotation_start(&session.rotation) : fopen(opt.output, "we");
		passed_by_name(opt.output);
		if (!session.out) {
			fprintf(stderr, "trapless-run: cannot write %s: %s\n", opt.output,
				strerror(errno));
			return -1;
		}
	}
	why = opt.raw ? raw_start(&session, fileno(session.out)) : 0;
	if (why)
		fprintf(stderr, "trapless-run: cannot write records: %s\n", strerror(why));
	return why ? -1 : 0;
}

/* The signal stays for run(). */
static bool signal_waits(void)
{
	struct pollfd fd = {.fd = signals, .events = POLLIN};

	return poll(&fd, 1, 0) > 0;
}

/* Until it says something. false: nothing more comes, or the session is to end. */
static bool await_word(struct target *t)
{
	struct pollfd fds[2] = {
		{.fd = signals, .events = POLLIN}, {.fd = t->sock, .events = POLLIN}};

	poll(fds, 2, -1);
	return !signal_waits() && target_hear(t, &opt, true);
}

static int attach_all(void)
{
	int i, failed = 0;

	if (opt.command) {
		if (target_launch(&targets[0], &session, &opt))
			return -1;
		ntargets = 1;
	}
	if (is_for_kernel(&module) && !opt.command && !opt.npids) {
		if (target_attach(&targets[0], 0, &session, &opt))
			return -1;
		ntargets = 1;
	}
	for (i = 0; i < opt.npids; i++) {
		if (target_attach(&targets[ntargets], opt.pids[i], &session, &opt))
			return -1;
		ntargets++;
	}
	for (i = 0; i < ntargets; i++) {
		struct target *t = &targets[i];

		while (!t->ready && !t->failed && !t->ended && !t->done && await_word(t))
			;
		failed += !t->ready && !t->ended && !signal_waits();
	}
	return failed && failed == ntargets ? -1 : 0;
}

/* Of those that were asked for: their children do not make a session longer. */
static bool anyone_left(void)
{
	int i;

	if (opt.later)
		return true;
	for (i = 0; i < ntargets; i++) {
		if ((!targets[i].followed || targets[i].lasts) && !targets[i].ended &&
			!targets[i].done)
			return true;
	}
	return ntargets == 0; /* begin, end and timers alone */
}

/* Interrupted before, nobody has looked at what the process runs. */
static bool anyone_ready(void)
{
	for (int i = 0; i < ntargets; i++) {
		if (targets[i].ready)
			return true;
	}
	return false;
}

static bool anything_to_wait_for(void)
{
	return ntargets || opt.later || session_has(&session, TL_TAP_TIMER) ||
	       session_has(&session, TL_TAP_FILE_READ) || session_has(&session, TL_TAP_FILE_WRITE);
}

static void sample_all(uint32_t probe)
{
	for (int i = 0; i < ntargets; i++)
		target_sample(&targets[i], probe);
}

static bool got_signal(void)
{
	struct signalfd_siginfo info;

	return read(signals, &info, sizeof(info)) == sizeof(info);
}

static bool any_tuning(void)
{
	for (int i = 0; i < ntargets; i++)
		if (targets[i].tuning && !targets[i].done)
			return true;
	return false;
}

/* Conditions have changed: probes come or go. Not while the targets carry out something else, or who asked for that is owed an answer. */
static bool follow_conditions(void)
{
	if (any_tuning() || control.client >= 0 || !conditions_look(&session))
		return false;
	timers_tune(&session);
	for (int i = 0; i < ntargets; i++)
		target_tune(&targets[i]);
	return true;
}

/* `begin` has had its say: nothing is missed from the first moment on. A program that we start is armed later, by its guardian. */
static void settle_conditions(void)
{
	if (!follow_conditions() || (opt.command && !opt.preload))
		return;
	for (int i = 0; i < ntargets; i++)
		while (targets[i].tuning && !targets[i].done && await_word(&targets[i]))
			;
}

static void recycle(void)
{
	pid_t pids[TARGETS_MAX];
	int i;

	for (i = 0; i < ntargets; i++)
		pids[i] = targets[i].pid;
	session_recycle(&session, pids, ntargets);
}

static void follow_children(void)
{
	followed_go_on(targets, &ntargets, &session, &opt, leaving);
}

static void hear_all(void)
{
	int i;

	for (i = 0; i < ntargets; i++) {
		if (!targets[i].done)
			target_hear(&targets[i], &opt, false);
	}
	follow_children();
}

/* Has so much time passed since? Then from now on. */
static bool is_time(double *since, double ms)
{
	double now = now_ms();

	if (now - *since < ms)
		return false;
	*since = now;
	return true;
}

/* Targets wake nobody: the fuller their rings were, the sooner they are looked at again. Milliseconds. */
static int next_wait(int last, uint64_t records)
{
	if (records > DRAIN_MANY)
		return DRAIN_LEAST_MS;
	if (records)
		return DRAIN_SOON_MS;
	return last < DRAIN_MOST_MS / 2 ? 2 * last : DRAIN_MOST_MS;
}

/* Until the session ends; what had happened by then is in it. */
static void run(int timer)
{
	struct pollfd fds[TARGETS_MAX + 6];
	int n, i, wait = DRAIN_SOON_MS;
	double clock = now_ms(), recycled = clock;

	while (anyone_left() && !session_wants_exit(&session) && !got_signal()) {
		if (module.options->max_errors && session.errors > module.options->max_errors)
			break;
		if (session.unwritten)
			break;
		fds[0] = (struct pollfd){.fd = signals, .events = POLLIN};
		fds[1] = (struct pollfd){.fd = timer, .events = POLLIN};
		fds[2] = (struct pollfd){.fd = any_tuning() ? -1 : control.fd, .events = POLLIN};
		fds[3] = (struct pollfd){.fd = input_fd(), .events = POLLIN};
		fds[4] = (struct pollfd){.fd = opt.later ? later_fd() : -1, .events = POLLIN};
		fds[5] = (struct pollfd){
			.fd = opt.monitor && !any_tuning() ? monitor_fd() : -1, .events = POLLIN};
		for (n = 6, i = 0; i < ntargets; i++) {
			if (!targets[i].done)
				fds[n++] = (struct pollfd){.fd = targets[i].sock, .events = POLLIN};
		}
		poll(fds, (nfds_t)n, wait);
		if (timer >= 0 && fds[1].revents)
			timers_run(&session);
		procfs_serve(&session);
		input_serve(&session);
		if (opt.later)
			later_look(targets, ntargets);
		hear_all();
		if (opt.later)
			later_take(targets, &ntargets, &session, &opt);
		control_serve(&control, fds[2].revents);
		follow_conditions();
		wait = next_wait(wait, drain(&session, false));
		rows_serve(&session);
		if (opt.monitor && !monitor_serve(any_tuning()))
			break;
		if (is_time(&recycled, RECYCLE_MS))
			recycle();
		if (is_time(&clock, CLOCK_MS))
			session_clock(&session);
	}
	if (!session_wants_exit(&session))
		procfs_take_rest(&session);
	leaving = true;
	for (i = 0; i < ntargets; i++)
		targets[i].leaving = true; /* whoever has it: we do not join them now */
	hear_all();
}

/* A guardian that does not answer leaves by itself when we are gone: another signal, not of the same moment, says so. */
static bool await_last_word(struct target *t, double since)
{
	struct pollfd fds[2] = {
		{.fd = t->sock, .events = POLLIN}, {.fd = signals, .events = POLLIN}};

	poll(fds, 2, -1);
	if (fds[0].revents)
		return target_hear(t, &opt, true);
	if (!got_signal() || now_ms() - since < SAME_MOMENT_MS)
		return true;
	fprintf(stderr, "trapless-run: not waited for: the guardian of process %d\n", t->pid);
	t->done = t->failed = true;
	t->kept = 1;
	return false;
}

static void leave_all(void)
{
	double since = now_ms();
	int i;

	leaving = true;
	while (got_signal())
		;
	for (i = 0; i < ntargets; i++)
		target_leave(&targets[i]);
	for (i = 0; i < ntargets; i++) {
		while (!targets[i].done && await_last_word(&targets[i], since))
			follow_children();
		follow_children();
		if (targets[i].retired)
			continue;
		if (targets[i].guardian > 0 &&
			!targets[i]
				 .kept) /* else it stays behind, for memory still in use or other sessions */
			waitpid(targets[i].guardian, NULL, 0);
	}
}

static void closing_line(const char *what, uint64_t n)
{
	if (n || opt.verbose)
		fprintf(stderr, "trapless-run: %s: %llu\n", what, (unsigned long long)n);
}

static void missed_lines(const struct message *m)
{
	static const char *const why[TL_MISSED_KINDS] = {
		[TL_MISSED_STRANGE] =
			"hits missed (in threads that share another one's thread pointer, or have "
			"led theirs elsewhere: give each a thread block of its own, CLONE_SETTLS)",
		[TL_MISSED_RECORD] = "hits missed (in more than 32768 threads: trace fewer)",
		[TL_MISSED_NUMBER] =
			"hits missed (in more than 4096 threads, or 16384 tasks of a kernel, as "
			"many as return probes serve, and handlers that need more than 1 KiB of "
			"stack: probe entries, shorten "
			"strings by -D MAXSTRINGLEN)",
		[TL_MISSED_CALL] = "hits missed (more than 4096 calls of a return probe under way "
				   "at once: probe entries)",
	};
	int i;

	closing_line(
		"hits missed (inside another handler: what handlers do is not traced)", m->missed);
	for (i = 0; i < TL_MISSED_KINDS; i++)
		closing_line(why[i], m->kinds[i]);
}

static void closing_lines(void)
{
	struct tl_totals totals;
	struct message m = *followed_counts();
	char beyond[100];
	int i;

	if (opt.no_warnings && !opt.verbose)
		return;
	tl_session_totals(&session.view, &totals);
	for (i = 0; i < ntargets; i++)
		if (!targets[i].retired)
			message_add(&m, &targets[i].counts);
	if (session.errors)
		fprintf(stderr, "WARNING: Number of errors: %llu, skipped probes: %llu\n",
			(unsigned long long)session.errors, (unsigned long long)totals.skipped);
	closing_line(session.view.chunks_most < session.view.nchunks || !session.view.nchunks
			     ? "records lost (rings full: raise -D RINGSIZE)"
			     : "records lost (memory for records full: raise -s, which is in MiB)",
		totals.lost);
	closing_line("handlers skipped (a lock was not free in time)", totals.skipped);
	snprintf(beyond, sizeof(beyond),
		"hits in threads beyond %u, as many as have room in the session's memory",
		session.view.nblocks - 2);
	closing_line(beyond, session.view.session->no_block);
	closing_line("strings cut at MAXSTRINGLEN", totals.truncated);
	missed_lines(&m);
	closing_line("times that all probes were silent (while the program began to trace a child, "
		     "or had its own threads traced)",
		m.silences);
	closing_line("returns without their call (entered by a jump behind the probe, called "
		     "before it was there, or in another thread)",
		m.unpaired);
	closing_line("probes whose place the program has written over (later hits are not seen)",
		m.replaced);
	if (session_has(&session, TL_TAP_PROFILE))
		closing_line("samples left out (inside a probe)", m.inside);
	closing_line("calls left by an exception or longjmp", m.abandoned);
	closing_line("calls left by a jump to a function that is not watched", m.tails);
	closing_line("calls left by a jump while 126 return probes, which is the limit, waited in "
		     "their thread (probe fewer functions)",
		m.crowded);
	if (!opt.preload) { /* nobody sees them there */
		closing_line("child processes that ran untraced", m.children + followed_not());
		closing_line("child processes that could not be cleaned", m.unclean);
	}
	closing_line(
		opt.explain ? "probes refused" : "probes refused (--explain tells why)", m.refused);
	closing_line("commands not started (64 were running)", session.unstarted);
	closing_line(
		"commands refused (a process could change them: -g trusts it)", session.untrusted);
	closing_line("damaged records", session.damaged + session.reader.damaged);
	if (opt.later) {
		closing_line("processes that ended before they were traced", later_counts()->ended);
		closing_line("processes that could not be traced", later_counts()->refused);
	}
	if (anyone_ready() || opt.later) {
		tell_never_armed(&session);
		(opt.verbose ? tell_never_hit : tell_none_hit)(&session);
	}
	if (opt.verbose)
		closing_line("hits by traps", m.traps);
}

static pid_t strange_target(void)
{
	for (int i = 0; i < ntargets; i++) {
		if (targets[i].retired || !targets[i].pid)
			continue;
		if (!targets[i].followed || !proc_ended(targets[i].pid))
			targets[i].strange |= !command_chooser(targets[i].pid);
		if (targets[i].strange)
			return targets[i].pid;
	}
	return followed_stranger();
}

/* The one place that decides about our exit status. */
static int exit_status(bool failed)
{
	int status, i;

	for (i = 0; i < ntargets; i++)
		failed |= targets[i].failed;
	failed |= session.errors != 0 || followed_failed();
	if (!opt.command)
		return failed;
	if (waitpid(targets[0].pid, &status, 0) == targets[0].pid && !failed)
		return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	return 1;
}

static void say_ready(double since)
{
	uint32_t armed = 0;
	int i;

	if (!opt.verbose || opt.command) /* a program that we start is armed later */
		return;
	for (i = 0; i < ntargets; i++)
		armed += targets[i].armed;
	fprintf(stderr, "trapless-run: %u probes armed in %d processes, %.1f ms\n", armed, ntargets,
		now_ms() - since);
}

/* A reader that has seen enough, as `head`, is no failure. */
static bool output_failed(void)
{
	if (!session.unwritten || session.unwritten == EPIPE)
		return false;
	fprintf(stderr, "trapless-run: cannot write %s: %s: the session ended early\n",
		opt.output ? opt.output : "the output", strerror(session.unwritten));
	return true;
}

static int trace(void)
{
	double since = now_ms();
	uint32_t i;
	int timer;

	session.no_warnings = opt.no_warnings;
	for (i = 0; i < module.nwarnings && !opt.no_warnings; i++)
		fprintf(stderr, "WARNING: %s\n", tl_tap_string(&module, module.warnings[i]));
	session.target = opt.npids ? opt.pids[0] : 0; /* where its memory is to fit, too */
	if (session_create(&session, &module)) {
		fprintf(stderr, "trapless-run: %s\n", session.why);
		return 1;
	}
	session_for(&session, session.target);
	session.strange = strange_target;
	conditions_look(&session);
	control_announce(&control);
	if (open_output() || attach_all()) {
		control_end(&control);
		leave_all();
		return 1;
	}
	strange_target(); /* before they can have become gone */
	if (opt.command)
		session_for(&session, targets[0].pid);
	else if (anyone_ready() && targets[0].pid)
		warn_of_program(&session, targets[0].pid);
	if (opt.later)
		later_start(&session, targets, ntargets, opt.verbose);
	session_run(&session, TL_TAP_BEGIN);
	drain(&session, false);
	events_run_early(&session);
	settle_conditions();
	session_live(&session, !session_wants_exit(&session));
	if (opt.command)
		target_go(&targets[0]);
	control_start(&control);
	if (procfs_start(&session, control.place.dir))
		fprintf(stderr, "trapless-run: no files for procfs probes in %s: %s\n",
			control.place.dir, strerror(errno));
	if (input_start(&session))
		fprintf(stderr, "trapless-run: no memory for what is typed\n");
	say_ready(since);
	session.sample = is_for_kernel(&module) ? NULL : sample_all;
	timer = timers_start(&session);
	if (opt.monitor)
		monitor_start(&control);
	rows_start(&session, opt.every);
	if (anything_to_wait_for() && !session_wants_exit(&session))
		run(timer);
	if (opt.monitor)
		monitor_end();
	input_end();
	procfs_end();
	control_end(&control);
	session_live(&session, false);
	leave_all();
	drain(&session, true);
	session_break_locks(&session);
	if (!target_never_started())
		session_run(&session,
			session.errors > module.options->max_errors ? TL_TAP_ERROR : TL_TAP_END);
	rows_print(&session);
	drain(&session, true);
	if (session.raw)
		raw_end(&session);
	tell_times(&session);
	closing_lines();
	return exit_status(output_failed());
}

/* Of what happens in a process; one that may be missing ('?') wants none. */
static bool wants_target(const struct tl_tap_probe *p)
{
	return p->kind >= TL_TAP_SITE && p->kind <= TL_TAP_WATCH &&
	       !(p->flags & (TL_TAP_PROBE_OPTIONAL | TL_TAP_PROBE_NEVER));
}

static bool names_program(void)
{
	for (uint32_t i = 0; i < module.nimages; i++)
		if (module.images[i].flags & TL_TAP_IMAGE_PROGRAM)
			return true;
	return false;
}

/* Else `begin`, `end` and timers would run alone, and nothing would say that the others never can. */
static bool no_target(void)
{
	if (opt.command || opt.npids || opt.later || is_for_kernel(&module))
		return false;
	for (uint32_t i = 0; i < module.nprobes; i++) {
		if (!wants_target(&module.probes[i]))
			continue;
		fprintf(stderr, "trapless-run: no target: give %s; see trapless-run --help\n",
			names_program() ? "-x PID, -c CMD or --later" : "-x PID or -c CMD");
		return true;
	}
	return false;
}

/* CMD reads the standard input; to take bytes out of it would change what it does. */
static bool input_is_theirs(char *why, size_t room)
{
	uint32_t i;

	for (i = 0; opt.command && i < module.nprobes; i++) {
		if (input_is(&module, i)) {
			snprintf(why, room,
				"input.char, input.line: with -c the standard input is the "
				"program's own; start it by itself, and attach with -x PID");
			return true;
		}
	}
	return false;
}

/* Where one was closed nothing else may take its number. Writing to it fails, as it did. */
static bool standard_files(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int main(int argc, char **argv)
{
	static char words[8192];
	char why[512];
	int ret;

	setvbuf(stderr, words, _IOLBF,
		sizeof(words)); /* a line is one write: others may write there, too */
	if (!standard_files())
		return 1;
	if (options_parse(&opt, argc, argv)) {
		return 2;
	}
	if (opt.help) {
		options_help(stdout);
		return 0;
	}
	if (opt.version) {
		puts("trapless-run " VERSION);
		return 0;
	}
	if (options_ask(&opt))
		return control_ask(&opt);
	if (opt.coverage)
		return coverage_main(opt.coverage, opt.functions, opt.verbose);
	inherited_note();
	if (getenv("TRAPLESS_TRAPS_ONLY") && atoi(getenv("TRAPLESS_TRAPS_ONLY")))
		opt.traps_only = 1;
	if (patching_start(opt.patching ? opt.patching : getenv("TRAPLESS_PATCHING")))
		return 2;
	if (take_signals() < 0)
		return 1;
	ret = module_load(&module, opt.module, why, sizeof(why));
	patching_end(opt.verbose);
	if (ret || input_is_theirs(why, sizeof(why))) {
		fprintf(stderr, "trapless-run: %s\n", why);
		return 1;
	}
	if (no_target())
		return 2;
	return trace();
}
