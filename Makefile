# SPDX-License-Identifier: MIT
# The front door. `make help` lists the verbs.
#
# What is built how stands beside the sources: engine/files.mk, runtime/files.mk,
# lib/lib.mk, runner/files.mk, bench/*.mk.
CC ?= gcc
PREFIX ?= /usr/local
BUILD ?= build
CARGO_FLAGS ?= --release --locked

.DEFAULT_GOAL := all
.PHONY: all help demo check check-one check-loop check-long check-vm fuzz bench fix lint graph install install-target \
	clean FORCE

all: bin/trapless bin/trapless-run lib

help:
	@echo 'make                  bin/trapless (host), bin/trapless-run (target), build/lib'
	@echo 'make demo             trace a real program and show what it does'
	@echo 'make check            all tests that fit in ten minutes'
	@echo 'make check-one T=WORD the tests whose name contains WORD (G=GROUP: of one group)'
	@echo 'make check-loop T=WORD  the same until it fails'
	@echo 'make check-long       the long proofs too'
	@echo 'make bench            one table: what a hit costs'
	@echo 'make fix              format, and rewrite expectations of text cases'
	@echo 'make install PREFIX=/usr/local DESTDIR=   make install-target ROOT=/path   (the runner alone)'

include engine/files.mk
include runtime/files.mk
include runner/files.mk
include lib/lib.mk
include bench/own.mk
include tests/engine/process/test.mk
include tests/engine/x86/test.mk

# One command a line, `long:` before those of check-long; read by tests/run.
UNIT_TEST_LINES = tests/insn/check-quick; tests/engine/unit/build-and-run all; tests/runtime/build-and-run all; \
	$(X86_TEST_LINES); $(PROCESS_TEST_LINES); long: tests/insn/check-long
.PHONY: unit-tests
unit-tests: process-tests x86-tests
	@mkdir -p $(BUILD)
	@echo '$(UNIT_TEST_LINES)' | tr ';' '\n' | sed 's/^ *//' >$(BUILD)/unit-tests

bin/trapless: FORCE
	@mk/deps build && mk/rust
	@mkdir -p bin
	cargo build -q $(CARGO_FLAGS) -p trapless-cli
	@cmp -s target/release/trapless $@ || install -m 755 target/release/trapless $@

bin/trapless-run: $(RUNNER_OBJ)/trapless-run
	@mkdir -p bin
	@install -m 755 $< $@

demo: all
	@mk/deps demo
	@examples/demo

check: all
	@mk/deps check
	@$(MAKE) --no-print-directory lint graph unit-tests
	tests/run

check-one: all unit-tests
	tests/run -v -k '$(T)' $(G)

check-loop: all unit-tests
	while tests/run -k '$(T)' $(G); do :; done

check-long: all
	@mk/deps check
	@$(MAKE) --no-print-directory unit-tests
	tests/run --long

lint:
	cargo fmt --all --check
	cargo clippy -q --all-targets --locked -- -D warnings
	mk/format --check

# Who may include whom.
graph:
	mk/graph

fix:
	cargo fmt --all
	mk/format

bench: all $(BUILD)/bench/own
	bench/run

install: all install-lib
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/trapless/include/trapless
	install -m 755 bin/trapless bin/trapless-run $(DESTDIR)$(PREFIX)/bin/
	cp -r tapset $(DESTDIR)$(PREFIX)/share/trapless/
	install -m 644 runtime/script.h $(DESTDIR)$(PREFIX)/share/trapless/include/
	install -m 644 $(addprefix include/trapless/, probe.h regs.h error.h error.def wire.h) \
		$(DESTDIR)$(PREFIX)/share/trapless/include/trapless/
	install -d $(DESTDIR)$(PREFIX)/share/trapless/examples
	install -m 644 examples/*.stp $(DESTDIR)$(PREFIX)/share/trapless/examples/
	install -d $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/man/man8
	install -m 644 man/trapless.1 $(DESTDIR)$(PREFIX)/share/man/man1/
	install -m 644 man/trapless-run.8 $(DESTDIR)$(PREFIX)/share/man/man8/

install-target: bin/trapless-run
	install -d $(ROOT)$(PREFIX)/bin
	install -m 755 bin/trapless-run $(ROOT)$(PREFIX)/bin/

clean:
	rm -rf build bin target
