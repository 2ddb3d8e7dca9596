/* SPDX-License-Identifier: MIT */
/* Registers, and what system calls do with them. */
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "x86_64.h"

enum { ALIGNMENT_CHECK = 1 << 18, FLAGS_PLAIN = 0x202 };

int regs_get(pid_t tid, struct machine_regs *r)
{
	return ptrace(PTRACE_GETREGS, tid, 0, r) ? -errno : 0;
}

int regs_set(pid_t tid, const struct machine_regs *r)
{
	return ptrace(PTRACE_SETREGS, tid, 0, r) ? -errno : 0;
}

uint64_t regs_pc(const struct machine_regs *r)
{
	return user_regs_const(r)->rip;
}

void regs_pc_set(struct machine_regs *r, uint64_t pc)
{
	user_regs(r)->rip = pc;
}

void regs_pc_moved(struct machine_regs *r, uint64_t pc)
{
	struct user_regs_struct *u = user_regs(r);

	if (u->rcx == u->rip) /* behind a system call */
		u->rcx = pc;
	u->rip = pc;
}

uint64_t regs_sp(const struct machine_regs *r)
{
	return user_regs_const(r)->rsp;
}

void regs_sp_set(struct machine_regs *r, uint64_t sp)
{
	user_regs(r)->rsp = sp;
}

uint64_t regs_thread(const struct machine_regs *r)
{
	return user_regs_const(r)->fs_base;
}

size_t regs_general(const struct machine_regs *r, uint64_t general[GENERAL_MAX])
{
	const struct user_regs_struct *u = user_regs_const(r);
	const uint64_t all[] = {u->rax, u->rbx, u->rcx, u->rdx, u->rsi, u->rdi, u->rbp, u->r8,
		u->r9, u->r10, u->r11, u->r12, u->r13, u->r14, u->r15};

	memcpy(general, all, sizeof(all));
	return sizeof(all) / sizeof(*all);
}

struct tl_regs regs_for_handler(const struct machine_regs *r)
{
	const struct user_regs_struct *u = user_regs_const(r);

	return (struct tl_regs){u->r15, u->r14, u->r13, u->r12, u->rbp, u->rbx, u->r11, u->r10,
		u->r9, u->r8, u->rax, u->rcx, u->rdx, u->rsi, u->rdi, u->eflags, u->rip, u->rsp};
}

bool regs_native(const struct machine_regs *r)
{
	return user_regs_const(r)->cs == CODE_64;
}

void regs_function(struct machine_regs *r, uint64_t entry, uint64_t sp, uint64_t arg)
{
	struct user_regs_struct *u = user_regs(r);

	u->rip = entry;
	u->rsp = sp;
	u->rdi = arg;
	u->rbp = 0;
	u->orig_rax = (uint64_t)-1;
	u->eflags = FLAGS_PLAIN;
}

int pc_read(pid_t tid, uint64_t *pc)
{
	errno = 0;
	*pc = (uint64_t)ptrace(PTRACE_PEEKUSER, tid, offsetof(struct user, regs.rip), 0);
	return -errno;
}

int pc_write(pid_t tid, uint64_t pc)
{
	return ptrace(PTRACE_POKEUSER, tid, offsetof(struct user, regs.rip), pc) ? -errno : 0;
}

bool regs_alignment_check(struct machine_regs *r, bool on)
{
	struct user_regs_struct *u = user_regs(r);

	if (!(u->eflags & ALIGNMENT_CHECK) != on)
		return false;
	u->eflags ^= ALIGNMENT_CHECK;
	return true;
}

/* --- system calls ------------------------------------------------------------------------------ */

long regs_call(const struct machine_regs *r)
{
	return (long)user_regs_const(r)->orig_rax;
}

void regs_call_forget(struct machine_regs *r)
{
	user_regs(r)->orig_rax = (uint64_t)-1;
}

long regs_result(const struct machine_regs *r)
{
	return (long)user_regs_const(r)->rax;
}

void regs_result_set(struct machine_regs *r, long result)
{
	user_regs(r)->rax = (uint64_t)result;
}

static const unsigned char arg_at[CALL_ARGS] = {
	offsetof(struct user_regs_struct, rdi),
	offsetof(struct user_regs_struct, rsi),
	offsetof(struct user_regs_struct, rdx),
	offsetof(struct user_regs_struct, r10),
	offsetof(struct user_regs_struct, r8),
	offsetof(struct user_regs_struct, r9),
};

uint64_t regs_call_arg(const struct machine_regs *r, unsigned i)
{
	return r->words[arg_at[i] / sizeof(*r->words)];
}

void regs_call_arg_set(struct machine_regs *r, unsigned i, uint64_t value)
{
	r->words[arg_at[i] / sizeof(*r->words)] = value;
}

bool call_begins(pid_t tid, const struct machine_regs *r)
{
	(void)tid;
	return regs_result(r) == -ENOSYS;
}

long regs_call_coming(const struct machine_regs *r)
{
	return (long)user_regs_const(r)->rax;
}

void regs_call_make(struct machine_regs *r, uint64_t at, long nr, const uint64_t args[CALL_ARGS])
{
	unsigned i;

	user_regs(r)->rip = at;
	user_regs(r)->rax = (uint64_t)nr;
	regs_call_forget(r);
	for (i = 0; i < CALL_ARGS; i++)
		regs_call_arg_set(r, i, args[i]);
}

void regs_call_again(struct machine_regs *r, long nr)
{
	user_regs(r)->rax = (uint64_t)nr;
	user_regs(r)->rip -= SYSCALL_SIZE;
	regs_call_forget(r);
}

long call_before(const struct machine_memory *m, uint64_t pc)
{
	struct {
		uint8_t mov; /* $nr, %eax */
		int32_t nr;
		uint8_t syscall[SYSCALL_SIZE];
	} __attribute__((packed)) code;

	if (m->read(m, pc - sizeof(code), &code, sizeof(code)) != sizeof(code) || code.mov != 0xb8)
		return -1;
	return code.nr;
}

size_t action_size(void)
{
	return sizeof(struct signal_action);
}

size_t action_mask_size(void)
{
	return sizeof(uint64_t);
}

void action_from(struct signal_action *a, const uint8_t kernel[ACTION_MAX])
{
	memcpy(a, kernel, sizeof(*a));
}

void action_to(const struct signal_action *a, uint8_t kernel[ACTION_MAX])
{
	memcpy(kernel, a, sizeof(*a));
}

/* --- of ours ----------------------------------------------------------------------------------- */

struct handler_question regs_question(const struct machine_regs *r)
{
	return (struct handler_question){user_regs_const(r)->rax, user_regs_const(r)->rdx};
}

void regs_answer(struct machine_regs *r, const struct handler_answer *a)
{
	struct user_regs_struct *u = user_regs(r);

	u->rax = a->about;
	u->rsi = a->ids;
	u->rdx = a->value[0];
	u->rcx = a->value[1];
}

void regs_give_clock(struct machine_regs *r)
{
	struct user_regs_struct *u = user_regs(r);
	uint64_t now = machine_clock();

	u->rax = (uint32_t)now;
	u->rdx = now >> 32;
	u->rip += machine.clock.size;
}

void regs_give_key(struct machine_regs *r, uint64_t key)
{
	user_regs(r)->rdx = key;
	user_regs(r)->rip += machine.load_key.size;
}
