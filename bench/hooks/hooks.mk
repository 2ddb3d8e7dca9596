# SPDX-License-Identifier: MIT
# What bench/hooks/run measures. Included by the top Makefile; alone: make -f bench/hooks/hooks.mk bench-hooks
ifndef LIB_SRCS
include lib/lib.mk
endif

HOOK_BENCH := $(BUILD)/bench/hooks
HOOK_BENCH_FLAGS := -std=gnu11 -O2 -Wall -Wextra -Werror -falign-functions=64 -falign-loops=64 -Iinclude

.PHONY: bench-hooks
bench-hooks: $(addprefix $(HOOK_BENCH)/, place lttng table table-without)

$(HOOK_BENCH)/place: $(addprefix bench/hooks/, place.c mark.c listen.h place.h) bench/ticks.h $(LIB_OUT)/libtrapless.a
	@mkdir -p $(@D)
	$(CC) $(HOOK_BENCH_FLAGS) $(CFLAGS) -o $@ $(filter-out %.h,$^)

$(HOOK_BENCH)/lttng: $(addprefix bench/hooks/, lttng.c lttng_point.h place.h) bench/ticks.h
	@mkdir -p $(@D)
	$(CC) $(HOOK_BENCH_FLAGS) -Ibench/hooks $(CFLAGS) -o $@ $< -llttng-ust -ldl

$(HOOK_BENCH)/table: $(addprefix bench/hooks/, table.c state.c listen.h state.h) $(LIB_OUT)/libtrapless.a
	@mkdir -p $(@D)
	$(CC) $(HOOK_BENCH_FLAGS) -DHOOKED $(CFLAGS) -o $@ $(filter-out %.h,$^)

$(HOOK_BENCH)/table-without: $(addprefix bench/hooks/, table.c state.h)
	@mkdir -p $(@D)
	$(CC) $(HOOK_BENCH_FLAGS) $(CFLAGS) -o $@ $<
