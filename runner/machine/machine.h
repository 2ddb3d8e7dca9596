/* SPDX-License-Identifier: MIT */
/*
 * What a tracer knows of the processor: the contract of a machine. Nothing else in the runner names a register, an
 * instruction or an offset in a signal's frame. A folder here has all of one machine: x86_64 is the one there is.
 *
 * Threads are meant by their tid, and are in a ptrace stop of ours, unless it says otherwise. Functions that return
 * int give 0, or -errno: the thread is gone.
 */
#ifndef TRAPLESS_RUNNER_MACHINE_H
#define TRAPLESS_RUNNER_MACHINE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <trapless/regs.h>

/* --- constants -------------------------------------------------------------------------------- */

enum { INSN_BYTES = 16 };

/* An instruction, as it lies in memory. */
struct machine_insn {
	uint8_t size; /* 0: there is no such */
	uint8_t bytes[INSN_BYTES];
};

struct machine {
	const char *name; /* for messages */
	const char *option; /* ... and as -a has it */
	const char *narrow; /* its programs of half the word size; NULL: there are none */
	uint16_t elf; /* e_machine of its programs */
	uint16_t spare_signal; /* hardly a program knows of it */
	uint16_t relative; /* relocation: load address and addend */
	uint16_t insn_max; /* the longest instruction, bytes */
	uint16_t red_zone; /* bytes below the stack pointer that are in use */
	uint16_t restorer_max; /* bytes by which machine_is_restorer() knows one */
	uint64_t user_end; /* no program's memory lies there, or above */
	/* in a signal's frame, from the stack pointer at the handler's first instruction */
	struct {
		uint16_t alternate; /* a stack_t */
		uint16_t pc;
	} frame;
	struct machine_insn syscall;
	struct machine_insn breakpoint;
	uint8_t breakpoint_passed; /* bytes that the program counter is behind one when it is told */
	struct machine_insn spin; /* jumps to itself: stands where a patch is being written */
	struct machine_insn agent_call; /* how tl_agent_call begins: see agent/header.c */
	struct machine_insn clock; /* by which handlers read the time; see regs_give_clock() */
	/* by which detours read the thread pointer; see regs_give_key() */
	struct machine_insn load_key;
	/* ... and the bytes that follow, load_key_more of them */
	uint8_t load_key_next[INSN_BYTES];
	uint8_t load_key_more;
};
extern const struct machine machine;

/* Of the processor that we run on: the clock by which handlers tell time, and a pause of a loop that waits. */
uint64_t machine_clock(void);
void machine_pause(void);

/* May code set the thread pointer without a call? */
bool machine_sets_thread_pointer(void);
/* By its /proc/PID/status: has a thread a shadow stack? */
bool machine_has_shadow_stack(const char *status);

static inline uint64_t breakpoint_before(uint64_t pc)
{
	return pc - machine.breakpoint_passed;
}

/* --- memory ------------------------------------------------------------------------------------ */

/* Of a thread's process; whoever asks for something about it embeds this one. */
struct machine_memory {
	/* How many bytes: up to the first that cannot be read. */
	size_t (*read)(const struct machine_memory *m, uint64_t addr, void *to, size_t size);
	int (*write)(const struct machine_memory *m, uint64_t addr, const void *from, size_t size);
};

/* --- registers --------------------------------------------------------------------------------- */

/* All but those of the floating point unit, as the kernel has them. */
struct machine_regs {
	uint64_t words[64];
};

int regs_get(pid_t tid, struct machine_regs *r);
int regs_set(pid_t tid, const struct machine_regs *r);
uint64_t regs_pc(const struct machine_regs *r);
void regs_pc_set(struct machine_regs *r, uint64_t pc);
void regs_pc_moved(struct machine_regs *r, uint64_t pc); /* ... and where a call comes back to */
uint64_t regs_sp(const struct machine_regs *r);
void regs_sp_set(struct machine_regs *r, uint64_t sp);
uint64_t regs_thread(const struct machine_regs *r); /* the thread pointer */
enum { GENERAL_MAX = 32 };
/* All that may hold an address, but the program counter and the stack pointer. How many. */
size_t regs_general(const struct machine_regs *r, uint64_t general[GENERAL_MAX]);
struct tl_regs regs_for_handler(const struct machine_regs *r);
bool regs_native(const struct machine_regs *r); /* it runs code of our word size */
/* It is about to run the function at `entry`, with one argument and no caller. */
void regs_function(struct machine_regs *r, uint64_t entry, uint64_t sp, uint64_t arg);
/* The program counter alone: that is what each hit of a breakpoint pays for. */
int pc_read(pid_t tid, uint64_t *pc);
int pc_write(pid_t tid, uint64_t pc);
/* Checking of alignment, by the program's will. false: it was as wanted, or there is none. */
bool regs_alignment_check(struct machine_regs *r, bool on);

