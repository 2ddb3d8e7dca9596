// SPDX-License-Identifier: MIT
// Static hooks in C++: places in templates, in-line and member functions; references, exceptions out of listeners.
#include <stdexcept>
#include <string>
#include <trapless/hooks.h>
#include <trapless/trace.h>

#include "../unit.h"
#include "hooks.h"

namespace {

enum class Colour { red, green };
enum Level { below = -1, above = 1 };
enum class Side : short { left = -1, right };
enum Bits { none, some };

} // namespace

TL_HOOK(cc, sees, (const std::string &, text), (Colour, colour), (bool, yes))
TL_HOOK_VERDICT(cc, allows, bool, true, (long, n))

TL_HOOK(cc, counts, (Level, level), (Side, side), (Bits, bits), (const long &, n), (const Level, same))

template <typename T> struct Holder {
	T value;

	long tell() const
	{
		tl_hook(demo, tick, long(value), "template");
		return long(value);
	}
};

inline long in_line(long i)
{
	tl_hook(demo, tick, i, "inline");
	return i;
}

static std::string said;

static void on_tick(void *data, long i, const char *word)
{
	said += std::string(static_cast<const char *>(data)) + word + std::to_string(i) + " ";
}

static void places_anywhere()
{
	CHECK(!tl_hook_listen(demo, tick, on_tick, const_cast<char *>("+")));
	CHECK((Holder<int>{3}.tell() + Holder<short>{4}.tell() + in_line(5) + far_tick(6)) == 18);
	CHECK(said == "+template3 +template4 +inline5 +far6 ");
	CHECK(!tl_hook_unlisten(demo, tick, on_tick, const_cast<char *>("+")));
	in_line(7);
	CHECK(said.find('7') == std::string::npos);
}

static void on_sees(void *, const std::string &text, Colour colour, bool yes)
{
	said = text + (colour == Colour::green ? " green" : " ?") + (yes ? " yes" : " no");
}

static bool never(void *, long n)
{
	return n < 10;
}

static void types_of_the_language()
{
	CHECK(!tl_hook_listen(cc, sees, on_sees, nullptr));
	tl_hook(cc, sees, std::string("grass"), Colour::green, true);
	CHECK(said == "grass green yes");
	CHECK(!tl_hook_unlisten(cc, sees, on_sees, nullptr));
	CHECK(tl_verdict(cc, allows, 50));
	CHECK(!tl_hook_listen(cc, allows, never, nullptr));
	CHECK(!tl_verdict(cc, allows, 50) && tl_verdict(cc, allows, 5));
	CHECK(!tl_hook_unlisten(cc, allows, never, nullptr));
}

static void refuse(void *, long i, const char *)
{
	if (i < 0)
		throw std::runtime_error("below zero");
}

// Who was left by an exception is nobody that a listener's end waits for.
static void exceptions_leave_listeners()
{
	unsigned caught = 0;

	CHECK(!tl_hook_listen(demo, tick, refuse, nullptr));
	for (long i = -3; i < 3; i++) {
		try {
			in_line(i);
		} catch (const std::runtime_error &) {
			caught++;
		}
	}
	CHECK(caught == 3);
	CHECK(!tl_hook_unlisten(demo, tick, refuse, nullptr));
	CHECK(in_line(-1) == -1);
}

static void signs_of_enumerations_and_references()
{
	static const bool is_signed[] = {true, true, false, true, true};
	struct tl_hook_info info;

	tl_hook(cc, counts, below, Side::left, some, 1L, above);
	CHECK(!tl_hook_describe(TL_HOOK_OF(cc, counts), &info) && info.nparameters == 5);
	for (unsigned i = 0; i < info.nparameters; i++)
		CHECK(info.parameter[i].is_signed == is_signed[i]);
}

/* Its values have a pointer there, of which the table says nothing. */
static void no_event_has_a_reference()
{
	CHECK(tl_hooks_trace("cc:counts") == -TL_E_PAYLOAD);
	CHECK(tl_trace_find("cc:counts") == -TL_E_NO_EVENT);
}

int main()
{
	RUN(places_anywhere);
	RUN(types_of_the_language);
	RUN(exceptions_leave_listeners);
	RUN(signs_of_enumerations_and_references);
	RUN(no_event_has_a_reference);
	return UNIT_RESULT();
}
