# SPDX-License-Identifier: MIT
# The front door. `make help` lists the verbs.
#
# What is built how stands beside the sources: engine/files.mk, runtime/files.mk,
# lib/lib.mk, runner/files.mk, bench/*.mk.
CC ?= gcc
PREFIX ?= /usr/local
BUILD ?= build
CARGO_FLAGS ?= --release --locked
FUZZ_SECONDS ?= 20
CARGO_OUT = $(or $(CARGO_TARGET_DIR),target)/release

.DEFAULT_GOAL := all
.PHONY: all help demo check check-one check-loop check-long check-every check-vm vm fuzz bench fix lint graph install install-target \
	clean FORCE

all: bin/trapless bin/trapless-run lib

help:
	@echo 'make                  bin/trapless (host), bin/trapless-run (target), build/lib'
	@echo 'make demo             trace a real program and show what it does'
	@echo 'make check            all tests that fit in ten minutes'
	@echo 'make check-one T=WORD the tests whose name contains WORD (G=GROUP: of one group)'
	@echo 'make check-loop T=WORD  the same until it fails'
	@echo 'make check-long       the long proofs, shard by shard (SHARD=3/11: the third of eleven)'
	@echo 'make check-every      programs with every instruction probed, whole (hours; EVERY_PROGRAMS=sed,git: these)'
	@echo 'make lint graph       what a commit must pass, too: formatters, clippy, generated files, which room may use which'
	@echo 'make fuzz             every fuzzer, FUZZ_SECONDS=20 each'
	@echo 'make bench            what a hit and a record cost, how long until a script is armed, with how much memory, sizes, static hooks, many probes'
	@echo 'make check-vm         the kernel home, in QEMU (K=6.12, K=6.1-rt: the kernel of that series and flavour, from Debian)'
	@echo 'make vm               a shell in QEMU (K=6.1: with the kernel of that series), with examples for kernels to run there'
	@echo 'make kmod KDIR=PATH   the kernel module, for the kernel whose headers lie there'
	@echo 'make install-kmod DESTDIR=   its sources to /usr/src, for dkms'
	@echo 'make fix              format, and rewrite expectations of text cases'
	@echo 'make install PREFIX=/usr/local DESTDIR=   make install-target ROOT=/path   (the runner alone)'

include engine/files.mk
include runtime/files.mk
include lib/lib.mk
include runner/files.mk
include kmod/kmod.mk
include bench/own.mk
include bench/hooks/hooks.mk
include tests/engine/process/test.mk
include tests/engine/x86/test.mk
include tests/lib/test.mk

# One command a line, `long:` before those of check-long alone, `short:` before those that a long one has in it;
# read by tests/run.
UNIT_TEST_LINES = tests/insn/check-quick; short: tests/engine/unit/build-and-run quick; short: tests/runtime/build-and-run quick; \
	long: tests/engine/unit/build-and-run all; long: tests/runtime/build-and-run all; \
	$(X86_TEST_LINES); $(PROCESS_TEST_LINES); $(LIB_TEST_LINES); tests/fuzz/run; long: tests/insn/check-long; long: tests/fuzz/run 20
.PHONY: unit-tests
unit-tests: process-tests x86-tests lib-tests $(addprefix $(BUILD)/, $(addsuffix /trapless-run, asan clang points))
	@mkdir -p $(BUILD)
	@echo '$(UNIT_TEST_LINES)' | tr ';' '\n' | sed 's/^ *//' >$(BUILD)/unit-tests

bin/trapless: FORCE
	@mk/deps build && mk/rust
	@mkdir -p bin
	cargo build -q $(CARGO_FLAGS) -p trapless-cli
	@cmp -s $(CARGO_OUT)/trapless $@ || install -m 755 $(CARGO_OUT)/trapless $@

# One file that runs on any Linux: other C libraries, empty containers. Position independent: --coverage maps
# programs that are not at their own addresses. By musl where it is there, which takes half a megabyte less than glibc;
# the kernel's headers are where glibc's are.
TRIPLET := $(shell $(CC) -dumpmachine)
MUSL := $(dir $(wildcard /usr/lib/$(TRIPLET:-gnu=-musl)/rcrt1.o))
ifneq ($(MUSL),)
RUNNER_CC := $(CC) -nostdinc $(addprefix -isystem ,$(MUSL:/usr/lib/%=/usr/include/%) $(shell $(CC) -print-file-name=include)) \
	$(addprefix -idirafter ,/usr/include /usr/include/$(TRIPLET))
