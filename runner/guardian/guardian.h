/* SPDX-License-Identifier: MIT */
/*
 * The guardian: the one process that ptraces a target. It is forked by the
 * runner of the target's first session, lives in a session of its own, and
 * outlives it. The sessions are its clients: when a runner's end of the socket
 * closes its probes go, and with the last one the target is left as it was
 * found.
 *
 * All threads of the target stay seized for the whole session (which disturbs
 * nobody); a thread is stopped only where the work asks for it. One loop,
 * pump(), takes every event; functions that wait for one thread let the pump
 * serve all others meanwhile.
 */
#ifndef TRAPLESS_RUNNER_GUARDIAN_H
#define TRAPLESS_RUNNER_GUARDIAN_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/un.h>
#include <sys/user.h>

#include "../../agent/control.h"
#include "../clock.h"
#include "../module.h"
#include "../tell/tell.h"

/* A sleeping call that was issued again with less time: what to put back when it ends. */
struct reissue {
	bool on;
	bool inside; /* between its entry and its exit stop */
	uint8_t arg; /* which argument was changed: index as in arg_of() */
	uint64_t value; /* what it was */
	uint64_t deadline_ns; /* CLOCK_MONOTONIC */
};

/* As rt_sigaction(2) takes it. */
struct signal_action {
	uint64_t handler, flags, restorer, mask;
};

/* As ptrace(2) tells it, and takes it. */
struct dispatch {
	uint64_t mode, selector, offset, len;
};

/* A signal that the thread gets a little later: see signals.c. */
struct kept {
	int sig; /* 0: none */
	unsigned steps;
	double since_ms;
	bool pushes; /* the step pushes the flags */
	bool asked; /* a SIGTRAP, only to have it stop where it can be told of one */
	bool runs; /* until the end of a handler, which a debug register tells: see handlerend.c */
	bool ran; /* ... it did: the SIGTRAP of that may be on its way */
	siginfo_t info;
	uint64_t mask; /* its signals blocked, but for us */
};

struct thread {
	struct thread *next, *same_hash;
	pid_t tid, tgid;
	uint64_t pointer; /* its thread pointer, as last seen; 0: not known */
	uint64_t shares; /* a thread block, see sharing.c; 0: it has its own */
	uint32_t number; /* its id as it sees it itself, once published: see handlers.c */
	bool stopped, dead;
	bool held; /* its next clean stop belongs to somebody who waits for it */
	bool asked; /* ... with many others, and nobody waits for it yet: it may go */
	bool interrupted; /* PTRACE_INTERRUPT sent, its stop not seen yet */
	bool helper;
	bool newborn; /* its first stop has not come yet */
	bool cloning; /* it may be making somebody that is not ours: see cloning.c */
	pid_t awaited; /* the child that it stands still for */
	bool applies; /* it is to be its parent's to trace, and waits for that: see traceme.c */
	bool parts; /* somebody else is to trace it: its next stop is the last */
	bool vforked; /* its parent waits for it */
	bool exits; /* it is on its way out, or out: its memory may be gone */
	pid_t parent; /* the thread that has made it, once that is known */
	pid_t vfork_child; /* the last one that it has made, and waited for */
	bool pinned; /* it stands, with all others, in the call in which it waits for that one */
	uint32_t look; /* the last look at all threads that it was in */
	bool inside; /* our code, when it was last looked at */
	bool suspended; /* its seccomp filter is: see seccomp.c */
	struct dispatch dispatch; /* switched off, to be put back: see dispatch.c */
	bool calling; /* in a remote call: the next syscall stops belong to it */
	bool follow; /* its system calls are watched (launch, traceme) */
	bool steps; /* into the handler of a signal: see masks.c */
	bool mask_known;
	uint64_t calls_at; /* a `syscall` in the program that it has become; 0: as for the others */
	uint64_t calls_sp; /* its stack there: see foothold.c; 0: its own */
	uint64_t mask; /* its signals blocked, as last seen whole */
	uint64_t mask_below; /* ... and when the present handler will have ended; 0: no matter */
	bool owes; /* a signal of somebody's, sent again: as it was */
	siginfo_t owed;
	struct kept kept;
	double rest_ms; /* until then its signals are not kept */
	bool own_trap; /* a SIGTRAP of the program's waits: see owntraps.c */
	bool into_handler; /* it is stepped there by its next signal */
	bool unaligned,
		realigned; /* it makes, or has made, one access with alignment checking off: see alignment.c */
	bool windowed; /* the signal that it is about to get comes from a window's instruction */
	uint64_t frame, alternate,
		alternate_size; /* of such a signal, 0: none; and the alternate stack then */
	int status; /* of the present stop */
	int late_stop; /* a SIGSTOP that came during a remote call */
	uint64_t switches, slept; /* see sleep_so_far() */
	uint64_t go_block; /* its thread pointer, where it is one of Go's; 0: not known yet */
	uint64_t go_machine; /* ... its runtime.m then, 0: not known either */
	uint64_t still_since, still, still_longest; /* held by us, ns: now from, in all, at once */
	struct reissue again;
	char name[16]; /* for those who want its end, when it can no longer be read */
	bool over; /* its end has been told */
	uint32_t untold; /* it stands still for these sessions' handlers, by slot: see events.c */
	double untold_ms; /* since then */
	struct sample {
		uint32_t slot, probe;
	} samples[4]; /* its next stop is also for these sessions' timers */
	unsigned nsamples;
	uint32_t registers, tried; /* its debug registers are as of then: see watchpoints.c */
};

