/* SPDX-License-Identifier: MIT */
/* The agent, as linked, inside the runner: to be mapped by the guardian, and to be preloaded. */
	.section .rodata
	.balign 16
	.globl tl_agent_elf, tl_agent_elf_end
	.hidden tl_agent_elf, tl_agent_elf_end
tl_agent_elf:
	.incbin AGENT_ELF
tl_agent_elf_end:
	.balign 16
	.globl tl_preload_elf, tl_preload_elf_end
	.hidden tl_preload_elf, tl_preload_elf_end
tl_preload_elf:
	.incbin PRELOAD_ELF
tl_preload_elf_end:
	.section .note.GNU-stack, "", @progbits
