# SPDX-License-Identifier: MIT
# The engine on the real process. Included by the top Makefile; alone: make -f tests/engine/process/test.mk process-tests
# Lines for build/unit-tests are in PROCESS_TEST_LINES, one command each, `;` between them.
ifndef LIB_SRCS
include lib/lib.mk
endif

PROCESS_TEST_OUT := $(BUILD)/tests/engine/process
PROCESS_TEST_CFLAGS := -std=gnu11 -O2 -g -Wall -Wextra -Werror -Iinclude -pthread

PROCESS_TESTS := $(addprefix $(PROCESS_TEST_OUT)/, os os-asan os-ubsan probe probe-so probe-checked crowd throw tails race churn mappings places hidden args args-clang args-asan args-ubsan reserve reserve-so shadow \
	headers.ok)
PROCESS_TEST_LINES := $(PROCESS_TEST_OUT)/os; $(PROCESS_TEST_OUT)/os-asan; $(PROCESS_TEST_OUT)/os-ubsan; \
	tests/engine/process/example.sh; short: $(PROCESS_TEST_OUT)/probe; long: $(PROCESS_TEST_OUT)/probe-so; \
	long: $(PROCESS_TEST_OUT)/probe-checked; $(PROCESS_TEST_OUT)/probe-checked traps; short: $(PROCESS_TEST_OUT)/crowd; short: $(PROCESS_TEST_OUT)/crowd traps; \
	$(PROCESS_TEST_OUT)/args; $(PROCESS_TEST_OUT)/args traps; $(PROCESS_TEST_OUT)/args-clang; \
	$(PROCESS_TEST_OUT)/args-asan; $(PROCESS_TEST_OUT)/args-ubsan traps; \
	$(PROCESS_TEST_OUT)/reserve; $(PROCESS_TEST_OUT)/reserve traps; $(PROCESS_TEST_OUT)/reserve-so; $(PROCESS_TEST_OUT)/shadow; \
	$(PROCESS_TEST_OUT)/throw; $(PROCESS_TEST_OUT)/throw traps; $(PROCESS_TEST_OUT)/tails; $(PROCESS_TEST_OUT)/tails traps; $(PROCESS_TEST_OUT)/race; $(PROCESS_TEST_OUT)/mappings; $(PROCESS_TEST_OUT)/places; $(PROCESS_TEST_OUT)/hidden; $(PROCESS_TEST_OUT)/hidden traps; \
	short: $(PROCESS_TEST_OUT)/churn 4 1 40; long: $(PROCESS_TEST_OUT)/churn 24 1 120; \
	long: $(PROCESS_TEST_OUT)/probe long; long: $(PROCESS_TEST_OUT)/probe traps long; \
	long: $(PROCESS_TEST_OUT)/crowd long; long: $(PROCESS_TEST_OUT)/crowd traps long

PROCESS_TEST_HDRS := tests/targets/ringed.h tests/unit.h tests/fn.inc tests/engine/process/start.h

.PHONY: process-tests
process-tests: $(PROCESS_TESTS)

