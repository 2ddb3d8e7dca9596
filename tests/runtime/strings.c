/* SPDX-License-Identifier: MIT */
/* String functions, numbers, errors, and context of one handler run. */
#include "home.h"

static void strings_join_and_alias(void)
{
	home_open(64, 64, 0);
	ENTER(run);
	TL_STRING(a);
	tl_str_cat(&run, a, home_str("ab"), home_str("cd"));
	CHECK(home_is(a, "abcd"));
	tl_str_cat(&run, a, a, home_str("!"));
	CHECK(home_is(a, "abcd!"));
	tl_str_cat(&run, a, home_str("<"), a);
	CHECK(home_is(a, "<abcd!"));
	tl_str_cat(&run, a, a, a);
	CHECK(home_is(a, "<abcd!<abcd!"));
	tl_run_leave(&run);
}

static void long_strings_are_cut_and_counted(void)
{
	static char big[TL_MAXSTRING + 500];

	home_open(64, 64, 0);
	ENTER(run);
	TL_STRING(a);
	memset(big, 'x', sizeof(big) - 1);
	tl_str_set(&run, a, home_str(big));
	CHECK(a->len == TL_MAXSTRING - 1 && a->b[a->len] == 0);
	CHECK(run.block->truncated == 1);
	tl_str_cat(&run, a, a, home_str("y"));
	CHECK(a->len == TL_MAXSTRING - 1 && run.block->truncated == 2);
	tl_str_cat(&run, a, home_str("yy"), a);
	CHECK(a->len == TL_MAXSTRING - 1 && !memcmp(a->b, "yyx", 3) && run.block->truncated == 3);
}

static void substrings(void)
{
	home_open(64, 64, 0);
	ENTER(run);
	TL_STRING(a);
	tl_substr(&run, a, home_str("hello"), 1, 3);
	CHECK(home_is(a, "ell"));
	tl_substr(&run, a, home_str("hello"), 3, 100);
	CHECK(home_is(a, "lo"));
	tl_substr(&run, a, home_str("hello"), 5, 1);
	CHECK(home_is(a, ""));
	tl_substr(&run, a, home_str("hello"), -1, 2);
	CHECK(home_is(a, ""));
	tl_substr(&run, a, home_str("hello"), 1, INT64_MAX);
	CHECK(home_is(a, "ello"));
	CHECK(tl_isinstr(home_str("hello"), home_str("ll")) == 1);
	CHECK(tl_isinstr(home_str("hello"), home_str("")) == 1);
	CHECK(tl_isinstr(home_str("hello"), home_str("hello!")) == 0);
	CHECK(tl_strpos(home_str("hello"), home_str("lo")) == 3);
	CHECK(tl_strpos(home_str("hello"), home_str("x")) == -1);
}

static void numbers_from_text(void)
{
	CHECK(tl_strtol(home_str("123abc"), 10) == 123);
	CHECK(tl_strtol(home_str("-42"), 10) == -42);
	CHECK(tl_strtol(home_str("0x1F"), 16) == 31);
	CHECK(tl_strtol(home_str("0x1F"), 0) == 31);
	CHECK(tl_strtol(home_str("017"), 0) == 15);
	CHECK(tl_strtol(home_str("ff"), 16) == 255);
	CHECK(tl_strtol(home_str("zz"), 10) == 0);
	CHECK(tl_strtol(home_str("fz"), 36) == 15);
	CHECK(tl_strtol(home_str("0x"), 16) == 0);
}

