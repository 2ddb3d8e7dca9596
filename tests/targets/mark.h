// SPDX-License-Identifier: MIT
// A static mark as <sys/sdt.h> sets it.
#ifndef MARK_H
#define MARK_H

// Notes as sdt.h writes them: SIZES@OPERANDS, with the constraint that it uses.
#define MARK_(name, semaphore, args, ...)                                                          \
	__asm__ volatile(                                                                          \
		"990: nop\n"                                                                       \
		".pushsection .note.stapsdt,\"\",\"note\"\n"                                       \
		".balign 4\n.4byte 992f-991f, 994f-993f, 3\n"                                      \
		"991: .asciz \"stapsdt\"\n992: .balign 4\n"                                        \
		"993: .8byte 990b\n.8byte _.stapsdt.base\n.8byte " semaphore "\n"                  \
		".asciz \"targets\"\n.asciz \"" name "\"\n.asciz \"" args "\"\n"                   \
		"994: .balign 4\n.popsection\n"                                                    \
		".ifndef _.stapsdt.base\n"                                                         \
		".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"            \
		".weak _.stapsdt.base\n.hidden _.stapsdt.base\n"                                   \
		"_.stapsdt.base: .space 1\n.size _.stapsdt.base, 1\n.popsection\n.endif\n"         \
		:                                                                                  \
		: __VA_ARGS__)

#endif