/* --- system calls ------------------------------------------------------------------------------ */

/* What the kernel leaves as a call's result until it has decided about a restart. */
enum {
	RESTART_SYS = -512,
	RESTART_NOINTR = -513,
	RESTART_NOHAND = -514,
	RESTART_BLOCK = -516,
};
enum { CALL_ARGS = 6 };

/* The call that it is in, or has come out of with this stop; negative: none. */
long regs_call(const struct machine_regs *r);
void regs_call_forget(struct machine_regs *r); /* the kernel is to do nothing more about it */
long regs_result(const struct machine_regs *r); /* its: a value, -errno, or RESTART_* */
void regs_result_set(struct machine_regs *r, long result);
uint64_t regs_call_arg(const struct machine_regs *r, unsigned i);
void regs_call_arg_set(struct machine_regs *r, unsigned i, uint64_t value);
/* In a stop at a call: is it the one before the call? */
bool call_begins(pid_t tid, const struct machine_regs *r);
/* It stands at a system call instruction that it has not run: which call is it going to make? */
long regs_call_coming(const struct machine_regs *r);
/* It will make call `nr` by the instruction at `at`, which is one. */
void regs_call_make(struct machine_regs *r, uint64_t at, long nr, const uint64_t args[CALL_ARGS]);
/* It stands behind its call, and makes it, or another one with the same arguments, again. */
void regs_call_again(struct machine_regs *r, long nr);
/* The call whose instruction ends at pc, by the code in front of it; -1: not known. */
long call_before(const struct machine_memory *m, uint64_t pc);

/* The program's disposition of a signal, and as rt_sigaction(2) takes it. */
struct signal_action {
	uint64_t handler, flags, restorer, mask;
};
enum { ACTION_MAX = 64 };
size_t action_size(void);
size_t action_mask_size(void); /* that call's last argument */
void action_from(struct signal_action *a, const uint8_t kernel[ACTION_MAX]);
void action_to(const struct signal_action *a, uint8_t kernel[ACTION_MAX]);

/* --- breakpoints, steps -------------------------------------------------------------------------- */

/* By its si_code: is a SIGTRAP a breakpoint's, or a step's? Negative, and 0, is somebody's who has sent it. */
bool trap_by_breakpoint(int code);
bool trap_by_step(int code);
bool trap_by_step_over_call(int code); /* behind a system call the kernel has another word for it */

/* Go on for one instruction, with a signal (0: without). step_end() comes with the stop that follows, of any kind. */
long step_begin(pid_t tid, int sig);
void step_end(pid_t tid);

enum stepping { STEP_PLAIN, STEP_PUSHES /* the step can be seen in what it pushes */, STEP_NOT };
/* What a step over the instruction at `code` (INSN_BYTES, behind its end zeros) would do. */
enum stepping step_kind(const uint8_t *code);
/* What would keep a step's traces is done here in its place, if it stands before such. true: r has changed. */
bool step_spared(const struct machine_memory *m, struct machine_regs *r);
void step_hide(const struct machine_memory *m, const struct machine_regs *r); /* STEP_PUSHES */
bool regs_steps(const struct machine_regs *r); /* by the program's own will */

/* --- the processor's own breakpoints ------------------------------------------------------------- */

enum { WATCHPOINTS = 4, WATCH_LONGEST = 8 };
enum watching { WATCH_WRITES, WATCH_ACCESSES, WATCH_EXECUTION };

/* len: 1, 2, 4 or 8, and addr a multiple of it; 0: none. */
struct watchpoint {
	uint64_t addr;
	uint32_t len;
	enum watching kind;
};

