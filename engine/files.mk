# SPDX-License-Identifier: MIT OR GPL-2.0-only
# Sources of the engine, relative to the repository's root. MACHINE: the one that all is built for.
MACHINE ?= x86_64
ENGINE_CORE_SRCS = $(addprefix engine/core/, \
	$(addprefix base/, core.c index.c gaps.c slab.c arena.c addrs.c error.c mem.c sparse.c) \
	$(addprefix detour/, site.c detour.c detmem.c thread.c) \
	$(addprefix text/, patch.c textpatch.c journal.c traps.c) \
	$(addprefix image/, image.c walk.c func.c entries.c ehframe.c uncovered.c elf.c hooks.c dynsym.c bind.c unpaired.c refuse.c reserved.c) \
	$(addprefix go/, gotable.c room.c) \
	$(addprefix probe/, start.c state.c probe.c batch.c foresee.c place.c queue.c optimizer.c list.c groups.c gone.c argprobe.c) \
	$(addprefix ret/, ret.c retprobe.c follow.c numbers.c waiting.c left.c) \
	reserve.c places.c exit.c)
# Only for links without a C library:
ENGINE_LIBC_MEM_SRCS = engine/core/base/libc_mem.c
ENGINE_OS_FAKE_SRCS = engine/os/fake/fake.c
ENGINE_ARCH_FAKE_SRCS = engine/arch/fake/toy.c
ENGINE_ARCH_X86_SRCS = $(addprefix engine/arch/x86/, scan.c classify.c plan.c pun.c evict.c xol.c handler.c template.c detour.c way.c emit.c patch.c ret.c args.c switch.c away.c stack.c)
INSN_X86_SRCS = $(addprefix engine/insn/x86/, decode.c attr.c)
# The port to that machine.
ENGINE_PORT_SRCS_x86_64 = $(ENGINE_ARCH_X86_SRCS) $(INSN_X86_SRCS)
ENGINE_PORT_SRCS = $(ENGINE_PORT_SRCS_$(MACHINE))
# In every process; each home (own process, agent) adds its own files.
ENGINE_OS_PROCESS_SRCS = $(addprefix engine/os/process/, init.c mem.c code.c mappings.c text.c sync.c futex.c lock.c thread.c $(MACHINE)/machine.c)
ENGINE_OS_OWN_SRCS = $(addprefix engine/os/process/, own_maps.c own_mem.c own_signal.c own_stop.c own_held.c own_thread.c $(MACHINE)/frame.c) $(ENGINE_OS_OWN_HOME_SRCS) $(ENGINE_OS_TRAP_SRCS)
# What a home of its own in the own process says itself.
ENGINE_OS_OWN_HOME_SRCS = engine/os/process/own_home.c
ENGINE_OS_TRAP_SRCS = engine/os/process/own_trap.c engine/os/traptab.c
# ... and what asks the engine itself.
ENGINE_OS_GUARD_SRCS = engine/os/process/own_guard.c

# A module of the Linux kernel.
ENGINE_OS_KERNEL_SRCS = engine/os/traptab.c $(addprefix engine/os/kernel/, init.c names.c alias.c mem.c code.c text.c \
	entry.c kprobes.c marks.c reserved.c sync.c stop.c trap.c thread.c contexts.c hook.c pages.c lock.c images.c functions.c faults.c)
