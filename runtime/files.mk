# SPDX-License-Identifier: MIT OR GPL-2.0-only
# Sources of the runtime: freestanding, the same in agent and runner.
# The machine that the compiler makes code for: one of runtime/machine.
RUNTIME_MACHINE ?= $(if $(filter x86_64%,$(shell $(CC) -dumpmachine)),x86_64,none)
RUNTIME_SRCS := \
	runtime/mem.c \
	runtime/session.c \
	runtime/run.c \
	runtime/error.c \
	runtime/report.c \
	runtime/number.c \
	runtime/text.c \
	runtime/str.c \
	runtime/quote.c \
	runtime/names.c \
	runtime/fp.c \
	runtime/fp_text.c \
	runtime/regex.c \
	runtime/stat.c \
	runtime/hist.c \
	runtime/map.c \
	runtime/ring.c \
	runtime/ring_read.c \
	runtime/format.c \
	runtime/print.c \
	runtime/clock.c \
	runtime/user.c \
	runtime/tls.c \
	runtime/wide.c \
	runtime/context.c \
	runtime/register.c \
	runtime/syscall.c \
	runtime/fact.c \
	runtime/buildid.c \
	runtime/unwind.c \
	runtime/backtrace.c \
	runtime/errno.c \
	runtime/exports.c \
	runtime/machine/$(RUNTIME_MACHINE).c

# What the host tool links for formatting.
RUNTIME_FORMAT_SRCS := runtime/text.c runtime/format.c runtime/hist.c
