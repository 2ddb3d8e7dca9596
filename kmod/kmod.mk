# SPDX-License-Identifier: MIT OR GPL-2.0-only
# trapless.ko for the kernel whose headers lie in KDIR. Included by the top Makefile; alone: make -f kmod/kmod.mk kmod
BUILD ?= build
KDIR ?= /lib/modules/$(shell uname -r)/build
KMOD_OUT = $(BUILD)/kmod

# Nobody needs BTF of it, and so no pahole, which newer kernels' headers ask for.
KBUILD_WITHOUT := CONFIG_DEBUG_INFO_BTF_MODULES=

KMOD_ROOMS = engine home include kmod runtime trace

# Kernels have no engine to start or end by hand, and hold no threads.
KMOD_EXPORTS = sed '/tl_engine_/d; /tl_threads_held/d; /tl_hooks\{0,1\}_/d; s/.*/EXPORT_SYMBOL_GPL(&);/' lib/public.syms

# Links instead of sources: kbuild puts objects where it finds the source.
.PHONY: kmod install-kmod
kmod:
	@mkdir -p $(KMOD_OUT)
	@cp -rsf $(addprefix $(CURDIR)/,$(KMOD_ROOMS)) $(KMOD_OUT)/
	@ln -sf kmod/Kbuild $(KMOD_OUT)/Kbuild
	@$(KMOD_EXPORTS) >$(KMOD_OUT)/kmod/exports.inc
	$(MAKE) -s -C $(KDIR) M=$(abspath $(KMOD_OUT)) $(KBUILD_WITHOUT) modules

# Sources where dkms looks for them: it builds them for each kernel that is installed.
KMOD_VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
KMOD_SRC = $(DESTDIR)/usr/src/trapless-$(KMOD_VERSION)
install-kmod:
	install -d $(KMOD_SRC)
	cp -r $(KMOD_ROOMS) LICENSE-MIT LICENSE-GPL $(KMOD_SRC)/
	ln -sf kmod/Kbuild $(KMOD_SRC)/Kbuild
	$(KMOD_EXPORTS) >$(KMOD_SRC)/kmod/exports.inc
	sed 's/@VERSION@/$(KMOD_VERSION)/' kmod/dkms.conf >$(KMOD_SRC)/dkms.conf
	rm $(KMOD_SRC)/kmod/dkms.conf
	@echo 'now: dkms add trapless/$(KMOD_VERSION) && dkms install trapless/$(KMOD_VERSION) && modprobe trapless'
