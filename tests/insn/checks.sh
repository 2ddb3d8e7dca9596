# SPDX-License-Identifier: MIT
# Shared by check-quick and check-long; the working directory is the root.
out=build/insn
mkdir -p "$out"
failed=0
x86=engine/insn/x86
strict="-std=c11 -Wall -Wextra -Werror"

run()
{
	"$@" || failed=1
}

finish()
{
	exit "$failed"
}

have()
{
	command -v "$1" >/dev/null 2>&1
}

# build_cases COMPILER... : the text cases, statically, as $out/cases-test
build_cases()
{
	"$@" $strict -O1 -g -I$x86 tests/insn/cases.c $x86/decode.c $x86/attr.c -o "$out/cases-test"
}

# other_machine NAME RUNNER COMPILER... : the same cases on another machine
other_machine()
{
	name=$1 runner=$2
	shift 2
	if ! have "$1" || ! { [ -z "$runner" ] || have "$runner"; }; then
		echo "skip insn-cases-$name: no $1 or no $runner here"
		return
	fi
	if ! build_cases "$@" -static 2>"$out/build.log"; then
		if [ "$name" = 32bit ]; then
			echo "skip insn-cases-$name: no 32-bit libraries here"
			return
		fi
		cat "$out/build.log"
		echo "not ok insn-cases-$name: does not build"
		failed=1
		return
	fi
	if $runner "$out/cases-test" tests/insn/*.in >"$out/cases.log"; then
		echo "ok insn-cases-$name"
	else
		grep -v '^ok' "$out/cases.log"
		echo "not ok insn-cases-$name: see above"
		failed=1
	fi
}

check_cases()
{
	if build_cases "${CC:-cc}" -fsanitize=address,undefined -fno-sanitize-recover; then
		run "$out/cases-test" tests/insn/*.in
	else
		echo "not ok insn-cases: does not build"
		failed=1
	fi
	other_machine 32bit "" "${CC:-cc}" -m32
	other_machine big-endian "$(mk/emulator mips)" mips-linux-gnu-gcc
}

# What to build with: on x86 also its 32-bit half; elsewhere -Os alone calls helpers.
levels()
{
	echo -O0 -O2 -O3
	echo 'int x;' >"$out/empty.c"
	case $1 in
	gcc | clang)
		echo -Os
		$1 -m32 -c "$out/empty.c" -o "$out/empty.o" 2>/dev/null && echo -m32
		;;
	esac
}

# No libc, no compiler helper may be needed, at any optimisation.
check_freestanding()
{
	for cc in gcc clang mips-linux-gnu-gcc powerpc-linux-gnu-gcc; do
		if ! have $cc; then
			echo "skip insn-freestanding-$cc: not installed"
			continue
		fi
		why=
		for level in $(levels $cc); do
			for file in decode attr; do
				$cc $strict $level -ffreestanding -fPIC -c $x86/$file.c -o "$out/$file.o" ||
					why="does not build with $level"
			done
			needs=$(nm -u "$out/decode.o" "$out/attr.o" | grep ' U ' |
				grep -v -e tl_insn_rows -e _GLOBAL_OFFSET_TABLE_ -e _gp_disp)
			[ -z "$needs" ] || why="with $level it needs$needs"
		done
		if [ -z "$why" ]; then
			echo "ok insn-freestanding-$cc"
		else
			echo "not ok insn-freestanding-$cc: $why"
			failed=1
		fi
	done
}

# build_bench [--features xed]: sets $bench, writes the row cases.
build_bench()
{
	for tool in cargo cmake python3; do # the references' C parts are built with the latter two
		if ! have $tool; then
			echo "skip insn-bench: no $tool here"
			return 1
		fi
	done
	CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/build/insn-bench}
	export CARGO_TARGET_DIR
	bench=$CARGO_TARGET_DIR/release/insn-bench
	gen/decoder-tables --cases >"$out/cases.$$" && mv "$out/cases.$$" "$out/cases.txt" || return 1
	if ! (cd tests/insn/bench && cargo build --quiet --locked --release "$@"); then
		echo "not ok insn-bench: does not build"
		failed=1
		return 1
	fi
}

# Code of real programs; what is not installed is reported as skipped.
real_programs()
{
	lib=/usr/lib/x86_64-linux-gnu
	echo $lib/libc.so.6 $lib/libstdc++.so.6 $lib/libcrypto.so.3 /usr/bin/git /usr/bin/python3
}

more_programs()
{
	lib=/usr/lib/x86_64-linux-gnu
	echo $lib/libm.so.6 $lib/libmvec.so.1 $lib/libgmp.so.10 $lib/libLLVM-14.so.1 $lib/libdav1d.so.6 \
		/usr/libexec/valgrind/memcheck-x86-linux "$(${CC:-cc} -print-prog-name=cc1)"
}