GCC_FILE = $(shell $(CC) -print-file-name=$(1))
RUNNER_LINK = $(CC) -nostdlib -static-pie -Wl,--gc-sections -L$(MUSL) -o $@ $(addprefix $(MUSL),rcrt1.o crti.o) $(call GCC_FILE,crtbeginS.o) \
	$^ -Wl,--start-group -lc -lgcc -lgcc_eh -Wl,--end-group $(call GCC_FILE,crtendS.o) $(MUSL)crtn.o
else
RUNNER_LINK = $(CC) -static-pie -Wl,--gc-sections -o $@ $^
endif
bin/trapless-run: $(RUNNER_OBJ)/trapless-run
	@mkdir -p bin
	@install -m 755 $< $@

# The runner, and the engine that it asks about files.
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
$(BUILD)/asan/trapless-run: FORCE
	@$(MAKE) --no-print-directory -s -f runner/files.mk $@ RUNNER_OBJ=$(BUILD)/asan BUILD=$(BUILD)/asan \
		RUNNER_SAN='$(SANITIZE)' CFLAGS='$(SANITIZE)'

$(BUILD)/points/trapless-run: FORCE
	@$(MAKE) --no-print-directory -s -f runner/files.mk $@ RUNNER_OBJ=$(BUILD)/points AGENT_TEST=tests/process/points.c

# All that goes into a program, by the other compiler.
$(BUILD)/clang/trapless-run: FORCE
	@$(MAKE) --no-print-directory -s -f runner/files.mk $@ RUNNER_OBJ=$(BUILD)/clang BUILD=$(BUILD)/clang CC=clang

# What is needed is looked for first.
demo:
	@mk/needs demo
	@$(MAKE) --no-print-directory -j$$(nproc) all
	@examples/demo

check:
	@mk/needs check
	@$(MAKE) --no-print-directory -j$$(nproc) all unit-tests
	tests/run --beside --slowest 10

# What is needed is looked for first, and the word, without which all tests would run.
WORD_IS_GIVEN = test -n '$(T)' || { echo 'which tests? make $@ T=WORD, and G=GROUP for one group (tests/run --list names them)' >&2; exit 2; }
check-one:
	@$(WORD_IS_GIVEN)
	@mk/deps check
	@$(MAKE) --no-print-directory all unit-tests
	tests/run -v -k '$(T)' $(G)

check-loop:
	@$(WORD_IS_GIVEN)
	@mk/deps check
	@$(MAKE) --no-print-directory all unit-tests
	while tests/run -k '$(T)' $(G); do :; done

# What `make check` has not. Each shard takes less than twelve minutes; .ci/run takes one.
SHARDS ?= 11
check-long: all
	@mk/deps check
	@$(MAKE) --no-print-directory unit-tests
	@status=0; for s in $(or $(SHARD),$(shell seq -f %g/$(SHARDS) $(SHARDS))); do \
		echo "shard $$s"; tests/run --beside --slowest 10 --shard $$s || status=1; done; exit $$status

check-every: all
	@mk/deps check
	EVERY_SECONDS=0 tests/run --long -v every

# Every fuzzer, FUZZ_SECONDS each, with inputs that nobody has seen.
fuzz:
	@mk/deps check
	tests/fuzz/run $(FUZZ_SECONDS)
	seed=$$(date +%s); echo "SEED=$$seed"; SEED=$$seed FUZZ_SECONDS=$(FUZZ_SECONDS) cargo test -q --locked \
		-p trapless-syntax -p trapless-debuginfo -p trapless-emit --test noise --test files -- \
		--nocapture damaged random_bytes token_soup

check-vm:
	@mk/deps vm
	K=$(K) tests/run vm

vm: bin/trapless bin/trapless-run
	@mk/deps vm
	@K=$(K) tests/vm/shell

