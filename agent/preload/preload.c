/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The agent as a preloaded object: no C library, no other object needed. The
 * loader calls us before the constructors of all others (glibc, by the flag
 * INITFIRST) or in its own order (musl). Whatever takes long is done by a
 * helper thread of our own; it lives as long as the session, asleep on a futex
 * that belongs to the runner, and so learns of the runner's end.
 */
#include "internal.h"
#include "../machine/machine.h"
#include "../../engine/os/process/own.h"
#include "../../runtime/session.h"

enum {
	STACK = 512 * 1024,
	AT_ONCE_MS = 900,
	AGAIN_US = 20000,
	GIVE_BACK_US = 500000,
	LATER_MS = 200,
	PR_SET_NAME = 15,
	SIG_SETMASK = 2,
};

enum {
	THREAD_FLAGS = 0x100 | 0x200 | 0x400 | 0x800 | 0x10000 | 0x40000 | 0x80000, /* VM FS FILES
		SIGHAND THREAD SYSVSEM SETTLS */
};

static struct tl_home_module module;
static _Alignas(16) uint8_t stack[STACK];
static _Alignas(64) uintptr_t block[TL_THREAD_BLOCK / sizeof(uintptr_t)];
static uint32_t begun; /* futex: the program may begin */

/* Who writes into shared memory last: the program's end or ours. */
static uint32_t owner;
enum { OWNER_NONE, OWNER_EXIT, OWNER_LEAVE };

static bool own(uint32_t who)
{
	uint32_t none = OWNER_NONE;

	return TL_CAS(&owner, &none, who) || none == who;
}

/* --- leaving ------------------------------------------------------------------------------ */

/* The engine gives all its memory back, or, while somebody stands there, none. */
static bool all_back(void)
{
	tl_engine_exit();
	return !tl_core.gate;
}

static void unmap_shared(void)
{
	struct tl_preload *p = tl_preload;

	tl_module_unmap(&module);
	tl_syscall3(
		TL_NR_munmap, (long)tl_session_ctl->memory, (long)tl_session_ctl->memory_size, 0);
	tl_preload = NULL;
	tl_ctl = NULL;
	tl_session_ctl = NULL;
	tl_syscall3(TL_NR_munmap, (long)p, (long)p->size, 0);
}

static void silence(void)
{
	struct tl_session *s = (struct tl_session *)(uintptr_t)tl_session_ctl->memory;

	TL_STORE(&s->live, 0);
	tl_probes_silence(true);
}

static void leave(void)
{
	unsigned ms;
	bool back;

	if (tl_futex_owner_dead(TL_LOAD(&tl_preload->runner)))
		silence();
	if (!own(OWNER_LEAVE)) /* the program ends anyway */
		return;
	tl_watch_stop();
	tl_count_stop();
	while (tl_ctl_disarm(&tl_ctl->arming, tl_session_ctl) < 0 && tl_ctl)
		tl_os_pause(AGAIN_US);
	TL_STORE(&tl_preload->counted, 1);
	for (ms = 0; !(back = all_back()) && ms < AT_ONCE_MS; ms += AGAIN_US / 1000)
		tl_os_pause(AGAIN_US);
	tl_preload->kept = !back;
	TL_STORE(&tl_preload->state, TL_PRELOAD_LEFT);
	while (!back) { /* somebody stands there still */
		tl_os_pause(GIVE_BACK_US);
		back = all_back();
	}
	unmap_shared();
}

/* --- the helper ------------------------------------------------------------------------------ */

static void arm(void)
{
	struct tl_preload *p = tl_preload;
	int ret;

	tl_preload_place(p);
	tl_session_ctl->first = 0;
	tl_session_ctl->count = (uint32_t)tl_session_ctl->nprobes;
	ret = tl_ctl_arm(&tl_ctl->arming, tl_session_ctl);
	if (ret >= 0)
		p->narmed = (uint32_t)ret;
	else
		p->error = ret;
	p->unwatched = p->pending ? tl_watch_start() : 0;
	if (p->narmed)
		tl_count_start();
	p->rounds++;
	TL_STORE(&p->state, ret < 0 ? TL_PRELOAD_FAILED : TL_PRELOAD_ARMED);
}

/* The kernel marks our futex when this thread ends, be it by the program's exit or by an exec. */
static void be_known(void)
{
	static struct {
		void *next;
	} entry;
	static struct {
		void *next;
		long offset;
		void *pending;
	} list;

	list.next = &entry;
	entry.next = &list.next;
	list.offset = (long)((uintptr_t)&tl_preload->agent - (uintptr_t)&entry);
	if (!tl_syscall3(TL_NR_set_robust_list, (long)&list, sizeof(list), 0))
		TL_STORE(&tl_preload->agent, tl_gettid() | TL_FUTEX_WAITERS);
}

static bool later; /* probes may stand better */

bool tl_os_later(void)
{
	later = true;
	return true;
}

static void serve(void)
{
	const struct tl_timespec nap = {0, LATER_MS * 1000000};
	struct tl_preload *p = tl_preload;

	for (;;) {
		uint32_t seen = TL_LOAD(&p->runner);

		if (TL_LOAD(&p->leave) || tl_futex_owner_dead(seen))
			return;
		if (tl_watch_take()) {
			arm();
			tl_watch_done();
			continue;
		}
		if (TL_LOAD(&p->tune) != p->tuned) {
			uint32_t now = TL_LOAD(&p->tune);

			arm();
			TL_STORE(&p->tuned, now);
			continue;
		}
		tl_syscall4(TL_NR_futex, (long)&p->runner, TL_FUTEX_WAIT, (long)seen,
			later ? (long)&nap : 0);
		if (later)
			later = tl_optimizer_run() != 0;
	}
}

