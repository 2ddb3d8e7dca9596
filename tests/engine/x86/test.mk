# SPDX-License-Identifier: MIT
# The x86 port's tests. Included by the top Makefile; alone: make -f tests/engine/x86/test.mk x86-tests
# Lines for build/unit-tests are in X86_TEST_LINES, one command each, `;` between them.
ifndef LIB_SRCS
include lib/lib.mk
endif

AB_LIBC := $(BUILD)/tests/engine/ab/libc
X86_ENTRIES := $(BUILD)/tests/engine/x86/entries
X86_LADDER := $(BUILD)/tests/engine/x86/ladder
X86_TESTS := $(AB_LIBC) $(X86_ENTRIES) $(X86_LADDER)
X86_TEST_LINES := tests/engine/x86/run; $(AB_LIBC); $(X86_ENTRIES); $(X86_LADDER); \
	long: tests/engine/x86/run clang; long: $(AB_LIBC) 10; long: $(X86_ENTRIES) /usr/bin/python3

.PHONY: x86-tests
x86-tests: $(X86_TESTS)

$(AB_LIBC): tests/engine/ab/libc.c engine/insn/x86/decode.c engine/insn/x86/attr.c \
		$(LIB_OUT)/libtrapless.a tests/unit.h
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O1 -g -Wall -Wextra -Werror -Iinclude $(CFLAGS) -o $@ $(filter %.c %.a, $^) -lpthread

$(X86_ENTRIES): tests/engine/x86/entries.c runner/coverage/file.c runner/base/sections.c runner/machine/x86_64/machine.c runner/coverage/file.h runner/base/sections.h $(LIB_OBJS) tests/unit.h
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O1 -g -Wall -Wextra -Werror -Iinclude $(CFLAGS) -o $@ $(filter %.c, $^) \
		$(filter-out %/libc_mem.o, $(LIB_OBJS)) -lpthread

$(X86_LADDER): tests/engine/x86/ladder.c $(ENGINE_CORE_SRCS) $(ENGINE_OS_FAKE_SRCS) $(ENGINE_ARCH_X86_SRCS) $(INSN_X86_SRCS) \
		engine/os/fake/fake.h $(wildcard engine/core/*/*.h) engine/arch/arch.h engine/arch/x86/x86.h tests/unit.h
	@mkdir -p $(@D)
	$(CC) -std=c11 -O1 -g -Wall -Wextra -Werror -DTL_TEST -Iinclude $(CFLAGS) -o $@ $(filter %.c, $^)
