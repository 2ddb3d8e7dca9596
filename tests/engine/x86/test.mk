# SPDX-License-Identifier: MIT
# The x86 port's tests. Lines for build/unit-tests are in X86_TEST_LINES, one command each, `;` between them.
X86_TEST_LINES := tests/engine/x86/run; long: tests/engine/x86/run all