/* Of the program, not of ours; and it has begun. */
static inline bool thread_is_theirs(const struct thread *t)
{
	return !t->helper && !t->dead && !t->newborn;
}

/* Signals that code of ours causes in the program. */
enum forced { FORCED_TRAP, FORCED_SEGV, FORCED_BUS, FORCED };

/* Addresses in the agent; 0: it is not there. */
struct handler_places {
	uint64_t ask, peek, peek_end, peek_fault;
};

enum {
	PAGE = 4096,
	THREAD_BUCKETS = 1024,
	HELPER_STACK = 512 * 1024, /* in the agent's region, behind a closed page */
	HELPER_SP =
		0x4c00, /* of a newborn helper without a foothold: no real thread's stack is there */
};

/* A session on the target: what its runner wants, and what of it lies there. */
struct client {
	struct client *next;
	struct teller tell; /* to its runner */
	const struct module *mod;
	struct module own_mod; /* that, of one that joined */
	struct board board;
	uint32_t slot; /* in the control block */
	struct tl_ctl_session *ctl;
	uint64_t ctl_size, memory_size;
	int ctl_fd, memory_fd;
	struct tl_session *session; /* our view of its memory */
	uint64_t self, memory; /* both in the target; 0: not there */
	uint64_t module_at, module_size, strings_at, symbol_images; /* there, too */
	struct slot *slots; /* see copies.c; NULL: no image was mapped twice */
	uint32_t parts_used; /* of the control block, with slots */
	uint32_t crowded; /* probes in copies of images for which no slot is left */
	uint32_t deaf; /* marks whose semaphores cannot be written yet */
	uint32_t told_crowded, told_deaf; /* the most that the runner has been told of */
	uint32_t pending; /* images, and probes in them, that are not mapped yet; and deaf ones */
	uint32_t narmed;
	bool traps_only;
	bool follow; /* its children, too */
	double child_ms; /* since then it has not taken the news of one */
	bool closable; /* some stand in an object that may be closed, or mapped once more */
	bool tune; /* the user wants something, or wants to know */
	bool leave; /* runner gone, or it said so */
	bool orphaned; /* the runner is gone */
	struct message before; /* the target's figures as it came */
	struct event_probe {
		bool wanted; /* it is of our target */
		uint64_t began_ns, looked_ns; /* the last look of a timer.profile, see samples.c */
		uint64_t addr,
			size; /* of a watched variable; size 0: not there: see watchpoints.c */
		bool reads;
		bool placed; /* and told of */
	} * events; /* by probe; NULL: not wanted, or not yet */
	uint64_t answered_ns; /* when its runner last had run a handler that a thread waited for */
	uint64_t inside; /* samples in our own code */
	bool slow; /* did not answer: no thread waits for it until it does */
	bool entered; /* the agent knows it */
	bool told; /* its runner has had its last word */
	double parted_ms,
		tried_ms; /* since when it is on its way out, and when that was last tried */
};

enum { WATCHPOINTS = 4 };

struct watchpoint {
	uint64_t addr, len; /* 0: none */
	uint64_t reads; /* it is also hit by those */
};

