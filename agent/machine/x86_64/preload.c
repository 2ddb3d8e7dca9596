/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "../machine.h"
#include "../../preload/internal.h"
#include "../../../engine/os/process/process.h"

/* Nothing but its own address, where C libraries have a pointer to themselves. */
void tl_machine_thread_block(uintptr_t *block)
{
	block[0] = (uintptr_t)block;
	block[2] = (uintptr_t)block;
}

__asm__(".text\n.globl tl_clone_helper\n.hidden tl_clone_helper\n.type tl_clone_helper, @function\n"
	"tl_clone_helper:\n"
	"	mov %rdx, %r8\n"
	"	xor %edx, %edx\n"
	"	xor %r10d, %r10d\n"
	"	mov $56, %eax\n" /* clone */
	"	syscall\n"
	"	test %rax, %rax\n"
	"	jnz 1f\n"
	"	xor %ebp, %ebp\n"
	"	call tl_helper\n"
	"	mov $60, %eax\n" /* exit: of this thread */
	"	xor %edi, %edi\n"
	"	syscall\n"
	"1:	ret\n"
	".size tl_clone_helper, . - tl_clone_helper\n");

__asm__(".text\n.globl tl_news_entry\n.hidden tl_news_entry\n.type tl_news_entry, @function\n"
	"tl_news_entry:\n"
	"	sub $8, %rsp\n"
	"	call tl_news\n"
	"	add $8, %rsp\n"
	"	ret\n"
	".size tl_news_entry, . - tl_news_entry\n");