# The home alone, without an engine.
$(PROCESS_TEST_OUT)/os-asan: PROCESS_TEST_CFLAGS += -fsanitize=address
$(PROCESS_TEST_OUT)/os-ubsan: PROCESS_TEST_CFLAGS += -fsanitize=undefined -fno-sanitize-recover=all
$(addprefix $(PROCESS_TEST_OUT)/, os os-asan os-ubsan): $(addprefix tests/engine/process/, os.c home.c) engine/core/base/mem.c $(ENGINE_OS_PROCESS_SRCS) $(ENGINE_OS_OWN_SRCS) \
		$(wildcard engine/os/process/*.h) $(PROCESS_TEST_HDRS)
	@mkdir -p $(@D)
	$(CC) $(PROCESS_TEST_CFLAGS) $(CFLAGS) -Wl,--wrap=tl_home_mappings -o $@ $(filter %.c, $^)

$(addprefix $(PROCESS_TEST_OUT)/, probe crowd): $(PROCESS_TEST_OUT)/%: tests/engine/process/%.c tests/engine/process/targets.S $(LIB_OUT)/libtrapless.a $(PROCESS_TEST_HDRS)
	@mkdir -p $(@D)
	$(CC) $(PROCESS_TEST_CFLAGS) $(CFLAGS) -o $@ $(filter %.c %.S %.a, $^)

$(PROCESS_TEST_OUT)/probe-so: $(addprefix tests/engine/process/, probe.c targets.S) $(LIB_OUT)/libtrapless.so $(PROCESS_TEST_HDRS)
	@mkdir -p $(@D)
	$(CC) $(PROCESS_TEST_CFLAGS) $(CFLAGS) -o $@ $(filter %.c %.S, $^) -L$(LIB_OUT) -ltrapless \
		-Wl,-rpath,'$$ORIGIN/../../../lib'

# Without .cold parts: a jump into one looks like a tail call to whoever does not know the function's parts.
$(PROCESS_TEST_OUT)/throw: tests/engine/process/throw.cc $(LIB_OUT)/libtrapless.a $(PROCESS_TEST_HDRS)
	@mkdir -p $(@D)
	$(CXX) -std=c++11 -O2 -g -pthread -fno-reorder-blocks-and-partition -Wall -Wextra -Werror -Iinclude -o $@ $(filter %.cc %.a, $^)

# Argument probes. Wide vectors are passed as the whole file's target has them.
$(PROCESS_TEST_OUT)/args-clang: private CC := clang
$(PROCESS_TEST_OUT)/args-asan: private ARGS_SAN := -fsanitize=address
$(PROCESS_TEST_OUT)/args-ubsan: private ARGS_SAN := -fsanitize=undefined -fno-sanitize-recover=all
$(addprefix $(PROCESS_TEST_OUT)/, args args-clang args-asan args-ubsan): $(addprefix tests/engine/process/, args.c args_fns.c args.S args_wide.c args.h) \
		$(LIB_OUT)/libtrapless.a $(PROCESS_TEST_HDRS)
	@mkdir -p $(@D)
	$(CC) $(PROCESS_TEST_CFLAGS) -mavx2 -DBYTES=32 $(CFLAGS) -c -o $@.32.o tests/engine/process/args_wide.c
	$(CC) $(PROCESS_TEST_CFLAGS) -mavx512f -DBYTES=64 $(CFLAGS) -c -o $@.64.o tests/engine/process/args_wide.c
	$(CC) $(PROCESS_TEST_CFLAGS) -Wno-psabi $(ARGS_SAN) $(CFLAGS) -o $@ \
		$(filter-out %_wide.c, $(filter %.c %.S, $^)) $@.32.o $@.64.o $(filter %.a, $^)

# Lazily bound: the dynamic loader's resolver is one of those places.
RESERVE_SRCS := $(addprefix tests/engine/process/, reserve.c args_fns.c args.S)
$(PROCESS_TEST_OUT)/reserve: $(RESERVE_SRCS) tests/engine/process/args.h $(LIB_OUT)/libtrapless.a $(PROCESS_TEST_HDRS)
	@mkdir -p $(@D)
	$(CC) $(PROCESS_TEST_CFLAGS) -Wno-psabi -Wl,-z,lazy $(CFLAGS) -o $@ $(filter %.c %.S %.a, $^)

$(PROCESS_TEST_OUT)/reserve-so: $(RESERVE_SRCS) tests/engine/process/args.h $(LIB_OUT)/libtrapless.so $(PROCESS_TEST_HDRS)
	@mkdir -p $(@D)
	$(CC) $(PROCESS_TEST_CFLAGS) -Wno-psabi -Wl,-z,lazy $(CFLAGS) -o $@ $(filter %.c %.S, $^) -L$(LIB_OUT) -ltrapless \
		-Wl,-rpath,'$$ORIGIN/../../../lib'

# It asks the engine's own decoder, and tells the engine what processor it has.
$(PROCESS_TEST_OUT)/shadow: $(addprefix tests/engine/process/, shadow.c targets.S) $(LIB_OUT)/trapless.o $(PROCESS_TEST_HDRS)
	@mkdir -p $(@D)
	$(CC) $(PROCESS_TEST_CFLAGS) $(CFLAGS) -o $@ $(filter %.c %.S, $^) $(LIB_OUT)/trapless.o.all

# The agent's, which needs nothing but its header.
$(PROCESS_TEST_OUT)/places: tests/engine/process/places.c home/control.h $(PROCESS_TEST_HDRS)
	@mkdir -p $(@D)
	$(CC) $(PROCESS_TEST_CFLAGS) $(CFLAGS) -o $@ $<

$(PROCESS_TEST_OUT)/hidden: tests/engine/process/hidden.c $(LIB_OUT)/libtrapless.a $(PROCESS_TEST_HDRS)
	@mkdir -p $(@D)
	$(CC) $(PROCESS_TEST_CFLAGS) $(CFLAGS) -o $@ $(filter %.c %.a, $^)

# Lazily bound: what a linkage table leads to is not known at first.
$(addprefix $(PROCESS_TEST_OUT)/, tails mappings): $(PROCESS_TEST_OUT)/%: tests/engine/process/%.c $(LIB_OUT)/libtrapless.a $(PROCESS_TEST_HDRS)
	@mkdir -p $(@D)
	$(CC) $(PROCESS_TEST_CFLAGS) -Wl,-z,lazy $(CFLAGS) -o $@ $(filter %.c %.a, $^)

# The engine with undefined behaviour and broken promises made fatal.
$(PROCESS_TEST_OUT)/probe-checked: $(LIB_SRCS) $(addprefix tests/engine/process/, probe.c targets.S)
	@mkdir -p $(@D)
	$(MAKE) -f tests/engine/process/test.mk $(BUILD)/checked/tests/engine/process/probe BUILD=$(BUILD)/checked \
		CFLAGS="-O1 -DTL_TEST -fsanitize=undefined -fsanitize-undefined-trap-on-error"
	cp $(BUILD)/checked/tests/engine/process/probe $@

# The sources with their race points.
$(PROCESS_TEST_OUT)/race: $(LIB_SRCS) $(addprefix tests/engine/, race/race.c race/odd.S race/shared.S process/targets.S) $(PROCESS_TEST_HDRS)
	@mkdir -p $(@D)
	$(CC) $(PROCESS_TEST_CFLAGS) -DTL_TEST -mgeneral-regs-only -ffreestanding -fno-stack-protector $(CFLAGS) -o $@ \
		-Wl,--wrap=tl_os_code_at_will $(filter-out engine/core/base/libc_mem.c, $(filter %.c %.S, $^))

$(PROCESS_TEST_OUT)/churn: $(LIB_SRCS) $(addprefix tests/engine/churn/, churn.c code.c oracle.c code.S churn.h)
	@mkdir -p $(@D)
	$(CC) $(PROCESS_TEST_CFLAGS) -DTL_TEST -mgeneral-regs-only -ffreestanding -fno-stack-protector $(CFLAGS) -o $@ \
		$(filter-out engine/core/base/libc_mem.c, $(filter %.c %.S, $^))

# Each public header alone, as C and as C++.
$(PROCESS_TEST_OUT)/headers.ok: $(wildcard include/trapless/*.h)
	@mkdir -p $(@D)
	set -e; for h in $^; do \
		echo "#include <$${h#include/}>" | $(CC) -std=c11 -Wall -Wextra -Werror -pedantic -Iinclude -fsyntax-only -x c -; \
		echo "#include <$${h#include/}>" | $(CXX) -std=c++11 -Wall -Wextra -Werror -Iinclude -fsyntax-only -x c++ -; \
	done
	touch $@
