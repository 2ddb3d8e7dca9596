/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * libtrapless: what ties the engine to the program that links it. The only
 * file of it that asks the C library anything, and never from a handler.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>

#include "../engine/core/image/image.h"
#include "../engine/core/image/reserved.h"
#include "../engine/os/process/own.h"

/* All our code, wherever it was linked into: the partial link of libtrapless collects it in one section. */
extern const char __start_tl_text[] __attribute__((weak, visibility("hidden")));
extern const char __stop_tl_text[] __attribute__((weak, visibility("hidden")));

/*
 * By it a session knows that we are here, and whether the engine runs: then it does not begin. Its contents: where the word
 * is, relative to themselves.
 */
__attribute__((used)) static volatile uint32_t tl_own_engaged;
__asm__(".pushsection .note.trapless, \"a\", %note\n"
	"	.balign 4\n"
	"	.4byte 2f - 1f, 4f - 3f, " TL_NOTE_ENGINE_TEXT "\n"
	"1:	.asciz \"" TL_NOTE_NAME "\"\n"
	"2:	.balign 4\n"
	"3:	.4byte tl_own_engaged - .\n"
	"4:	.popsection\n");

int tl_home_init(void)
{
	/* In this order: a session looks at the word once it is mapped. */
	tl_own_engaged = 1;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (tl_own_mapped(TL_OWN_SESSION_FILE)) {
		tl_own_engaged = 0;
		return -TL_E_SESSION;
	}
	tl_machine_init(getauxval(AT_HWCAP2));
	return 0;
}

void tl_home_exit(void)
{
	tl_own_trap_exit();
	tl_own_engaged = 0;
}

/* --- images ------------------------------------------------------------------ */

static void set_name(struct tl_image *img, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t i;

	if (!*name)
		name = "main program";
	for (i = 0; name[i] && i + 1 < sizeof(img->name); i++)
		img->name[i] = name[i];
}

static int add_segment(struct tl_image *img, const ElfW(Phdr) * ph)
{
	uintptr_t vdso = getauxval(AT_SYSINFO_EHDR);

	img->lo = img->bias + ph->p_vaddr;
	img->hi = img->lo + ph->p_memsz;
	if (vdso && img->lo <= vdso && vdso < img->hi)
		img->flags |= TL_IMAGE_VDSO;
	return tl_image_add(img);
}

static int add_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct tl_image img;
	int *ret = arg;
	unsigned i;

	(void)size;
	memset(&img, 0, sizeof(img));
	img.bias = info->dlpi_addr;
	set_name(&img, info->dlpi_name ? info->dlpi_name : "");
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type == PT_GNU_EH_FRAME) {
			img.eh_frame_hdr = img.bias + ph->p_vaddr;
			img.eh_frame_hdr_size = ph->p_memsz;
		}
	}
	for (i = 0; i < info->dlpi_phnum && !*ret; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type == PT_LOAD && (ph->p_flags & PF_X))
			*ret = add_segment(&img, ph);
	}
	return *ret;
}

static unsigned long long nclosed; /* as the loader counts them, at the last update */

static int count_closed(struct dl_phdr_info *info, size_t size, void *arg)
{
	if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs))
		*(unsigned long long *)arg = info->dlpi_subs;
	return 1; /* it is the same in every row */
}

bool tl_os_images_stale(void)
{
	unsigned long long now = 0;

	dl_iterate_phdr(count_closed, &now);
	return now != nclosed;
}

int tl_os_images_update(void)
{
	int ret = 0;

	tl_images_begin();
	dl_iterate_phdr(count_closed, &nclosed);
	dl_iterate_phdr(add_object, &ret);
	if (!ret)
		tl_images_end();
	tl_reserve_own((uintptr_t)__start_tl_text, (uintptr_t)__stop_tl_text);
	return ret;
}

/* --- a thread for the optimizer --------------------------------------------------- */

#pragma weak pthread_create

enum { LATER_US = 10000, LATER_STACK = 256 * 1024 };

/* It lives as long as something waits. */
static void *work_off(void *arg)
{
	do
		tl_os_pause(LATER_US);
	while (tl_optimizer_run());
	return arg;
}

/* The program's signals are not for it; those by which we ourselves work are. */
static void signals_to_block(sigset_t *set)
{
	static const int faults[] = {SIGTRAP, SIGSEGV, SIGBUS, SIGILL, SIGFPE};

	sigfillset(set);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(set, faults[i]);
	for (int sig = TL_SIG_FIRST_RT; sig <= TL_SIG_LAST; sig++)
		sigdelset(set, sig);
}

bool tl_os_later(void)
{
	sigset_t block, before;
	pthread_attr_t attr;
	pthread_t thread;
	int ret;

	if (!pthread_create || pthread_attr_init(&attr))
		return false;
	signals_to_block(&block);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, LATER_STACK);
	pthread_sigmask(SIG_BLOCK, &block, &before);
	ret = pthread_create(&thread, &attr, work_off, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return !ret;
}