static void begin_program(void)
{
	tl_alone = false;
	TL_STORE(&begun, 1);
	tl_syscall3(TL_NR_futex, (long)&begun, TL_FUTEX_WAKE_PRIVATE, 1);
}

__attribute__((used)) void tl_helper(void)
{
	tl_syscall3(TL_NR_prctl, PR_SET_NAME, (long)"trapless", 0);
	be_known();
	arm();
	begin_program();
	serve();
	tl_syscall3(TL_NR_set_robust_list, 0, 3 * sizeof(long), 0);
	leave();
}

/* No signal of the program's is ever delivered to our thread. */
static int helper_start(void)
{
	uint64_t all = ~0ull, before = 0;
	long ret;

	tl_machine_thread_block(block);
	tl_syscall4(TL_NR_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&before, sizeof(all));
	ret = tl_clone_helper(THREAD_FLAGS, stack + STACK, block);
	tl_syscall4(TL_NR_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof(all));
	return tl_syscall_failed(ret) ? -TL_E_NOMEM : 0;
}

/* --- beginning ---------------------------------------------------------------------------------- */

static void *map_shared(int fd, size_t size)
{
	long ret = tl_syscall6(
		TL_NR_mmap, 0, (long)size, TL_PROT_READ | TL_PROT_WRITE, TL_MAP_SHARED, fd, 0);

	if (tl_syscall_failed(ret))
		return NULL;
	tl_syscall3(TL_NR_madvise, ret, (long)size, TL_MADV_DONTDUMP);
	return (void *)ret;
}

static struct tl_preload *map_session(int fd)
{
	struct tl_preload head;

	if (tl_syscall4(TL_NR_pread64, fd, (long)&head, sizeof(head), 0) != sizeof(head) ||
		head.magic != TL_PRELOAD_MAGIC || head.version != TL_CTL_VERSION)
		return NULL;
	return map_shared(fd, head.size);
}

static int engine_up(struct tl_preload *p)
{
	struct tl_ctl *c = (struct tl_ctl *)((char *)p + p->ctl_at);
	struct tl_ctl_session *s = (struct tl_ctl_session *)((char *)p + p->probes_at);
	int ret;

	tl_preload = p;
	tl_ctl = c;
	tl_session_ctl = s;
	c->self = (uintptr_t)c;
	c->arming.sessions[s->slot] = (uintptr_t)s;
	s->memory = (uintptr_t)map_shared(p->session_fd, p->session_size);
	s->module = (uintptr_t)&module;
	if (!s->memory)
		return -TL_E_NOMEM;
	ret = tl_module_map(p, &module);
	if (!ret) {
		tl_os_lock();
		ret = tl_os_init();
		tl_os_unlock();
	}
	if (!ret)
		ret = tl_engine_init();
	return ret;
}

static void begin(struct tl_preload *p)
{
	int ret;

	TL_STORE(&p->state, TL_PRELOAD_STARTS);
	ret = engine_up(p);
	if (!ret)
		ret = helper_start();
	if (ret) {
		p->error = ret;
		TL_STORE(&p->state, TL_PRELOAD_FAILED);
		own(OWNER_EXIT); /* nobody is there to leave */
		return;
	}
	while (!TL_LOAD(&begun))
		tl_syscall4(TL_NR_futex, (long)&begun, TL_FUTEX_WAIT_PRIVATE, 0, 0);
}

static void close_inherited(const int *fds)
{
	int i;

	for (i = 0; i < 3; i++)
		tl_syscall3(TL_NR_close, fds[i], 0, 0);
}

extern char **environ __attribute__((weak, visibility("default")));
void tl_preload_init(int argc, char **argv, char **vars);
void tl_preload_fini(void);

/*
 * A shell on the way to the program, say, is not for us: it goes on as it was
 * started, and so the next program finds us again. Once the session is taken
 * nobody else has any use for us.
 */
__attribute__((used)) void tl_preload_init(int argc, char **argv, char **vars)
{
	struct tl_preload_env env;
	struct tl_preload *p;
	uint32_t nobody = 0;
	bool ours = false;

	(void)argc, (void)argv;
	/* glibc passes what it has not noted yet; musl passes nothing. */
	if (!tl_env_find(&env, &environ && environ ? environ : vars))
		return;
	p = map_session(env.fd);
	if (!p)
		return;
	if (TL_LOAD(&p->claimed) || tl_preload_wants_us(p)) {
		const int fds[] = {p->agent_fd, p->session_fd, env.fd};

		ours = TL_CAS(&p->claimed, &nobody, tl_syscall3(TL_NR_getpid, 0, 0, 0));
		tl_env_clean(&env);
		if (ours)
			begin(p); /* and maybe over already: nothing of p is ours any more */
		close_inherited(fds);
	}
	if (!ours)
		tl_syscall3(TL_NR_munmap, (long)p, (long)p->size, 0);
}

/* Also in a fork child that exits: its session is its parent's affair. */
__attribute__((used)) void tl_preload_fini(void)
{
	if (TL_LOAD(&begun) && own(OWNER_EXIT) && tl_count_ours() &&
		TL_LOAD(&tl_preload->state) == TL_PRELOAD_ARMED)
		tl_count_all();
}
