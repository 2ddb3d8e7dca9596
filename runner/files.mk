# SPDX-License-Identifier: MIT
# Agent and runner. Included by the Makefile; also usable alone: make -f runner/files.mk build/obj/trapless-run
RUNNER_OBJ ?= build/obj/runner
# A source that waits at the engine's race points, which only an agent with one has.
AGENT_TEST ?=
# Of the runner alone: what goes into other processes stays as it is.
RUNNER_SAN ?=
# The Makefile has those of the one file that runs anywhere.
RUNNER_CC ?= $(CC)
RUNNER_LINK ?= $(CC) $(RUNNER_SAN) -o $@ $^
ifndef ENGINE_CORE_SRCS
include engine/files.mk
endif
ifndef RUNTIME_SRCS
include runtime/files.mk
endif

ifndef LIB_SRCS
include lib/lib.mk
endif

# What is the same wherever a session's probes stand.
HOME_SRCS = $(addprefix home/, control.c listen.c probes.c symbols.c unwind.c view.c watch.c)
AGENT_OWN_SRCS = $(addprefix agent/, header.c control.c os.c threads.c handler.c memory.c places.c $(addprefix machine/$(MACHINE)/, entry.c ask.c text.c)) $(HOME_SRCS)
AGENT_SHARED_SRCS = $(ENGINE_CORE_SRCS) $(ENGINE_PORT_SRCS) $(ENGINE_OS_PROCESS_SRCS) $(RUNTIME_SRCS)
AGENT_SRCS = $(AGENT_OWN_SRCS) $(AGENT_SHARED_SRCS) $(AGENT_TEST)
# The same engine and runtime as an object that the program's loader maps by itself (--preload).
PRELOAD_SRCS = $(addprefix agent/preload/, preload.c session.c count.c env.c handler.c module.c objects.c match.c os.c watch.c) agent/machine/$(MACHINE)/preload.c \
	$(HOME_SRCS) home/fill.c agent/memory.c \
	$(filter-out $(ENGINE_OS_TRAP_SRCS) $(ENGINE_OS_OWN_HOME_SRCS),$(ENGINE_OS_OWN_SRCS)) $(ENGINE_OS_GUARD_SRCS) \
	$(AGENT_SHARED_SRCS)
RUNNER_SRCS = $(addprefix runner/, main.c options.c session.c drain.c raw.c rows.c rotate.c procfs.c input.c terminal.c times.c commands.c inherited.c recycle.c silent.c timers.c conditions.c events.c target.c launch.c followed.c later.c connector.c patching.c program.c words.c zone.c) \
	$(addprefix runner/base/, module.c proc.c facts.c notes.c sections.c passing.c progress.c) \
	$(addprefix runner/transport/, attendant.c socket.c guardian.c join.c preload.c kernel.c) \
	$(addprefix runner/kernel/, device.c session.c attend.c) \
	$(addprefix runner/control/, place.c serve.c list.c ask.c monitor.c screen.c) \
	$(addprefix runner/preload/, check.c launch.c attend.c) \
	runner/guardian/guardian.c runner/guardian/concerns.c \
	$(addprefix runner/guardian/trace/, areas.c say.c traps.c ours.c births.c publish.c threads.c loop.c remote.c restart.c seccomp.c dispatch.c stop.c quiet.c stack.c near.c seize.c cloning.c maps.c images.c) \
	$(addprefix runner/guardian/inject/, unmap.c image.c room.c helper.c inject.c share.c enter.c foothold.c) \
	$(addprefix runner/guardian/mend/, watch.c handlerstart.c resent.c alignment.c faults.c handlerend.c handlers.c masks.c owntraps.c signals.c trapmend.c trapsvc.c) \
	$(addprefix runner/guardian/family/, sanitizers.c programs.c children.c parking.c vforked.c sharing.c traceme.c selftrace.c launch.c) \
	$(addprefix runner/guardian/session/, hear.c clients.c arm.c resolve.c copies.c loader.c events.c samples.c watchpoints.c join.c) \
	$(addprefix runner/guardian/leave/, leave.c part.c recover.c journal.c moved.c listeners.c) \
	$(addprefix runner/machine/$(MACHINE)/, machine.c regs.c step.c watch.c frame.c code.c home.c turning.c) \
	$(addprefix runner/tell/, say.c post.c probes.c explain.c standing.c board.c) home/symbols.c home/unwind.c home/fill.c home/tap.c engine/core/base/error.c $(RUNTIME_SRCS)

COVERAGE_SRCS = $(addprefix runner/coverage/, coverage.c count.c file.c kernel.c)

