# SPDX-License-Identifier: MIT
# libtrapless: build/lib/libtrapless.a, libtrapless.so, trapless.pc. Included by the top Makefile; alone:
#   make -f lib/lib.mk lib
include engine/files.mk
include trace/files.mk

BUILD ?= build
LIB_OUT := $(BUILD)/lib
LIB_VERSION := 0.1.0
# The engine in the own process, which the runner asks about files, too.
LIB_ENGINE_SRCS := $(ENGINE_CORE_SRCS) $(ENGINE_LIBC_MEM_SRCS) $(ENGINE_PORT_SRCS) \
	$(ENGINE_OS_PROCESS_SRCS) $(ENGINE_OS_OWN_SRCS) $(ENGINE_OS_GUARD_SRCS) lib/own.c
LIB_SRCS := $(LIB_ENGINE_SRCS) $(addprefix lib/, readers.c outside.c hook_files.c hooks.c hook_events.c trace.c) $(TRACE_SRCS)
LIB_OBJS := $(patsubst %.c,$(LIB_OUT)/%.o,$(LIB_SRCS))

# Handlers and the engine's code under them run with the program's vector registers live.
LIB_CFLAGS := -std=gnu11 -O2 -g -Wall -Wextra -Werror -Iinclude -fPIC -fno-semantic-interposition \
	-ffreestanding -fno-stack-protector -fno-builtin -mgeneral-regs-only

.PHONY: lib
lib: $(LIB_OUT)/libtrapless.a $(LIB_OUT)/libtrapless.so $(LIB_OUT)/trapless.pc

$(LIB_OUT)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(LIB_CFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

# One object, our code in one section, only the public names visible: nothing of ours can meet the program's names.
$(LIB_OUT)/trapless.o: $(LIB_OBJS) lib/self.ld lib/public.syms
	$(LD) -r -T lib/self.ld -o $@.all $(LIB_OBJS)
	$(OBJCOPY) --keep-global-symbols=lib/public.syms $@.all $@

$(LIB_OUT)/libtrapless.a: $(LIB_OUT)/trapless.o
	rm -f $@
	$(AR) rcs $@ $<

$(LIB_OUT)/trapless.map: lib/public.syms
	@mkdir -p $(@D)
	sed -e '1i TRAPLESS_0 { global:' -e 's/$$/;/' -e '$$a local: *; };' $< >$@

# Never unloaded: a thread may be in our signal handler.
$(LIB_OUT)/libtrapless.so: $(LIB_OUT)/trapless.o $(LIB_OUT)/trapless.map
	$(CC) -shared -Wl,-soname,libtrapless.so.0 -Wl,--version-script,$(LIB_OUT)/trapless.map -Wl,-z,defs -Wl,-z,nodelete \
		-o $@ $< $(LDFLAGS)
	ln -sf libtrapless.so $(LIB_OUT)/libtrapless.so.0

# In the tree; `make install` writes one for its PREFIX.
$(LIB_OUT)/trapless.pc: lib/trapless.pc.in
	@mkdir -p $(@D)
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(LIB_VERSION)|' $< >$@

OBJCOPY ?= objcopy
PREFIX ?= /usr/local

.PHONY: install-lib
install-lib: lib
	install -d $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/include/trapless
	install -m 644 $(LIB_OUT)/libtrapless.a $(DESTDIR)$(PREFIX)/lib/
	install -m 755 $(LIB_OUT)/libtrapless.so $(DESTDIR)$(PREFIX)/lib/libtrapless.so.$(LIB_VERSION)
	ln -sf libtrapless.so.$(LIB_VERSION) $(DESTDIR)$(PREFIX)/lib/libtrapless.so.0
	ln -sf libtrapless.so.0 $(DESTDIR)$(PREFIX)/lib/libtrapless.so
	install -m 644 $(addprefix include/trapless/, probe.h argprobe.h reserve.h regs.h hook.h hooks.h error.h error.def trace.h trace_events.def) $(DESTDIR)$(PREFIX)/include/trapless/
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(LIB_VERSION)|' lib/trapless.pc.in \
		>$(DESTDIR)$(PREFIX)/lib/pkgconfig/trapless.pc

-include $(LIB_OBJS:.o=.d)