struct guardian {
	pid_t pid; /* the target */
	pid_t eye; /* a live thread of it: the first one may have ended, and shows no memory then */
	struct client *clients;
	struct client *arming; /* it may lose patience */
	double runs_until; /* some thread is led to its handler's end: see handlerend.c; 0: none, ms */
	double progress_due; /* when it is told how far that is, ms */
	bool unplaced_told; /* ctl->nunplaced is not 0 */
	int mem; /* /proc/PID/mem */
	int sigchld; /* signalfd */
	pid_t turn; /* whose it was last, see loop.c */
	bool hot; /* breakpoints are being hit: see watch() */
	int ctl_fd;
	int door; /* where other sessions ask to be served; -1: nowhere */
	bool door_tried, knocked;
	struct sockaddr_un door_at;
	struct thread *threads, *by_tid[THREAD_BUCKETS];
	uint32_t nthreads;
	struct tl_ctl *ctl;
	size_t ctl_size;
	uint64_t syscall_insn; /* address of a `syscall` in the target */
	uint64_t pop_rax; /* ... of a `pop %rax; ret`; 0: not known */
	uint64_t helper_sp; /* of the helper, while it is born */
	uint64_t stack_top, agent_entry;
	uint64_t agent_call; /* where the helper makes calls for us; 0: nowhere in the agent */
	struct thread *helper;
	int helper_signal; /* by which it asks for us */
	uint32_t
		lender; /* the thread whose thread block it shares, by the number it has in its own namespace */
	pid_t taken; /* another session's guardian has the target */
	bool met; /* it was there, and lived */
	bool refused; /* by what it is, whatever becomes of it */
	bool exits; /* some thread of the program has come to its exit */
	bool gone; /* the target has exited */
	bool execed; /* ... or has become another program */
	bool heir; /* of a guardian that was killed: only to clean up */
	bool fresh; /* it waits before the first instruction of a program */
	pid_t parker; /* the guardian that has brought it there and is about to let go of it; 0: none */
	uint64_t parking; /* the page where the target waits for us; 0: nowhere */
	bool may_park; /* all its signals are blocked, and it is not asleep there yet */
	bool release; /* from there, and no more */
	uint32_t expected, declined; /* sessions that were told of it; those that do not want it */
	struct thread *parked; /* it stands still until they are here; NULL: nobody does */
	bool leaving;
	bool parting; /* one of several sessions leaves: the main loop goes on */
	bool injected, launched;
	bool debugger, debugger_known; /* the target may trace others: see traceme.c */
	bool program_searched,
		sanitizer_comes; /* for a sanitizer in it, see selftrace.c; a library is one */
	pid_t own_tracer; /* a process of the target's that traces its threads; 0: none does */
	pid_t let_go; /* a child that shares the memory and is the target's to trace */
	bool barred; /* some thread's seccomp filter may not be suspended */
	bool started; /* launched, and past its entry point */
	bool expecting; /* a helper is being born */
	bool audited; /* its loader maps libraries for auditors, and then maybe the same ones again */
	bool mapping; /* the thread at at_map has just mapped a piece of a file, and not cleared its end yet */
	bool armed; /* the first session is */
	uint64_t entry;
	struct thread *at_exec, *at_end, *at_map, *at_entry,
		*at_dlopen; /* stopped there, for the main loop */
	bool watching; /* the main loop is listening */
	bool dl_missed; /* the loader had news, and nobody could be held */
	uint64_t loader; /* its structure for debuggers (r_debug); 0: not to be relied on */
	struct thread *main_held;
	bool looked, one_look, inside_only; /* see quiet() */
	bool crashed; /* the agent failed: nothing of it is called again */
	bool restored; /* leaving: the text is as it was */
	bool settled; /* ... and no breakpoint of ours is on its way any more */
	struct signal_action
		actions[FORCED]; /* the program's for the signals that we cause: see trapmend.c */
	bool action_watched, action_heard[FORCED];
	bool masks_matter; /* there are breakpoints, or watchpoints: see masks.c */
	bool may_fault, faulted; /* handlers that read memory; one read what is not there */
	bool watch_tried;
	double action_read_ms;
	struct handler_places ask; /* in the agent: see handlers.c */
	bool nested; /* the target is in a pid namespace below ours */
	uint32_t nuntold; /* threads that stand still for a runner's handler */
	struct watchpoint watchpoints[WATCHPOINTS]; /* by debug register */
	int watchpoints_error; /* of the kernel, which has not given a thread its registers; -1: told */
	bool watchpoints_stand, watchpoints_known; /* now; or threads may still be told of hits */
	bool own_traps, own_trapped; /* some SIGTRAPs of the program's wait; it has had some */
	bool data_watched; /* some session wants them */
	uint32_t registers, renewals; /* counts what was to stand, and how often it was spread */
	char name[16]; /* the target's */
	bool over; /* its end has been told */
	uint64_t children, children_unclean; /* ran untraced; could not be cleaned */
	uint64_t traps; /* hits of probes by breakpoints */
	uint64_t silences; /* times that no probe was heard, see traceme.c */
	uint64_t stacks_read; /* bytes, by all looks at who stands where */
	uint64_t stops; /* at any breakpoint of ours */
	uint32_t patching; /* enum tl_patching */
	char error[512]; /* why the last step failed: one message for the user */
};

/* Nothing of the program that we came to is left. */
static inline bool target_ended(const struct guardian *g)
{
	return g->gone || g->execed;
}