lint:
	@mk/deps check && mk/rust check
	cargo fmt --all --check
	cargo clippy -q --all-targets --locked -- -D warnings
	mk/format --check
	tests/scripts/compat.py --check
	gen/syscall-tapset --check

# Which room uses which, where a processor may be known, and how large circles of files may be.
graph: all
	@mk/deps check
	mk/graph
	mk/machine-words
	mk/circles-rust --most 3

fix:
	@mk/deps check && mk/rust check
	cargo fmt --all
	mk/format
	TRAPLESS_FIX=1 cargo test -q -p trapless-cli --test diagnostics
	gen/syscall-tapset
	tests/scripts/compat.py
	test ! -d /usr/share/systemtap/examples || tests/examples/theirs.py

bench: all $(addprefix $(BUILD)/bench/, own massive lookup)
	@mk/deps bench
	bench/run
	bench/start
	bench/memory
	bench/size
	bench/recording
	bench/hooks/run
	bench/hooks/kernel
	$(BUILD)/bench/massive
	$(BUILD)/bench/lookup

SHARE = $(DESTDIR)$(PREFIX)/share
# Tests are not installed: what pages say of them stays, without the link.
PAGES := README.md ARCHITECTURE.md CONTRIBUTING.md $(wildcard docs/*.md)
UNLINK := 's,\[([^]]*)\]\((\.\./)?tests/[^)]*\),\1,g'
C_EXAMPLES := examples/own-process examples/hooks
install: all install-lib
	install -d $(DESTDIR)$(PREFIX)/bin
	install -m 755 bin/trapless bin/trapless-run $(DESTDIR)$(PREFIX)/bin/
	install -d $(SHARE)/trapless/tapset $(addprefix $(SHARE)/trapless/examples/, kernel ready) $(SHARE)/trapless/include/trapless
	install -m 644 tapset/* $(SHARE)/trapless/tapset/
	install -m 644 examples/*.stp $(SHARE)/trapless/examples/
	install -m 644 examples/kernel/*.stp $(SHARE)/trapless/examples/kernel/
	install -m 644 examples/ready/*.stp $(SHARE)/trapless/examples/ready/
	install -d $(addprefix $(SHARE)/trapless/include/, script machine)
	install -m 644 runtime/script.h runtime/embedded.h $(SHARE)/trapless/include/
	install -m 644 runtime/script/*.h $(SHARE)/trapless/include/script/
	install -m 644 runtime/machine/*.h $(SHARE)/trapless/include/machine/
	install -m 644 $(addprefix include/trapless/, probe.h argprobe.h reserve.h regs.h error.h error.def wire.h) \
		$(SHARE)/trapless/include/trapless/
	install -d $(SHARE)/man/man1 $(SHARE)/man/man8 $(SHARE)/doc/trapless
	sed 's|/usr/local|$(PREFIX)|' man/trapless.1 >$(SHARE)/man/man1/trapless.1
	install -m 644 man/trapless-run.8 $(SHARE)/man/man8/
	install -d $(addprefix $(SHARE)/doc/trapless/, docs $(C_EXAMPLES))
	install -m 644 LICENSE-MIT LICENSE-GPL $(SHARE)/doc/trapless/
	install -m 644 docs/terminal.svg $(SHARE)/doc/trapless/docs/
	for e in $(C_EXAMPLES); do install -m 644 $$e/*.* $$e/Makefile $(SHARE)/doc/trapless/$$e/ || exit 1; done
	for page in $(PAGES); do sed -E $(UNLINK) $$page >$(SHARE)/doc/trapless/$$page || exit 1; done
	install -d $(SHARE)/bash-completion/completions $(SHARE)/zsh/site-functions $(SHARE)/fish/vendor_completions.d
	bin/trapless --completions bash >$(SHARE)/bash-completion/completions/trapless
	bin/trapless --completions zsh >$(SHARE)/zsh/site-functions/_trapless
	bin/trapless --completions fish >$(SHARE)/fish/vendor_completions.d/trapless.fish

install-target: bin/trapless-run
	install -d $(ROOT)$(PREFIX)/bin
	install -m 755 bin/trapless-run $(ROOT)$(PREFIX)/bin/

clean:
	rm -rf build bin target