static void replacing(void)
{
	home_open(64, 64, 0);
	ENTER(run);
	TL_STRING(a);
	tl_str_replace(&run, a, home_str("aXbXc"), home_str("X"), home_str("--"));
	CHECK(home_is(a, "a--b--c"));
	tl_str_replace(&run, a, home_str("abc"), home_str(""), home_str("--"));
	CHECK(home_is(a, "abc"));
	tl_text_str(&run, a, home_str("a\tb\"\1\377"));
	CHECK(home_is(a, "a\\tb\\\"\\001\\377"));
	tl_text_str(&run, a,
		home_str("\303\244\342\202\254\360\237\230\200\300\200\355\240\200\364\220\200\200"
			 "\303"));
	CHECK(home_is(
		a, "\\u00E4\\u20AC\\U0001F600\\300\\200\\355\\240\\200\\364\\220\\200\\200\\303"));
	tl_text_strn(&run, a, home_str("\303\244\303\244"), 11, true);
	CHECK(home_is(a, "\"\\u00E4\"..."));
	tl_text_strn(&run, a, home_str("\303\244\303\244"), 5, false);
	CHECK(home_is(a, ""));
}

static void tokens(void)
{
	home_open(64, 64, 0);
	ENTER(run);
	TL_STRING(a);
	tl_tokenize(&run, a, home_str("  one two,three"), home_str(" ,"));
	CHECK(home_is(a, "one"));
	tl_tokenize(&run, a, home_str(""), home_str(" ,"));
	CHECK(home_is(a, "two"));
	tl_tokenize(&run, a, home_str(""), home_str("|"));
	CHECK(home_is(a, "three"));
	tl_tokenize(&run, a, home_str(""), home_str("|"));
	CHECK(home_is(a, ""));
	tl_block_own(run.block)->token_at = 5000000; /* scribbled on */
	tl_block_own(run.block)->token_end = UINT32_MAX;
	tl_tokenize(&run, a, home_str(""), home_str("|"));
	CHECK(a->len < TL_MAXSTRING);
}

static void arithmetic(void)
{
	home_open(64, 64, 0);
	ENTER(run);
	CHECK(tl_div(&run, 7, 2) == 3 && tl_div(&run, -7, 2) == -3 && tl_mod(&run, -7, 2) == -1);
	CHECK(tl_div(&run, INT64_MIN, -1) == INT64_MIN && tl_mod(&run, INT64_MIN, -1) == 0);
	CHECK(tl_div(&run, INT64_MAX, 1000000007) == 9223371972);
	CHECK(tl_mod(&run, INT64_MAX, 1000000007) == 291172003);
	CHECK(tl_shr(-8, 1) == -4 && tl_shru(-8, 60) == 15 && tl_shl(1, 65) == 2);
	CHECK(!run.error);
	CHECK(tl_div(&run, 1, 0) == 0 && run.error && !strcmp(run.error, "division by 0"));
}

static void errors_are_caught_or_end_the_session(void)
{
	home_open(64, 64, 0);
	ENTER(run);
	TL_STRING(a);
	tl_error(&run, home_str("my own"));
	tl_run_error(&run, "second %d", (int64_t)2);
	tl_run_catch(&run, a);
	CHECK(home_is(a, "my own") && !run.error);
	run.place = "operator '/' at x.stp:1:2";
	tl_div(&run, 1, 0);
	tl_run_leave(&run);
	CHECK(home.session->errors == 1 && home.session->exit_requested == 1 &&
		home.session->live == 0);
	CHECK(!tl_run_enter(&run, &home_env, NULL, tl_view_self(&home)));
	tl_view_outside(&home); /* the runner's error and end probes */
	CHECK(tl_run_enter(&run, &home_env, NULL, tl_view_self(&home)));
}

static void limits(void)
{
	home_open(64, 64, 0);
	ENTER(run);
	TL_STRING(a);
	uint32_t i;

	for (i = 0; i < 1000; i++)
		CHECK(tl_run_spend(&run, 1));
	CHECK(!tl_run_spend(&run, 1));
	tl_run_catch(&run, a);
	CHECK(home_is(a, "MAXACTION exceeded"));
	for (i = 0; i < 10; i++)
		CHECK(tl_call_enter(&run));
	CHECK(!tl_call_enter(&run));
	CHECK(!strcmp(run.error, "MAXNESTING exceeded"));
}