static inline uint64_t pages(uint64_t size)
{
	return (size + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

/* guardian.c */
int guardian_run(struct guardian *g, struct client *first);
int guardian_fail(struct guardian *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* After a failure: what to tell of it. Threads that end meanwhile go on. */
const char *guardian_why(struct guardian *g);
void guardian_phase(struct guardian *g, const char *name, double since);
/* One event, or a rest without any (false). Runners are heard, however many events come. */
bool guardian_event(struct guardian *g);
void guardian_await(struct guardian *g, int ms); /* an event, or a word, no longer than that */

static inline uint32_t ctl_areas(const struct guardian *g)
{
	return ctl_bounded(&g->ctl->nareas, TL_CTL_AREAS);
}

/* clients.c */
int client_add(struct guardian *g, struct client *c); /* to the list. -1: it is full */
int client_create(struct guardian *g, struct client *c); /* its control block */
void client_free(struct client *c);
void client_drop(struct guardian *g, struct client *c); /* from the list, too */
void clients_hear(struct guardian *g);
bool clients_in_the_way(const struct guardian *g); /* of one who wants to join: some are leaving */
bool clients_leave(const struct guardian *g); /* all of them want to */
unsigned clients_count(const struct guardian *g);
bool clients_wait(
	const struct guardian *g); /* some have probes in images that are not mapped yet */
bool clients_deaf(const struct guardian *g); /* ... marks that wait for their semaphores */
bool client_watches_loader(const struct client *c); /* ... or that may go, or be mapped again */
bool clients_watch_loader(const struct guardian *g);
bool clients_verbose(const struct guardian *g);
void tell_all(const struct guardian *g, uint32_t kind, uint32_t number, const char *text);
void note_all(const struct guardian *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* loop.c: events */
struct thread *thread_find(const struct guardian *g, pid_t tid);
struct thread *thread_add(struct guardian *g, pid_t tid, pid_t tgid);
void thread_drop(struct guardian *g, struct thread *t);
bool pump(struct guardian *g, bool block); /* one event; false: there was none */
bool pump_briefly(struct guardian *g); /* wait for one, or a signal */
void pump_for(struct guardian *g, int ms); /* all that come in that time */
/* ... until what comes is through, ms at most */
void pump_while(struct guardian *g, bool (*comes)(const struct guardian *), int ms);
void thread_resume(struct guardian *g, struct thread *t, int sig);
bool thread_ask(struct thread *t);
bool thread_await(struct guardian *g, struct thread *t, int timeout_ms);
bool thread_interrupt(
	struct guardian *g, struct thread *t, int timeout_ms); /* true: stopped and held */
void thread_release(struct guardian *g, struct thread *t);
void threads_tell_still(
	const struct guardian *g); /* how long each was held, for who wants to know */

/* seize.c */
int target_check(struct guardian *g); /* refusals, nothing changed */
int target_check_machine(struct guardian *g); /* once it runs its program */
int target_seize(struct guardian *g);
int target_seize_new(struct guardian *g); /* who has come up since; how many, or -1 */
pid_t eye_of(struct guardian *g); /* g->eye, chosen anew where that thread has ended */

/* cloning.c */
int cloning_await(struct guardian *g); /* what is made as we come is there, and ours */

/* seccomp.c */
bool suspends_filters(void); /* may we, in all likelihood? */
bool is_filtered(pid_t tid); /* by a filter that may kill it for a call of ours */
long trace_options(void);
/* Before and after calls by t, which is stopped. false: they may kill it, and nothing can be done about that. */
bool calls_begin(struct guardian *g, struct thread *t);
void calls_end(struct thread *t);
/* By a stopped thread of the program, which does not notice. `at`: room in its memory for `calls`, 256 bytes. */
bool calls_aside(struct guardian *g, struct thread *t,
	bool (*calls)(struct guardian *g, struct thread *t, uint64_t at, void *arg), void *arg);
/* dispatch.c: switched off for what is to come, and on again. false: it cannot be. */
bool dispatch_off(struct thread *t);
void dispatch_on(struct thread *t);
bool dispatch_leads_on(struct guardian *g, struct thread *t); /* a SIGSYS: of a call that goes on */

bool calls_barred(const struct guardian *g); /* ... whichever thread we take */

/* remote.c */
int remote_find_syscall(struct guardian *g);
uint64_t syscall_of(struct guardian *g, pid_t pid);
long remote_call(struct guardian *g, struct thread *t, long nr, uint64_t a, uint64_t b, uint64_t c,
	uint64_t d, uint64_t e, uint64_t f);
const char *limit_next(
	long error); /* what to do where one of its limits made a call fail: for the end of a message, or "" */
size_t target_read(struct guardian *g, pid_t pid, uint64_t addr, void *buf, size_t len);
enum { WORDS_MAX = 1024 }; /* what the kernel reads at once */
/* From n places of the target, WORDS_MAX at most. How many: up to the first that cannot be read so. */
size_t target_read_words(struct guardian *g, const uint64_t *at, uint64_t *words, size_t n);
int target_write(struct guardian *g, pid_t pid, uint64_t addr, const void *buf, size_t len);
int text_write(
	int mem, uint64_t addr, const void *buf, size_t len); /* also where it is read-only */
void helper_park(struct guardian *g, struct thread *t);
int regs_get(pid_t tid, struct user_regs_struct *regs);
int regs_set(pid_t tid, const struct user_regs_struct *regs);
int mask_get(pid_t tid, uint64_t *mask);
int mask_set(pid_t tid, uint64_t mask);

/* restart.c */
enum { /* what the kernel leaves in rax until it has decided about a restart */
	RESTART_SYS = -512,
	RESTART_NOINTR = -513,
	RESTART_NOHAND = -514,
	RESTART_BLOCK = -516,
};
uint64_t sleep_clock(struct guardian *g, struct thread *t);
uint64_t sleep_so_far(struct guardian *g, struct thread *t);
uint64_t sleep_confirmed(struct thread *t, uint64_t slept);
void call_restart(
	struct guardian *g, struct thread *t, struct user_regs_struct *regs, uint64_t slept_ns);
bool call_was_cut(struct thread *t, const struct user_regs_struct *regs);
bool call_is_fragile(long nr);
bool call_has_limit(long nr); /* ... and a time limit among its arguments */
bool again_coming(const struct guardian *g);
bool again_stop(struct guardian *g, struct thread *t); /* a syscall stop of a call issued again */

/* foothold.c: what a thread that makes calls for us finds when we are killed */
enum { FOOTHOLD_WORDS = 128, FOOTHOLD_XSTATE = 512, FOOTHOLD_SIZE = 3456 };
struct foothold {
	uint64_t at; /* below t's red zone; 0: there is none */
	uint64_t sp, helper_sp; /* t's own, and of the helper that it makes */
	uint8_t kept[FOOTHOLD_SIZE], put[FOOTHOLD_SIZE];
};
/* t is to be as `home` says, with that mask. It stands there now, and its calls do. false: no way is known. */
bool foothold_lay(struct guardian *g, struct thread *t, const struct user_regs_struct *home,
	uint64_t mask, struct foothold *f);
void foothold_lift(struct guardian *g, struct thread *t, struct foothold *f);
/* The helper's own, in memory of ours. */
void foothold_of_helper(struct guardian *g, struct thread *t, uint64_t at);
/* Behind a `syscall`: how many words are popped before `ret`; -1: it does not come to one. */
int returns_behind(const uint8_t *code, size_t n);

/* borrow.c */
struct thread *helper_start(struct guardian *g, struct thread *from);
struct thread *helper_arrive(
	struct guardian *g, struct thread *from); /* ... with the agent's room */
void helper_end(struct guardian *g);
void lender_release(struct guardian *g);
int helper_command(struct guardian *g, int command);
/* Those that it neither blocks nor ignores: the program is to see what happens then. */
uint64_t signals_waiting(const struct thread *t);

/* join.c */
void door_open(struct guardian *g);
int door_now(const struct guardian *g); /* to be polled; -1: nobody can be let in at the moment */
void door_answer(struct guardian *g);
void door_close(struct guardian *g);

/* part.c: those that leave while others stay. -1: nobody can stay */
enum { PART_MS = 20, PARTED_MS = 200 };
int clients_part(struct guardian *g);
int clients_part_ms(const struct guardian *g); /* when to try again; -1: nobody is on the way */

/* inject.c: with the helper held */
int agent_room(struct guardian *g); /* mapped; the helper has its stack there */
int inject(struct guardian *g, struct client *c); /* the agent, the control block, and c's memory */
int protect(struct guardian *g, uint64_t at, uint64_t size, int prot);
uint64_t agent_export(void *unused, const char *name); /* where it is in the target; 0: nowhere */
uint64_t agent_region(struct guardian *g, uint64_t code, uint64_t *size);
void agent_calls(struct guardian *g, uint64_t code); /* by one that another guardian left */
int eject(struct guardian *g); /* memory back; 0, or how many pieces had to stay */

/* areas.c */
void areas_sort(struct tl_ctl_area *a, size_t n); /* by address */
/* Neighbours from `first` on, to be unmapped by one call: each is two stops. Behind the last of them. */
size_t areas_run(const struct tl_ctl_area *a, size_t n, size_t first);
/* In that process: where nothing is mapped up to the next one (of n, by address, `shared` none), one reaches to that. */
void areas_join(pid_t pid, struct tl_ctl_area *a, size_t n);
/* c's memory, or all (NULL) but the agent's own; with the helper held. 0, -1: it stays. */
int areas_unmap(struct guardian *g, const struct client *c);

/* share.c: with the helper held */
enum { PIECES_MAX = 3 };
struct piece {
	int fd;
	uint64_t size, *at; /* at: filled in */
	bool of_session; /* goes with it */
};
int share_memory(struct guardian *g, const struct piece *p, size_t n);
void sockets_recover(struct guardian *g); /* what that left open when its guardian was killed */

/* enter.c: with the helper held, and the engine up */
int client_enter(struct guardian *g, struct client *c); /* its module and memory */
void client_flatten(struct guardian *g, const struct client *c); /* before its module is unmapped */

/* listeners.c: while no helper runs in the target */
void listeners_leave(struct guardian *g); /* all sessions' */
void listeners_of_child(struct guardian *g, int mem); /* a copy of the target */
void listeners_recover(
	struct guardian *g); /* by a dead guardian's control block, which is g->ctl */

/* maps.c: the mappings anew, into the control block too */
int maps_read(struct guardian *g);
int maps_look(struct guardian *g); /* and leave the agent those that it knows */
bool is_mapped(uint64_t addr);
/* In the control block, as it was last read; NULL: nothing is mapped there. */
const struct tl_ctl_map *map_at(const struct guardian *g, uint64_t addr);

/* images.c: maps and images anew, into the control block */
int images_read(struct guardian *g);

/* resolve.c: all read maps and images anew */
int probes_resolve(struct guardian *g, struct client *c, bool final);
bool images_match(struct guardian *g, const struct client *c);
bool image_bias(struct guardian *g, const struct client *c, uint32_t image,
	uint64_t *bias); /* false: not mapped */
bool image_is_there(
	struct guardian *g, const struct client *c, uint32_t image); /* when they were read last */

/* copies.c: slots of the control block */
uint32_t slot_next(const struct client *c, uint32_t slot); /* of the same probe; 0: none */
uint32_t slot_add(struct client *c, uint32_t probe); /* 0: there is no room */
void slot_fill(struct client *c, uint32_t slot, uint32_t probe);
void slot_place(struct client *c, uint32_t slot, uint32_t probe, uint64_t bias);

/* loader.c */
uint64_t program_entry(struct guardian *g);
uint64_t loader_state(struct guardian *g);
/* What is mapped stays so from here on, as far as it depends on the loader: it rests, or is held before its work. */
void loader_rests(struct guardian *g);
void loader_go(struct guardian *g); /* whom nobody is going to look at */
uint32_t loader_tid_offset(void);
bool loader_audited(struct guardian *g); /* at its exec */

/* recover.c */
int recover(struct guardian *g);

/* stack.c: stacks of one thread: the one it is on, and those that signal handlers interrupted. */
struct stacks {
	uint64_t sp[8], end[8];
	unsigned n;
};
/* The one it is on. false: it lies nowhere. */
bool stacks_begin(struct guardian *g, struct stacks *s, const struct thread *t, uint64_t sp);
void stacks_add(struct guardian *g, struct stacks *s, const struct thread *t, uint64_t sp);
/* The words of the i-th, n at `at` at a time. */
void stacks_words(struct guardian *g, const struct stacks *s, unsigned i, const struct thread *t,
	void (*fn)(void *arg, uint64_t at, const uint64_t *words, size_t n), void *arg);
/* A thread of Go's runtime stands still: from now on the end of its stack is known in its sleep, too. */
void stack_learn(struct guardian *g, struct thread *t, const struct user_regs_struct *regs);
/* ... until then it has to stand still: nothing but the whole heap would be its stack. */
bool stack_is_known(const struct guardian *g, const struct thread *t);

/* near.c: which 64 KiB of the address space are meant, or others that end in the same 16 bits */
struct near {
	uint64_t bits[1024];
};
void near_clear(struct near *n);
void near_add(struct near *n, uint64_t lo, uint64_t size);
static inline bool near_has(const struct near *n, uint64_t addr)
{
	return n->bits[addr >> 22 & 1023] >> (addr >> 16 & 63) & 1;
}

/* In a signal's frame. */
enum { USER_CODE = 0x33 }; /* the segment of 64-bit code */
enum { FRAME_STACK = 8 + 16, FRAME_SP = 8 + 40 + 15 * 8, FRAME_PC = FRAME_SP + 8 };

/* stop.c */
int stop_all(struct guardian *g);
int stop_unseen(struct guardian *g); /* without a look at where they stand: pcs[] stays as it is */
bool stop_lasts(void); /* some stand still, or all, until resume_all() */
bool stop_ask(
	struct guardian *g, struct thread *t); /* to stop: somebody waits for it, in a moment */
bool stop_thread(struct guardian *g,
	struct thread *t); /* once, and lets it go on; false: it could not be stopped */
/* For a child that we know: before that one has become another program, or ended, nobody can stop it. */
bool waits_for_child(const struct guardian *g, const struct thread *t);
bool stop_held_up(const struct guardian *g, const struct thread *t); /* so, while others stop */
void stop_inside(struct guardian *g);
void resume_all(struct guardian *g, bool apply);
uint64_t times_asleep(pid_t tid); /* how often it has gone to sleep, 0: unknown */
bool sleeps_on(pid_t tid, uint64_t times); /* asleep, and not once more since then */
/* Where threads' stacks end, in stacks[]: sleepers keep sleeping, others are stopped until it is checked who has woken. */
void stacks_tell(struct guardian *g);
void stacks_check(struct guardian *g);

void pcs_add(struct guardian *g, pid_t tid, uint64_t pc, uint64_t where);

/* quiet.c: 0, or -TL_E_BUSY: who? */
int quiet(struct guardian *g, uint64_t lo, uint64_t hi, struct thread **who);
int seen(struct guardian *g, uint64_t lo, uint64_t hi); /* into pcs[], as tl_os_seen() */
void quiet_forget(struct guardian *g); /* the next one looks again */
bool in_our_memory(struct guardian *g, uint64_t addr);
/* Is at[0] the program counter of a signal frame, whoever made the frame's way back? What lies beyond `end` may be anything. */
bool is_saved_pc(const uint64_t *at, const uint64_t *end);

/* trapsvc.c */
bool trap_hit(struct guardian *g, struct thread *t);
bool trap_is_due(struct guardian *g,
	struct thread *t); /* the next that a stopped one does is to come to that */
void traps_first(struct guardian *g, struct thread *t); /* serve all others while t waits */
void traps_settle(
	struct guardian *g); /* before leaving: no breakpoint of ours is still on its way */

int signal_code(struct thread *t); /* si_code; 0 or less: sent by somebody */
bool by_breakpoint(struct thread *t);
bool pc_get(struct thread *t, uint64_t *pc);
void pc_set(struct thread *t, uint64_t pc);

/* handlers.c */
void threads_publish(struct guardian *g);
uint32_t own_number(const struct guardian *g, pid_t pid); /* as the target sees it */
void thread_publish(struct guardian *g, struct thread *t);
void thread_unpublish(struct guardian *g, struct thread *t);
void be_watched(struct guardian *g);
bool handler_asks(struct guardian *g, struct thread *t, uint64_t pc);
bool handler_faults(struct guardian *g, struct thread *t, int sig);
bool helper_faults(struct guardian *g, struct thread *t, int sig);

bool in_handler(const struct guardian *g, uint64_t pc); /* or the agent, not in a detour */

/* signals.c */
bool signal_keep(struct guardian *g, struct thread *t, int sig);
bool signal_stepped(struct guardian *g, struct thread *t);
bool signal_steps(struct guardian *g, struct thread *t, int *sig);
bool signals_kept(const struct guardian *g);
void popf_over(struct guardian *g, struct thread *t); /* before a step */
void signal_again(struct thread *t, int sig); /* sent again, it will look as it did */
void signal_pass_on(const struct thread *from, struct thread *to, int sig);
void signal_as_it_was(struct thread *t, int sig);

/* handlerend.c */
bool handler_run(struct guardian *g, struct thread *t);
int handler_runs_ms(
	const struct guardian *g); /* from time to time they are to be looked at; -1: none runs */
void handler_runs_check(struct guardian *g);
void handler_run_over(struct thread *t);

/* faults.c */
uint64_t text_before(struct guardian *g,
	uint64_t addr); /* behind a copy in a detour: its instruction; else addr */
void fault_mend(struct guardian *g, struct thread *t, int sig);
bool fault_is_followed(const struct guardian *g, const struct thread *t);
void fault_at_handler(struct guardian *g, struct thread *t);
void fault_at_call(struct guardian *g, struct thread *t);

/* alignment.c */
bool alignment_faults(struct guardian *g, struct thread *t, int sig);
void alignment_again(struct thread *t);
bool alignment_stepped(struct thread *t);

/* masks.c */
static inline uint64_t signal_bit(int sig)
{
	return 1ull << (sig - 1);
}
uint64_t signals_of_insns(void); /* that instructions cause */
void mask_learn(struct thread *t, uint64_t mask);
void masks_learn(struct guardian *g);
bool mask_has_trap(uint64_t mask);
bool mask_had(struct thread *t, uint64_t mask, int sig);
bool mask_is_followed(const struct guardian *g, const struct thread *t);
void mask_coming(struct guardian *g, struct thread *t, const struct user_regs_struct *regs);
bool mask_changes_by(struct guardian *g, struct thread *t, int sig);
bool mask_at_handler(struct guardian *g, struct thread *t);
void mask_at_call(struct guardian *g, struct thread *t);

/* trapmend.c */
void signal_mend(struct guardian *g, struct thread *t, enum forced f);
bool action_known(const struct guardian *g, enum forced f);
bool call_coming(struct guardian *g, struct thread *t);
void signal_deliver(
	struct guardian *g, struct thread *t, int sig); /* loop.c: to t, which has stopped for it */
void own_trap_begins(struct guardian *g, struct thread *t);
void action_learn(struct guardian *g);
bool action_wanted(const struct guardian *g); /* what is to be watched is not mapped yet */
int action_watch(struct guardian *g);
bool watch_can_wait(const struct guardian *g); /* for session_watch() */
bool handlers_may_fault(const struct module *m);
void session_watch(struct guardian *g);

/* children.c */
void child_born(struct guardian *g, struct thread *t);
/* A debugger may seize a fork child at once, and it is to be nobody's by then: true, the parent waits for it. */
bool child_awaited(struct guardian *g, struct thread *parent, pid_t tid);
/* Born, or dead: its parent goes on. */
void child_settled(struct guardian *g, pid_t tid);
bool any_newborn(const struct guardian *g); /* whose first stop is still to come */
void births_settle(struct guardian *g);

/* parking.c */
bool children_followed(const struct guardian *g); /* some session wants that */
/* t is stopped, all its signals blocked, and goes there once it is let go of. 0: it cannot. */
uint64_t parking_enter(
	struct guardian *g, struct thread *t, const struct user_regs_struct *regs, uint64_t mask);
/* t, from there, goes on no sooner than all sessions that were told of it are here. */
void parking_share(struct guardian *g, struct thread *t);
/* It is nobody's by now. */
void parking_tell(const struct guardian *g, enum message_kind kind, pid_t pid, uint64_t at);
/* It stands at its exec. true: it is ours no more. */
bool program_hand_over(struct guardian *g, struct thread *t);
/* Held, where it came from; NULL: it has gone on by itself, or has ended. */
struct thread *parking_leave(struct guardian *g);
/* Before the target is taken: it may be on its way from another guardian. */
void parking_meet(struct guardian *g);
void parking_find(struct guardian *g); /* once it is, where we were not told of it */

/* sharing.c */
bool may_share(const struct guardian *g, const struct thread *t); /* a pointer; others cannot */
uint64_t record_of(
	struct guardian *g, uint64_t at, uint64_t key); /* of thread pointer `at`; 0: none */
void sharing_arrive(struct guardian *g); /* before any probe stands */
void sharing_begins(struct guardian *g, struct thread *t);
void sharing_ends(struct guardian *g, struct thread *t);

/* vforked.c */
const struct thread *record_owner(struct guardian *g, const struct thread *t); /* or t itself */
void vfork_begins(
	struct guardian *g, struct thread *t); /* it shares the memory, and has not run yet */
void vfork_over(struct guardian *g, const struct thread *parent); /* which has not gone on yet */

/* journal.c */
bool journal_gone(struct guardian *g);
bool journal_holds(struct guardian *g, pid_t pid); /* anything, or nobody knows what */
int journal_restore(struct guardian *g, pid_t pid, int mem);
void journal_undo(
	struct guardian *g, uint64_t lo, uint8_t *text, size_t size); /* read from the target */
/* Those of [lo, hi) by `shift` further on; mem < 0: are there *any? 0, or -1: some may stand. */
int journal_restore_moved(
	struct guardian *g, int mem, uint64_t lo, uint64_t hi, uint64_t shift, bool *any);

/* moved.c */
int moved_restore(struct guardian *g, pid_t pid, int mem);
void moved_mend(struct guardian *g);
void text_shut(
	struct guardian *g); /* what a dead or failed agent had open for writing: as it was */
int breakpoints_out(struct guardian *g);
void breakpoints_in(struct guardian *g);

/* traceme.c */
bool is_debugger(struct guardian *g);
void traceme_program(struct thread *t);
void traceme_born(struct guardian *g, struct thread *t);
void traceme_part(struct guardian *g, struct thread *t);
bool traceme_coming(struct guardian *g, struct thread *t);
bool traceme_may_part(struct guardian *g, struct thread *t); /* it has stopped */
void gate_set(struct guardian *g, uint32_t open); /* 0: handlers are silent */
void traceme_serve(struct guardian *g); /* those that wait: while no text changes */
void traceme_over(struct guardian *g, pid_t child);
void traceme_settle(struct guardian *g); /* before text changes: who was let go of has left it */

/* selftrace.c */
enum { WATCHED_CLONE = TL_CTL_WATCHED - 1 }; /* of watched_at: its place */
void selftrace_watch(struct guardian *g); /* with the helper held */
bool selftrace_wanted(const struct guardian *g); /* what is to be watched is not mapped yet */
void selftrace_shows(struct thread *t, struct user_regs_struct *regs);
bool selftrace_may_part(struct guardian *g, struct thread *t);
bool selftrace_begin(struct guardian *g, struct thread *t);
void selftrace_over(struct guardian *g, const struct thread *t);

/* events.c */
int events_begin(struct guardian *g,
	struct client *c); /* it is told of what is there, and from now on of what comes */
void thread_began(struct guardian *g, struct thread *t); /* before it goes on */
void thread_exits(struct guardian *g, struct thread *t); /* it is still there */
void thread_over(struct guardian *g, struct thread *t);
void process_over(struct guardian *g); /* and all threads that it still had */
void event_answered(struct guardian *g, struct client *c, pid_t tid);
void events_go_on(struct guardian *g); /* who waits for nobody any more */
void events_forget(struct guardian *g, struct thread *t);
bool client_listens(const struct client *c);
struct message event_of(struct guardian *g, struct thread *t); /* without probe and registers */
struct tl_regs event_regs(const struct user_regs_struct *r);
bool event_waits(const struct client *c); /* for its handlers threads stand still */
void event_wait(struct guardian *g, struct client *c, struct thread *t);
void call_goes_on(struct guardian *g, struct thread *t);

/* samples.c */
void sample_ask(
	struct guardian *g, struct client *c, uint32_t probe); /* of each thread that runs */
void sample_take(struct guardian *g, struct thread *t); /* it has stopped for that */

/* owntraps.c */
bool own_trap_waits(struct guardian *g, struct thread *t); /* true: it is delivered later */
void own_traps_arrive(struct guardian *g); /* before the first breakpoint of ours stands */
void own_traps_deliver(struct guardian *g);

/* watchpoints.c */
bool watchpoints_wanted(const struct module *m);
void watchpoints_look(struct guardian *g); /* where the variables are by now */
void watchpoints_inherit(struct guardian *g, struct thread *t); /* newborn, stopped */
void watchpoints_follow(struct guardian *g, struct thread *t); /* it has stopped */
int entry_set(
	const struct guardian *g, const struct thread *t); /* g->entry has changed; 0, or -errno */
bool watchpoint_hit(struct guardian *g, struct thread *t); /* true: its SIGTRAP was of one */
bool watchpoint_is_due(const struct guardian *g, const struct thread *t);
int watchpoints_part(
	struct guardian *g); /* a session leaves: in how many threads its own still stand */
int watchpoints_leave(struct guardian *g); /* all do */
void watchpoints_recover(struct guardian *g);
enum { DEBUG_STATUS = 6, DEBUG_CONTROL = 7, DEBUG_ON_WRITE = 1, DEBUG_ON_ACCESS = 3 };
int debug_register_set(
	const struct thread *t, int number, uint64_t value); /* 0, or -errno; of a stopped one */
uint64_t debug_control(int number, uint64_t on, uint64_t len); /* len: 1, 2, 4, 8 */

/* launch.c */
bool launch_syscall_stop(struct guardian *g, struct thread *t);
void launch_exec(struct guardian *g, struct thread *t);
bool program_over(struct guardian *g, bool follow);
bool launch_searches(const struct guardian *g);
bool launch_adopt(struct guardian *g, struct thread *t);
bool launch_entry(struct guardian *g, struct thread *t);
void launch_leave(struct guardian *g);
bool launch_under_way(const struct guardian *g);
bool launch_step_due(const struct guardian *g);
int launch_step(struct guardian *g);

/* leave.c */
void counts_at_exit(struct guardian *g);
void client_counts(const struct guardian *g, const struct client *c);
void client_silence(struct client *c); /* its runner cannot do that any more */
void client_disarm(struct guardian *g, struct client *c); /* with the helper held */
void unmap(struct guardian *g, uint64_t *at, uint64_t size);
bool session_leave(
	struct guardian *g); /* true: another session has come meanwhile, to be watched */

/* arm.c */
int control_create(struct guardian *g);
int session_arm(struct guardian *g, struct client *c, struct thread *from, bool final);
void progress_tell(struct guardian *g); /* while g->arming */
/* Return probes whose calls left to where nobody watched: looked at again, some times a second at most. */
enum { FOLLOW_MS = 200 };
bool follow_may_be_due(const struct guardian *g);
void session_follow(struct guardian *g);
void session_tune(struct guardian *g); /* where anybody wants it */
/* Breakpoints for our own sake, with the helper held. c: any */
int session_more(struct guardian *g, struct thread *from, bool final);

#endif
