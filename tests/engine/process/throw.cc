// SPDX-License-Identifier: MIT
// Exceptions that pass through probed and return-probed frames. With the argument `traps` without jumps.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>

#include <trapless/probe.h>

#include "../../unit.h"
#include "start.h"

#define HANDLER __attribute__((target("general-regs-only")))

namespace {

long entries, returns, hits, destroyed;
const long rounds = 100000;

struct Counted {
	~Counted()
	{
		destroyed++;
	}
};

int HANDLER on_entry(tl_ret_call *, tl_regs *, tl_thread *)
{
	entries++;
	return 0;
}

void HANDLER on_return(tl_ret_call *, tl_regs *, tl_thread *)
{
	returns++;
}

int HANDLER count(tl_probe *, tl_regs *, tl_thread *)
{
	hits++;
	return 0;
}

__attribute__((noinline)) long inner(long i)
{
	Counted c;
	__asm__ volatile("");
	if (i % 2)
		throw std::runtime_error("odd");
	return i;
}

__attribute__((noinline)) long outer(long i)
{
	Counted c;
	__asm__ volatile("");
	return inner(i) + 1;
}

long sum, caught;

void run(long n)
{
	entries = returns = hits = destroyed = sum = caught = 0;
	for (long i = 0; i < n; i++) {
		try {
			sum += outer(i);
		} catch (const std::runtime_error &e) {
			caught += std::string(e.what()) == "odd";
		}
	}
}

long memory_kb()
{
	FILE *f = std::fopen("/proc/self/statm", "r");
	long pages = 0, rest;

	if (f && std::fscanf(f, "%ld %ld", &rest, &pages) != 2)
		pages = 0;
	if (f)
		std::fclose(f);
	return pages * 4;
}

bool right(long n)
{
	return caught == n / 2 && destroyed == 2 * n && sum == (n / 2) * (n / 2 - 1) + n / 2;
}

void exceptions_pass_probed_frames()
{
	tl_probe p[2] = {};
	tl_probe *both[] = {&p[0], &p[1]};

	p[0].addr = reinterpret_cast<void *>(outer);
	p[1].addr = reinterpret_cast<void *>(inner);
	p[0].pre = p[1].pre = count;
	CHECK(!tl_probes_register(both, 2, nullptr));
	run(2000);
	CHECK(right(2000));
	CHECK(hits == 4000);
	CHECK(!tl_probes_unregister(both, 2));
}

void calls_left_by_throw_are_counted_and_nothing_leaks()
{
	tl_retprobe r[2] = {};
	long before;

	r[0].entry = reinterpret_cast<void *>(outer);
	r[1].entry = reinterpret_cast<void *>(inner);
	for (tl_retprobe &x : r) {
		x.on_entry = on_entry;
		x.on_return = on_return;
		CHECK(!tl_retprobe_register(&x));
	}
	run(2000);
	before = memory_kb();
	run(rounds);
	CHECK(right(rounds));
	CHECK(entries == 2 * rounds);
	CHECK(returns == rounds);
	CHECK(memory_kb() < before + 1024);
	CHECK(outer(2) == 3); // entry that finds what the last throws left
	for (tl_retprobe &x : r)
		CHECK(!tl_retprobe_unregister(&x));
	CHECK(r[0].nabandoned == 1000 + rounds / 2);
	CHECK(r[1].nabandoned == 1000 + rounds / 2);
	CHECK(r[0].nmissed == 0 && r[1].nmissed == 0);
}

// Nobody comes by the probed functions any more: neither who sleeps nor who registers.
void the_last_calls_are_counted_too()
{
	tl_retprobe r = {};
	std::atomic<bool> thrown{false};
	int go[2];
	char c;

	r.entry = reinterpret_cast<void *>(inner);
	r.on_return = on_return;
	CHECK(!pipe(go));
	CHECK(!tl_retprobe_register(&r));
	std::thread sleeper([&] {
		run(2);
		thrown = true;
		while (read(go[0], &c, 1) < 0)
			;
	});
	while (!thrown)
		std::this_thread::yield();
	run(2);
	CHECK(r.nabandoned == 0);
	CHECK(!tl_retprobe_unregister(&r));
	CHECK(r.nabandoned == 2 && r.nmissed == 0);
	close(go[1]);
	sleeper.join();
	close(go[0]);
}

} // namespace

int main(int, char **argv)
{
	bool traps = has_argument(argv, "traps");

	if (!engine_started(traps))
		return 1;
	RUN(exceptions_pass_probed_frames);
	RUN(calls_left_by_throw_are_counted_and_nothing_leaks);
	RUN(the_last_calls_are_counted_too);
	tl_engine_exit();
	return UNIT_RESULT();
}
