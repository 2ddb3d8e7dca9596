# SPDX-License-Identifier: MIT
# What libtrapless has beside the engine. Included by the top Makefile; alone: make -f tests/lib/test.mk lib-tests
ifndef LIB_SRCS
include lib/lib.mk
endif

LIB_TEST_OUT := $(BUILD)/tests/lib
LIB_TEST_CFLAGS := -std=gnu11 -O2 -g -Wall -Wextra -Werror -Iinclude -pthread

# All forms of a place, by both compilers.
HOOK_FORMS := flag nop jump
HOOK_TESTS := $(foreach f, $(HOOK_FORMS), $(addprefix $(LIB_TEST_OUT)/hooks-$(f)-, gcc clang))
HOOK_CC_TESTS := $(foreach f, $(HOOK_FORMS), $(addprefix $(LIB_TEST_OUT)/hooks_cc-$(f)-, g++ clang++))
HOOK_EVENT_TESTS := $(addprefix $(LIB_TEST_OUT)/hook_events-, $(HOOK_FORMS))
HOOK_LIBS := $(foreach f, $(HOOK_FORMS), $(LIB_TEST_OUT)/hooks_lib-$(f).so)
HOOK_TEST_LINES = $(foreach t, $(HOOK_TESTS) $(HOOK_CC_TESTS) $(HOOK_EVENT_TESTS), $(t);) $(foreach l, $(HOOK_LIBS), $(LIB_TEST_OUT)/hooks_dl $(l);) $(foreach t, $(filter %gcc, $(HOOK_TESTS)), long: $(t) long;)

LIB_TESTS := $(addprefix $(LIB_TEST_OUT)/, readers readers-few readers-tsan outside outside-clang trace trace-so trace-tsan ring ring-tsan hooks_dl) $(HOOK_TESTS) $(HOOK_CC_TESTS) $(HOOK_EVENT_TESTS) $(HOOK_LIBS)
LIB_TEST_LINES := $(LIB_TEST_OUT)/readers; $(LIB_TEST_OUT)/readers fenced; $(LIB_TEST_OUT)/readers-few; $(LIB_TEST_OUT)/readers-tsan; \
	$(LIB_TEST_OUT)/outside; $(LIB_TEST_OUT)/outside-clang; $(LIB_TEST_OUT)/trace; $(LIB_TEST_OUT)/trace-so; $(LIB_TEST_OUT)/trace-tsan; \
	$(LIB_TEST_OUT)/ring; $(LIB_TEST_OUT)/ring-tsan; $(HOOK_TEST_LINES)

.PHONY: lib-tests
lib-tests: $(LIB_TESTS)

# The sanitizer takes a fence for nothing, and needs none: what a thread leaves is released, what is waited for acquired.
$(LIB_TEST_OUT)/readers-few: LIB_TEST_CFLAGS += -DTL_READER_BITS=1
$(LIB_TEST_OUT)/readers-tsan: LIB_TEST_CFLAGS += -fsanitize=thread -Wno-tsan
$(addprefix $(LIB_TEST_OUT)/, readers readers-few readers-tsan): tests/lib/readers.c lib/readers.c lib/readers.h engine/os/process/futex.c engine/os/process/futex.h tests/unit.h
	@mkdir -p $(@D)
	$(CC) $(LIB_TEST_CFLAGS) $(CFLAGS) -o $@ $(filter %.c, $^)

$(LIB_TEST_OUT)/outside-clang: private CC := clang
$(addprefix $(LIB_TEST_OUT)/, outside outside-clang): tests/lib/outside.c $(LIB_OUT)/trapless.o tests/unit.h
	@mkdir -p $(@D)
	$(CC) $(LIB_TEST_CFLAGS) $(CFLAGS) -o $@ $< $(LIB_OUT)/trapless.o.all

