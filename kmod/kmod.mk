# SPDX-License-Identifier: MIT OR GPL-2.0-only
# trapless.ko for the kernel whose headers lie in KDIR. Included by the top Makefile; alone: make -f kmod/kmod.mk kmod
BUILD ?= build
KDIR ?= /lib/modules/$(shell uname -r)/build
KMOD_OUT = $(BUILD)/kmod

# Nobody needs BTF of it, and so no pahole, which newer kernels' headers ask for.
KBUILD_WITHOUT := CONFIG_DEBUG_INFO_BTF_MODULES=

# Links instead of sources: kbuild puts objects where it finds the source. Kernels have no engine to start or end by
# hand, and hold no threads.
.PHONY: kmod
kmod:
	@mkdir -p $(KMOD_OUT)
	@cp -rsf $(CURDIR)/engine $(CURDIR)/home $(CURDIR)/include $(CURDIR)/kmod $(CURDIR)/runtime $(KMOD_OUT)/
	@ln -sf kmod/Kbuild $(KMOD_OUT)/Kbuild
	@sed '/tl_engine_/d; /tl_threads_held/d; s/.*/EXPORT_SYMBOL_GPL(&);/' lib/public.syms >$(KMOD_OUT)/kmod/exports.inc
	$(MAKE) -s -C $(KDIR) M=$(abspath $(KMOD_OUT)) $(KBUILD_WITHOUT) modules