static void reading_memory(void)
{
	static char page[3 * 4096] __attribute__((aligned(4096)));
	char *edge = page + 4096;

	home_open(64, 64, 0);
	ENTER(run);
	TL_STRING(a);
	memset(page, 'a', 4096);
	memcpy(edge - 4, "end", 4);
	home_hole = (uint64_t)(uintptr_t)edge;
	tl_user_string(&run, a, (uintptr_t)(edge - 4)); /* nothing behind the NUL */
	CHECK(!run.error && home_is(a, "end"));
	tl_user_string_n(&run, a, (uintptr_t)(edge - 4), 2);
	CHECK(!run.error && home_is(a, "en"));
	edge[-1] = '!';
	tl_user_string2(&run, a, (uintptr_t)(edge - 4), home_str("<unknown>"));
	CHECK(!run.error && home_is(a, "<unknown>"));
	tl_user_string(&run, a, (uintptr_t)(edge - 4));
	CHECK(run.error && strstr(run.error, "user string copy fault -14 at 0x") == run.error);
	CHECK(strstr(run.error, " [man error::fault]") && a->len == 0);
	tl_run_catch(&run, NULL);
	CHECK(tl_load(&run, 16, 4, true) == 0 && run.error);
	CHECK(!strcmp(run.error, "read fault [man error::fault] at 0x10"));
	tl_run_catch(&run, NULL);
	page[0] = (char)0xfe;
	CHECK(tl_load(&run, (uintptr_t)page, 1, true) == -2 &&
		tl_load(&run, (uintptr_t)page, 1, false) == 254);
	tl_store(&run, (uintptr_t)page, 2, 0x12345);
	CHECK(!run.error && tl_load(&run, (uintptr_t)page, 2, false) == 0x2345 && page[2] == 'a');
	tl_store(&run, 16, 8, 1);
	CHECK(run.error && !strcmp(run.error, "write fault [man error::fault] at 0x10"));
	tl_run_catch(&run, NULL);
	home_hole = 0;
	memcpy(page, "q\"\n", 4);
	tl_user_string_quoted(&run, a, (uintptr_t)page);
	CHECK(home_is(a, "\"q\\\"\\n\""));
}

/* A character that stands across the pieces in which text is read is one. */
static void quoting(void)
{
	char text[128], *place = text + 3;

	home_open(128, 64, 0);
	ENTER(run);
	TL_STRING(a);
	for (uint32_t at = 26; at < 36; at++) {
		char want[80];

		memset(text, 'x', sizeof(text));
		memcpy(place + at, "\360\237\230\200z", 6);
		memset(want, 'x', sizeof(want));
		want[0] = '"';
		memcpy(want + 1 + at, "\\U0001F600z\"", 13);
		tl_user_string_quoted(&run, a, (uintptr_t)place);
		CHECK(home_is(a, want));
		tl_user_buffer_quoted(&run, a, (uintptr_t)place, at + 5, 100);
		CHECK(home_is(a, want));
	}
	tl_user_buffer_quoted(&run, a,
		(uintptr_t) "a\0"
			    "1\303\244",
		4, 100);
	CHECK(home_is(a, "\"a\\01\\303\""));
}

