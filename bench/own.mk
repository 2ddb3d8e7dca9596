# SPDX-License-Identifier: MIT
# Included by the top Makefile; alone: make -f bench/own.mk bench-own
ifndef LIB_SRCS
include lib/lib.mk
endif

.PHONY: bench-own
bench-own: $(BUILD)/bench/own
	$(BUILD)/bench/own 25

$(BUILD)/bench/own $(BUILD)/bench/massive: $(BUILD)/bench/%: bench/%.c bench/ticks.h $(LIB_OUT)/libtrapless.a
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O2 -Wall -Wextra -Werror -falign-functions=64 -falign-loops=64 -Iinclude $(CFLAGS) -o $@ $(filter-out %.h,$^)

$(BUILD)/bench/lookup: bench/lookup.c engine/os/traptab.c engine/os/traptab.h
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O2 -Wall -Wextra -Werror -Iinclude $(CFLAGS) -o $@ $<