int watch_set(pid_t tid, const struct watchpoint w[WATCHPOINTS]); /* these and no others */
int watch_off(pid_t tid);
bool watch_any(pid_t tid);
uint32_t watch_hits(pid_t tid); /* by bit: those that were hit since that was last forgotten */
void watch_hits_forget(pid_t tid);

/* --- signal frames --------------------------------------------------------------------------------- */

struct signal_frame {
	uint64_t sp, pc; /* of what the signal has interrupted */
	bool sure; /* the rest of it looks like one, too */
};

/* Do handlers return to here? `code`: machine.restorer_max bytes. */
bool machine_is_restorer(const uint8_t *code);
/* at[0] to end[-1] are words of a stack. Is at[0] the program counter in a frame, of code as ours? What lies beyond may be anything. */
bool frame_pc_is(const uint64_t *at, const uint64_t *end);
/* false: there is none. */
bool frame_read(const struct machine_memory *m, uint64_t frame, struct signal_frame *f);
bool frame_alternate(const struct machine_memory *m, uint64_t frame, stack_t *alternate);
/* In the stop before rt_sigreturn(2): the frame that it returns by. */
uint64_t frame_returning(const struct machine_regs *r);

/* --- code of the program's ------------------------------------------------------------------------- */

/* A system call instruction behind which `nr` is made; NULL: none. */
const uint8_t *code_find_call(const uint8_t *p, const uint8_t *end, long nr);
/* ... of the sanitizers' own clone(), by which a function is called at once. */
const uint8_t *code_find_bare_clone(const uint8_t *p, const uint8_t *end);

/*
 * The way home: a thread behind a system call returns, by words that lie ready on its stack, into another one. `lead`
 * is code that takes a call's number from the stack. A machine whose programs have no such code finds none.
 */
enum { LEAD_SIZE = 2, LEAD_WORDS = 10, HOME_CODE = 48 };
/* Behind a system call: how many words does code take off the stack before it returns? -1: it does not come to that. */
int home_returns(const uint8_t *code, size_t size);
const uint8_t *home_find_lead(const uint8_t *code, size_t size);
/* Words by which call `nr` is made by the instruction at `call`. How many. */
size_t home_words(uint64_t words[LEAD_WORDS], int pops, uint64_t lead, uint64_t call, long nr);
/* Floating point state as a signal's frame has it. Bytes; 0: it cannot be had. */
size_t home_float(pid_t tid, uint8_t *to, size_t room);
/* The frame by which rt_sigreturn(2) makes a thread as `home` says, with its floating point state at that address. Bytes. */
enum { HOME_FRAME_MAX = 1024 };
size_t home_frame(
	uint8_t to[HOME_FRAME_MAX], const struct machine_regs *home, uint64_t mask, uint64_t fp);

/* --- code of ours ------------------------------------------------------------------------------------ */

/*
 * A page where a thread sleeps until somebody takes over. The code's first instruction is a system call; behind it the
 * thread goes on by what lies behind the code.
 */
enum { PARKING_CODE = 256 };
extern const char machine_parking[PARKING_CODE];
struct parking_state {
	struct machine_regs regs;
	uint64_t mask;
};

/* A handler's question, at the agent's breakpoint for that: see agent/handler.c. */
struct handler_question {
	uint64_t what, of;
};
struct handler_answer {
	uint64_t about, ids, value[2];
};
struct handler_question regs_question(const struct machine_regs *r);
void regs_answer(struct machine_regs *r, const struct handler_answer *a);
/* What an instruction of ours was kept from, and it stands behind that. */
void regs_give_clock(struct machine_regs *r);
void regs_give_key(struct machine_regs *r, uint64_t key);

/*
 * To see whether stores of code are seen whole (patching.c): functions that return 1, in a page of ours, in each of which
 * one store turns an instruction, so that it returns 2, and back. How many there are; 0: by its manual this machine shows
 * such stores whole.
 */
enum { TURNED_BYTES = 4096 };
unsigned machine_turned_write(uint8_t *page);
void machine_turn(uint8_t *page, unsigned i, bool turned);
int machine_turned_call(uint8_t *page, unsigned i);

#endif