static void names(void)
{
	static const uint64_t image[] = {0, 0x1000, 0x3000};

	home_open(64, 64, 0);
	ENTER(run);
	TL_STRING(a);
	tl_usymdata(&run, a, 0x102a);
	CHECK(home_is(a, "func+0x2a/0x60 [prog]"));
	tl_usymdata(&run, a, 0x2010);
	CHECK(home_is(a, "0x2010 [prog]"));
	run.view->images = image;
	run.view->nimages = 1;
	run.view->image_words = 3;
	tl_usymdata(&run, a, 0x2010);
	CHECK(home_is(a, "0x2010 [prog+0x1010/0x2000]"));
	tl_usymname(&run, a, 0x102a);
	CHECK(home_is(a, "func"));
	tl_usymname(&run, a, 0x99);
	CHECK(home_is(a, "0x99"));
	tl_umodname(&run, a, 0x99);
	CHECK(run.error && !strcmp(run.error, "module cannot be found"));
	tl_run_catch(&run, NULL);
	tl_execname(&run, a);
	CHECK(home_is(a, "test") && tl_tid(&run) == 100 && tl_pid(&run) == 99);
	tl_probefunc(&run, a);
	CHECK(home_is(a, "f"));
	tl_errno_str(&run, a, 2);
	CHECK(home_is(a, "ENOENT"));
	tl_errno_str(&run, a, -13);
	CHECK(home_is(a, "EACCES"));
	tl_errno_str(&run, a, 3333);
	CHECK(home_is(a, ""));
}

static void indent(void)
{
	home_open(64, 64, 0);
	tl_clock_set(&home, 0, 5000, 0); /* time stands still */
	ENTER(run);
	TL_STRING(a);
	tl_thread_indent(&run, a, 1);
	CHECK(home_is(a, "     0 test(100):"));
	tl_thread_indent(&run, a, 1);
	CHECK(home_is(a, "     0 test(100): "));
	tl_thread_indent(&run, a, -1);
	CHECK(home_is(a, "     0 test(100): "));
	tl_thread_indent(&run, a, -1);
	CHECK(home_is(a, "     0 test(100):"));
}

static void dates(void)
{
	home_open(64, 64, 0);
	ENTER(run);
	TL_STRING(a);
	tl_ctime(&run, a, 0);
	CHECK(home_is(a, "Thu Jan  1 00:00:00 1970"));
	tl_ctime(&run, a, 951782399);
	CHECK(home_is(a, "Mon Feb 28 23:59:59 2000"));
	tl_ctime(&run, a, 951782400);
	CHECK(home_is(a, "Tue Feb 29 00:00:00 2000"));
	tl_ctime(&run, a, INT32_MAX);
	CHECK(home_is(a, "Tue Jan 19 03:14:07 2038"));
	tl_ctime(&run, a, INT32_MIN);
	CHECK(home_is(a, "Fri Dec 13 20:45:52 1901"));
	home.session->tz_offset = 3600;
	memcpy(home.session->tz_name, "CET", 4);
	tl_tz_ctime(&run, a, 0);
	CHECK(home_is(a, "Thu Jan  1 01:00:00 1970 CET"));
	tl_ctime(&run, a, INT64_MAX);
	CHECK(run.error);
}

static void clock_converts(void)
{
	home_open(64, 64, 0);
	tl_clock_set(&home, 1000, 5000000000ull, (1ull << 32) / 2);
	CHECK(tl_clock_ns(&home, 1000) == 5000000000ull);
	CHECK(tl_clock_ns(&home, 3000) == 5000001000ull);
	CHECK(tl_clock_ns(&home, 800) == 4999999900ull);
	home.session->clock_seq++; /* a runner died inside: no hang */
	CHECK(tl_clock_ns(&home, 1000) == 5000000000ull);
}

#if defined(__x86_64__)
static void arguments_by_convention(void)
{
	uint64_t stack[32] = {[8] = 0xabcdef, [9] = 7777, [10] = (uint64_t)-3};
	struct tl_regs regs = {.di = 0xfffffffffffffffe,
		.si = 2,
		.dx = 3,
		.cx = 4,
		.r8 = 5,
		.r9 = 6,
		.ax = 55,
		.sp = (uintptr_t)&stack[8],
		.ip = 0x1234};
	struct tl_run run;

	home_open(64, 64, 0);
	CHECK(tl_run_enter(&run, &home_env, &regs, tl_view_self(&home)));
	CHECK(tl_arg(&run, 1, 4, true) == -2 && tl_arg(&run, 1, 4, false) == 0xfffffffe);
	CHECK(tl_arg(&run, 6, 8, true) == 6 && tl_arg(&run, 7, 8, true) == 7777 &&
		tl_arg(&run, 8, 8, true) == -3);
	CHECK(tl_returnval(&run) == 55 && tl_uaddr(&run) == 0x1234 && tl_addr(&run) == 0x1234 &&
		tl_caller_addr(&run) == 0xabcdef);
	CHECK(tl_reg(&run, 5) == -2 && tl_reg(&run, 4) == 2 && tl_reg(&run, 16) == 0x1234 &&
		!run.error);
	tl_arg(&run, 0, 8, true);
	CHECK(run.error && !strcmp(run.error, "cannot access arg(0)"));
}

