/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "../machine.h"

/* The helper comes here with the control block in its first argument and an aligned stack. */
__asm__(".text\n.globl tl_agent_entry\n.hidden tl_agent_entry\n.type tl_agent_entry, @function\n"
	"tl_agent_entry:\n"
	"	cld\n"
	"	xor %ebp, %ebp\n"
	"	and $-16, %rsp\n"
	"	call tl_agent_main\n"
	"	ud2\n"
	".size tl_agent_entry, . - tl_agent_entry\n"
	/* For calls that the guardian makes by the helper. Where it was killed in one, the helper ends behind it. */
	".globl tl_agent_call\n.hidden tl_agent_call\n"
	"tl_agent_call:\n"
	"	syscall\n"
	"	mov $60, %eax\n" /* exit */
	"	xor %edi, %edi\n"
	"	syscall\n"
	"	ud2\n");