FORM_flag := TL_HOOK_FLAG
FORM_nop := TL_HOOK_NOP
FORM_jump := TL_HOOK_JUMP
$(HOOK_TESTS): $(addprefix tests/lib/, hooks.c hooks_far.c hooks.h) $(LIB_OUT)/libtrapless.a $(addprefix include/trapless/, hook.h hooks.h) tests/unit.h
	@mkdir -p $(@D)
	$(lastword $(subst -, ,$@)) $(LIB_TEST_CFLAGS) -DTL_HOOK_FORM=$(FORM_$(word 2, $(subst -, ,$(notdir $@)))) \
		-o $@ $(filter %.c %.a, $^)

$(HOOK_EVENT_TESTS): tests/lib/hook_events.c tests/lib/hooks.h $(LIB_OUT)/libtrapless.a $(addprefix include/trapless/, hook.h hooks.h trace.h) tests/unit.h
	@mkdir -p $(@D)
	$(CC) $(LIB_TEST_CFLAGS) $(CFLAGS) -DTL_HOOK_FORM=$(FORM_$(lastword $(subst -, ,$(@F)))) -o $@ $(filter %.c %.a, $^)

$(addprefix $(LIB_TEST_OUT)/, trace ring): $(LIB_TEST_OUT)/%: tests/lib/%.c $(LIB_OUT)/libtrapless.a tests/unit.h
	@mkdir -p $(@D)
	$(CC) $(LIB_TEST_CFLAGS) $(CFLAGS) -o $@ $(filter %.c %.a, $^)

$(LIB_TEST_OUT)/trace-so: tests/lib/trace.c $(LIB_OUT)/libtrapless.so tests/unit.h
	@mkdir -p $(@D)
	$(CC) $(LIB_TEST_CFLAGS) $(CFLAGS) -o $@ $< -L$(LIB_OUT) -ltrapless -Wl,-rpath,'$$ORIGIN/../../lib'

# Neither probes nor what a handler interrupts: no unwinder leads through the sanitizer's own.
$(addprefix $(LIB_TEST_OUT)/, trace-tsan ring-tsan): $(LIB_TEST_OUT)/%-tsan: tests/lib/%.c tests/lib/stubs.c lib/trace.c lib/readers.c engine/os/process/futex.c $(TRACE_SRCS) tests/unit.h
	@mkdir -p $(@D)
	$(CC) $(LIB_TEST_CFLAGS) -fsanitize=thread -Wno-tsan -DNO_ENGINE -DCHANGES=8000 $(CFLAGS) -o $@ $(filter %.c, $^)

$(LIB_TEST_OUT)/hooks_far.o: tests/lib/hooks_far.c tests/lib/hooks.h include/trapless/hook.h
	@mkdir -p $(@D)
	$(CC) $(LIB_TEST_CFLAGS) -c -o $@ $<

$(HOOK_CC_TESTS): tests/lib/hooks_cc.cc tests/lib/hooks.h $(LIB_TEST_OUT)/hooks_far.o $(LIB_OUT)/libtrapless.a $(addprefix include/trapless/, hook.h hooks.h) tests/unit.h
	@mkdir -p $(@D)
	$(lastword $(subst -, ,$@)) -std=c++17 -O2 -g -Wall -Wextra -Werror -Iinclude -pthread -DTL_HOOK_FORM=$(FORM_$(word 2, $(subst -, ,$(notdir $@)))) \
		-o $@ $(filter %.cc %.o %.a, $^)

$(HOOK_LIBS): tests/lib/hooks_lib.c include/trapless/hook.h
	@mkdir -p $(@D)
	$(CC) $(LIB_TEST_CFLAGS) -fPIC -shared -DTL_HOOK_FORM=$(FORM_$(lastword $(subst -, ,$(basename $(notdir $@))))) -o $@ $<

$(LIB_TEST_OUT)/hooks_dl: tests/lib/hooks_dl.c $(LIB_OUT)/libtrapless.a include/trapless/hooks.h tests/unit.h
	@mkdir -p $(@D)
	$(CC) $(LIB_TEST_CFLAGS) -Wl,--wrap=calloc -o $@ $(filter %.c %.a, $^) -ldl
