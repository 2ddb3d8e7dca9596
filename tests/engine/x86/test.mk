# SPDX-License-Identifier: MIT
# The x86 port's tests. Included by the top Makefile; alone: make -f tests/engine/x86/test.mk x86-tests
# Lines for build/unit-tests are in X86_TEST_LINES, one command each, `;` between them.
ifndef LIB_SRCS
include lib/lib.mk
endif

X86_TESTS := $(BUILD)/tests/engine/ab/libc
X86_TEST_LINES := tests/engine/x86/run; $(X86_TESTS); long: tests/engine/x86/run all; long: $(X86_TESTS) 2

.PHONY: x86-tests
x86-tests: $(X86_TESTS)

$(BUILD)/tests/engine/ab/libc: tests/engine/ab/libc.c engine/insn/x86/decode.c engine/insn/x86/attr.c \
		$(LIB_OUT)/libtrapless.a tests/unit.h
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O1 -g -Wall -Wextra -Werror -Iinclude $(CFLAGS) -o $@ $(filter %.c %.a, $^) -lpthread
