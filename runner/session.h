/* SPDX-License-Identifier: MIT */
/* The runner's half of a session: shared memory, the module's own code, its probes that are not in targets. */
#ifndef TRAPLESS_RUNNER_SESSION_H
#define TRAPLESS_RUNNER_SESSION_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "../home/symbols.h"
#include "../home/unwind.h"
#include "../runtime/session.h"
#include "base/message.h"
#include "base/module.h"
#include "rotate.h"
#include "tell/board.h"

struct options;
struct session;

/* How the probes of one target stand; its guardian's, shared. */
struct standing {
	struct tl_usage usage;
	struct probe_row {
		uint64_t addr, detour, missed; /* addr 0: not in memory */
		uint32_t detour_size, rung;
		int32_t result; /* 0 or -TL_E_ */
		bool armed, replaced;
		char place[70];
	} probe[];
};

/* Who has a session's memory and runs handlers that stand at no place of a target. */
struct session_backend {
	void (*live)(struct session *s, bool on);
	void (*run)(struct session *s, uint32_t probe, struct tl_regs *regs);
	/* Give out records by drain_record(), as tl_reader_pass(); how many */
	uint64_t (*pass)(struct session *s, bool final);
	void (*target)(struct session *s, pid_t pid); /* target() is this one */
	bool (*condition)(struct session *s, uint32_t probe); /* what it says now */
	void (*clock)(struct session *s); /* as handlers see it: set, or corrected */
	bool (*moved)(struct session
			*s); /* a global that some condition names, since this was asked last */
};

struct session {
	const struct session_backend *backend;
	const struct tl_tap *mod;
	struct tl_view view;
	struct tl_view_ops ops;
	int fd; /* of the shared memory, or of the kernel's device */
	uint64_t standing; /* bytes of what the kernel tells of its probes */
	uint64_t size;
	uint8_t *code; /* the module, mapped here too */
	struct tl_env *envs; /* one a probe */
	struct tl_symbols symbols;
	struct tl_unwind unwind;
	struct board board;
	pid_t target; /* memory reads of handlers that run here */
	struct who acting; /* the thread that the present one runs for; 0: none */
	struct tl_value_text *value; /* of the file whose handler runs */
	struct events *early; /* events that came before `begin` had run */
	pid_t (*strange)(
		void); /* a target that must not choose commands; 0: none. NULL: nobody can */
	void (*sample)(uint32_t
			probe); /* have the targets looked at for a timer.profile; NULL: a kernel does it */
	struct tl_reader reader;
	FILE *out;
	char *ready; /* bytes for the output that nobody has been given yet */
	size_t nready;
	struct rotation rotation;
	struct raw_stream *raw; /* NULL: text is wanted */
	bool no_warnings;
	int unwritten; /* errno of output that could not be written: the session ends */
	uint64_t errors, lost, damaged, unstarted, untrusted;
	uint32_t swept; /* blocks in use when they were last looked through */
	bool any_dead; /* of them: their threads have ended, and their records may be unread */
	char why[512];
};

int session_create(struct session *s, const struct tl_tap *mod); /* 0 or -1 with why */
void session_live(struct session *s, bool on);
bool session_wants_exit(const struct session *s);
/* Run all probes of a kind (begin, end, error) in order of their numbers. */
void session_run(struct session *s, uint32_t kind);
bool probe_is_ours(const struct tl_tap_probe *p); /* made for --monitor: no list has it */
/* As the script has it: by its alias, with wildcards resolved; else where it stands. */
const char *probe_shown(const struct tl_tap *mod, uint32_t i);
bool session_may_run(const struct session *s, uint32_t probe);
void session_run_one(
	struct session *s, uint32_t probe, struct tl_regs *regs); /* regs: NULL: none */
/* The same, of a file: $value is this meanwhile. */
void session_run_value(struct session *s, uint32_t probe, struct tl_value_text *value);
bool session_has(const struct session *s, uint32_t kind);
/* Now and then: the clock's rate, blocks of threads that have ended (pids: of all targets). */
void session_clock(struct session *s);
void session_for(struct session *s, pid_t target); /* target() is that one */
/* Nobody is to take a lock any more: those that were left are free. */
void session_break_locks(struct session *s);
void probe_switch(struct session *s, uint32_t probe, enum off_by by, bool off);

/* silent.c: probes that have said nothing, on stderr */
void warn_of_program(const struct session *s, pid_t pid); /* what -x names runs another one */
void tell_never_armed(const struct session *s);
void tell_never_hit(const struct session *s); /* each */
void tell_none_hit(const struct session *s); /* one line, where none was */

/* drain.c */
int drain_start(struct session *s);
/* To the output, sometime. Returns 0. */
int drain_put(void *s, const char *bytes, size_t n);
/* Give out one record, of this thread's block. Returns 0. */
int drain_record(
	void *s, uint32_t block, const struct tl_record *r, const uint8_t *payload, uint32_t size);
/* Give out what is there; final: all of it. Returns the number of records. */
uint64_t drain(struct session *s, bool final);
/* Out of our own memory, into the output. */
void drain_write(struct session *s);
/* What run() prints here, called with 0 to n - 1, goes to `to`. false, and not run: what others printed here is still to come out. */
bool drain_aside(
	struct session *s, void (*run)(struct session *s, uint32_t i), uint32_t n, FILE *to);

/* recycle.c: pids: of all targets. To be called now and then. */
void session_recycle(struct session *s, const pid_t *pids, int n);

/* events.c: MSG_EVENT; those that come too early wait for events_run_early(). */
void event_take(struct session *s, const struct message *m);
void events_run_early(struct session *s);

/* times.c: what handlers took, where the module measures it (-t). */
void tell_times(const struct session *s);

/* commands.c: what system() starts. */
void command_start(struct session *s, uint32_t number);
void command_start_text(
	struct session *s, const char *text, uint32_t n); /* as a handler in a target made it */
int command_keep(
	struct session *s, const char *text); /* made here: its number, -1: there is no room */
bool command_chooser(pid_t pid); /* may it choose commands: could it start them itself? */
void commands_reap(void);

/* timers.c: one descriptor to poll; -1: no timers. */
int timers_start(struct session *s);
void timers_run(struct session *s);
void timers_tune(struct session *s); /* some were switched */

/* conditions.c: probe ... if (EXPR). true: probes are to come or go, in the targets too. */
bool conditions_look(struct session *s);

#endif