RUNNER_WARN = -Wall -Wextra -Werror
# Of gcc only: string instructions go backwards where the program has set the direction flag.
NO_STRING_INSNS := $(shell echo | $(CC) -mstringop-strategy=unrolled_loop -x c -E - >/dev/null 2>&1 && echo -mstringop-strategy=unrolled_loop)
# What nothing calls is left out by the linker.
SECTIONS := -ffunction-sections -fdata-sections
AGENT_CFLAGS = -std=gnu11 -O2 -g $(SECTIONS) -ffreestanding -fPIC -fvisibility=hidden -fno-stack-protector -fcf-protection=none \
	-fno-asynchronous-unwind-tables -mgeneral-regs-only $(NO_STRING_INSNS) -fno-strict-aliasing $(RUNNER_WARN) -Iinclude \
	$(if $(AGENT_TEST),-DTL_TEST)
AGENT_LDFLAGS = -nostdlib -static-pie -Wl,--no-dynamic-linker -Wl,-e,tl_agent_header -Wl,-z,norelro \
	-Wl,-z,noexecstack -Wl,--build-id=none -Wl,--gc-sections
PRELOAD_LDFLAGS = -nostdlib -shared -Wl,-soname,trapless-agent -Wl,-init,tl_preload_init -Wl,-fini,tl_preload_fini \
	-Wl,-z,defs -Wl,-z,initfirst -Wl,-z,nodelete -Wl,-z,noexecstack -Wl,-Bsymbolic -Wl,--build-id=none -Wl,--gc-sections \
	-Wl,--hash-style=both
RUNNER_CFLAGS = -std=gnu11 -O2 -g $(SECTIONS) -fPIE -fno-strict-aliasing $(RUNNER_WARN) -Iinclude $(RUNNER_SAN)

AGENT_OBJS = $(patsubst %.c,$(RUNNER_OBJ)/agent/%.o,$(AGENT_SRCS))
PRELOAD_OBJS = $(patsubst %.c,$(RUNNER_OBJ)/agent/%.o,$(PRELOAD_SRCS))
RUNNER_OBJS = $(patsubst %.c,$(RUNNER_OBJ)/run/%.o,$(RUNNER_SRCS))
COVERAGE_OBJS = $(patsubst %.c,$(RUNNER_OBJ)/run/%.o,$(COVERAGE_SRCS))
COVERAGE_LIB_OBJS = $(patsubst %.c,$(RUNNER_OBJ)/lib/%.o,$(LIB_ENGINE_SRCS))

$(RUNNER_OBJ)/agent/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(AGENT_CFLAGS) -MMD -MP -c $< -o $@

$(RUNNER_OBJ)/run/%.o: %.c
	@mkdir -p $(@D)
	$(RUNNER_CC) $(RUNNER_CFLAGS) -MMD -MP -c $< -o $@

$(RUNNER_OBJ)/lib/%.o: %.c
	@mkdir -p $(@D)
	$(RUNNER_CC) $(LIB_CFLAGS) $(SECTIONS) -MMD -MP -c $< -o $@

# As linked. A debugger that is told of what is embedded finds these by their names.
$(RUNNER_OBJ)/agent.debug: $(AGENT_OBJS)
	$(CC) $(AGENT_LDFLAGS) -o $@ $(AGENT_OBJS) -lgcc

$(RUNNER_OBJ)/preload.debug: $(PRELOAD_OBJS)
	$(CC) $(PRELOAD_LDFLAGS) -o $@ $(PRELOAD_OBJS) -lgcc

$(RUNNER_OBJ)/%.elf: $(RUNNER_OBJ)/%.debug
	$(OBJCOPY) --strip-all --add-gnu-debuglink=$< $< $@

$(RUNNER_OBJ)/blob.o: runner/agent_blob.S $(RUNNER_OBJ)/agent.elf $(RUNNER_OBJ)/preload.elf
	$(CC) -DAGENT_ELF='"$(RUNNER_OBJ)/agent.elf"' -DPRELOAD_ELF='"$(RUNNER_OBJ)/preload.elf"' -c $< -o $@

# The engine that --coverage asks; its names meet nobody's.
$(RUNNER_OBJ)/coverage.o: $(COVERAGE_OBJS) $(COVERAGE_LIB_OBJS)
	$(LD) -r -o $@.all $^
	$(OBJCOPY) --keep-global-symbol=coverage_main $@.all $@

$(RUNNER_OBJ)/trapless-run: $(RUNNER_OBJS) $(RUNNER_OBJ)/blob.o $(RUNNER_OBJ)/coverage.o
	$(RUNNER_LINK)

-include $(AGENT_OBJS:.o=.d) $(PRELOAD_OBJS:.o=.d) $(RUNNER_OBJS:.o=.d) $(COVERAGE_OBJS:.o=.d) $(COVERAGE_LIB_OBJS:.o=.d)
