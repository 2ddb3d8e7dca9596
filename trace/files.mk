# SPDX-License-Identifier: MIT OR GPL-2.0-only
# Sources of the trace facility: freestanding, the same in a process and in a kernel.
TRACE_SRCS := $(addprefix trace/, events.c raise.c listen.c caller.c ring.c)