/* A kernel as the program's home: 0: the thread is its own, and has no program. */
static int kernel_has_left;
static int kernel_left(struct tl_view *v, struct tl_from *at)
{
	(void)v;
	at->pc = kernel_has_left ? 0x1010 : 0;
	return kernel_has_left;
}
static const struct tl_tap_frame *kernel_frame(struct tl_view *v, uint64_t addr)
{
	(void)v, (void)addr;
	return NULL;
}
static bool kernel_caller(struct tl_view *v, const struct tl_from *from, uint32_t n, uint64_t *pc)
{
	(void)v;
	if (n && from->pc == 0x2000)
		*pc = 0x2040 + n;
	return n < (from->pc == 0x2000 ? 3 : 1);
}

static void a_kernel_s_stack_and_its_program_s(void)
{
	struct tl_view_ops ops = home_ops;
	struct tl_regs regs = {.ip = 0x2000};
	struct tl_run run;
	TL_STRING(text);

	home_open(64, 64, 0);
	ops.left = kernel_left;
	ops.frame = kernel_frame;
	ops.caller = kernel_caller;
	home.ops = &ops;
	CHECK(tl_run_enter(&run, &home_env, &regs, tl_view_self(&home)));
	kernel_has_left = 1;
	tl_ustack_addresses(&run, text, 32);
	CHECK(tl_uaddr(&run) == 0x1010 && tl_addr(&run) == 0x2000 && home_is(text, "0x1010"));
	tl_ustack_text(&run, text, TL_SHOWN_SIMPLE, 32);
	CHECK(home_is(text, "func+0x10 [prog]\n"));
	tl_kstack_addresses(&run, text, 32);
	CHECK(home_is(text, "0x2000 0x2041 0x2042"));
	tl_probe_type(&run, text);
	CHECK(home_is(text, "kprobe"));
	kernel_has_left = 0;
	tl_ustack_addresses(&run, text, 32);
	CHECK(!tl_uaddr(&run) && tl_addr(&run) == 0x2000 && home_is(text, ""));
	tl_ustack_text(&run, text, TL_SHOWN_SIMPLE, 32);
	CHECK(home_is(text, "<no user backtrace at process(\"x\").function(\"f\")>\n"));
	run.regs = NULL;
	tl_ustack_text(&run, text, TL_SHOWN_SIMPLE, 32);
	CHECK(!tl_uaddr(&run) && !tl_addr(&run) && home_is(text, ""));
	home.ops = &home_ops;
}
#endif

int main(void)
{
	RUN(strings_join_and_alias);
	RUN(long_strings_are_cut_and_counted);
	RUN(substrings);
	RUN(numbers_from_text);
	RUN(replacing);
	RUN(tokens);
	RUN(arithmetic);
	RUN(errors_are_caught_or_end_the_session);
	RUN(limits);
	RUN(reading_memory);
	RUN(quoting);
	RUN(names);
	RUN(indent);
	RUN(dates);
	RUN(clock_converts);
#if defined(__x86_64__)
	RUN(arguments_by_convention);
	RUN(a_kernel_s_stack_and_its_program_s);
#endif
	free(home_memory);
	return UNIT_RESULT();
}
