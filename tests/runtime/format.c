/* SPDX-License-Identifier: MIT */
/* printf as SystemTap has it, and histograms. */
#include "home.h"

static char got[20000];
static size_t got_n;
static int collect(void *arg, const char *text, size_t n)
{
	(void)arg;
	if (got_n + n >= sizeof(got))
		return 1;
	memcpy(got + got_n, text, n);
	got_n += n;
	got[got_n] = 0;
	return 0;
}

static bool prints(const char *want, const char *fmt, const struct tl_fmt_arg *a, uint32_t n)
{
	bool same;

	got_n = 0;
	got[0] = 0;
	tl_format(fmt, a, n, collect, NULL);
	same = got_n == strlen(want) && !strcmp(got, want);
	if (!same)
		printf("# %s: got \"%s\", want \"%s\"\n", fmt, got, want);
	return same;
}

#define L(x)                                                                                       \
	{                                                                                          \
		(int64_t)(x), NULL, 0                                                              \
	}
#define S(x)                                                                                       \
	{                                                                                          \
		0, x, sizeof(x) - 1                                                                \
	}
#define PRINTS(want, fmt, ...)                                                                     \
	do {                                                                                       \
		const struct tl_fmt_arg a_[] = {__VA_ARGS__};                                      \
		CHECK(prints(want, fmt, a_, sizeof(a_) / sizeof(a_[0])));                          \
	} while (0)

static void numbers(void)
{
	PRINTS("42 -42", "%d %i", L(42), L(-42));
	PRINTS("9223372036854775807 -9223372036854775808", "%d %d", L(INT64_MAX), L(INT64_MIN));
	PRINTS("18446744073709551615", "%u", L(-1));
	PRINTS("ffffffffffffffff FF", "%x %X", L(-1), L(255));
	PRINTS("777 0777", "%o %#o", L(511), L(511));
	PRINTS("0xff 0XFF 0x0", "%#x %#X %#x", L(255), L(255), L(0));
	PRINTS("0xffffffff81000000 0x0", "%p %p", L(0xffffffff81000000ull), L(0));
	PRINTS("+5| 5|-5", "%+d|% d|%+d", L(5), L(5), L(-5));
}

static void widths(void)
{
	PRINTS("   42|42   |00042", "%5d|%-5d|%05d", L(42), L(42), L(42));
	PRINTS("-0042|  -42", "%05d|%5d", L(-42), L(-42));
	PRINTS("42   |", "%-05d|", L(42));
	PRINTS("  0042|0042  |000042", "%6.4d|%-6.4d|%06.4d", L(42), L(42), L(42));
	PRINTS("  0x2a|0x002a|0x2a  ", "%#6x|%#06x|%-#6x", L(42), L(42), L(42));
	PRINTS("    42|42", "%*d|%*d", L(6), L(42), L(-6), L(42));
	PRINTS("0042", "%.*d", L(4), L(42));
	PRINTS("0", "%.0d", L(0));
	PRINTS("5 6", "%ld %lld", L(5), L(6));
}

static void texts(void)
{
	PRINTS("hello|  hello|hello  |hel|  he", "%s|%7s|%-7s|%.3s|%4.2s", S("hello"), S("hello"),
		S("hello"), S("hello"), S("hello"));
	PRINTS("he|  ", "%.*s|%2s", L(2), S("hello"), S(""));
	PRINTS("A|  B|C  |", "%c|%3c|%-3c|", L('A'), L('B'), L('C'));
	PRINTS("\\n|\\'|\\\\|\\001|\\377|x", "%#c|%#c|%#c|%#c|%#c|%#c", L(10), L('\''), L('\\'),
		L(1), L(255), L('x'));
	PRINTS("\\n|A|\\u{9f}|\302\240|\303\251|\342\202\254|\360\237\230\200",
		"%#C|%#C|%#C|%#C|%#C|%#C|%#C", L(10), L('A'), L(0x9f), L(0xa0), L(0xe9), L(0x20ac),
		L(0x1f600));
	PRINTS("\\u{d800}|\\u{110000}| \337\277|\340\240\200 |", "%C|%C|%3C|%-4C|", L(0xd800),
		L(0x110000), L(0x7ff), L(0x800));
	PRINTS("100%", "%d%%", L(100));
	PRINTS("%z|%", "%z|%", L(1));
	PRINTS("0|", "%d|%s"); /* arguments ran out */
}

static void bytes(void)
{
	const struct tl_fmt_arg nul = L(0), word = L(0x0102);
	uint16_t v = 0x0102;

	PRINTS("616263|   abc", "%.3M|%6.3m", S("abc"), S("abc"));
	got_n = 0;
	tl_format("%c", &nul, 1, collect, NULL);
	CHECK(got_n == 1 && got[0] == 0);
	got_n = 0;
	tl_format("%4.2b", &word, 1, collect, NULL);
	CHECK(got_n == 4 && !memcmp(got, "\0\0", 2) && !memcmp(got + 2, &v, 2));
	got_n = 0;
	tl_format("%b", &word, 1, collect, NULL);
	CHECK(got_n == 8);
}

static void kinds_of_arguments(void)
{
	char kinds[8];
	uint32_t bad;

	CHECK(tl_format_kinds("%d %-*.*s %% %p %4m %c", kinds, 8, &bad) == 7);
	CHECK(!memcmp(kinds, "d**sdmd", 7));
	CHECK(tl_format_kinds("ab %q", kinds, 8, &bad) == -1 && bad == 3);
	CHECK(tl_format_kinds("ab %", kinds, 8, &bad) == -1 && bad == 3);
	CHECK(tl_format_kinds("", kinds, 8, &bad) == 0);
}

static void damaged_payloads_are_refused(void)
{
	uint32_t words[8] = {0};
	struct tl_fmt_arg a[4];

	words[2] = 3;
	memcpy(&words[3], "abc", 3);
	CHECK(tl_format_args((uint8_t *)words, 16, "%d %s", a, 4) == 2 && a[1].len == 3);
	CHECK(tl_format_args((uint8_t *)words, 8, "%d %s", a, 4) == -1);
	words[2] = 5;
	CHECK(tl_format_args((uint8_t *)words, 16, "%d %s", a, 4) == -1);
	words[2] = UINT32_MAX;
	CHECK(tl_format_args((uint8_t *)words, 16, "%d %s", a, 4) == -1);
	CHECK(tl_format_args((uint8_t *)words, 16, "%d %d %d", a, 4) == -1);
}

/* --- histograms --------------------------------------------------------------------- */

static const struct tl_hist log_hist = {
	.kind = 1, .kept = TL_HIST_KEPT, .buckets = TL_HIST_LOG_BUCKETS};
static const struct tl_hist linear = {
	.kind = 2, .kept = TL_HIST_KEPT, .buckets = 13, .low = 0, .high = 100, .step = 10};

static const char *draw(const struct tl_stat *s, const struct tl_hist *h)
{
	got_n = 0;
	got[0] = 0;
	tl_hist_text(s, h, collect, NULL);
	return got;
}

#define RULE "--------------------------------------------------"
#define FULL "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@"
#define GAP  "                                                  "

static void log_buckets(void)
{
	TL_STAT_LOCAL(s, TL_HIST_LOG_BUCKETS);
	static const struct {
		int64_t v;
		int bucket;
	} cases[] = {{0, 64}, {1, 65}, {2, 66}, {3, 66}, {4, 67}, {1023, 74}, {1024, 75},
		{INT64_MAX, 127}, {-1, 63}, {-2, 62}, {-3, 62}, {INT64_MIN, 0}};
	unsigned i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		tl_stat_clear(s, &log_hist);
		tl_stat_add(s, &log_hist, cases[i].v);
		CHECK(s->bucket[cases[i].bucket] == 1);
	}
}

static void log_histogram(void)
{
	TL_STAT_LOCAL(s, TL_HIST_LOG_BUCKETS);
	int i;

	tl_stat_clear(s, &log_hist);
	for (i = 0; i < 3; i++)
		tl_stat_add(s, &log_hist, 1);
	tl_stat_add(s, &log_hist, 1000);
	draw(s, &log_hist);
	CHECK(!strcmp(got, "value |" RULE " count\n"
			   "    0 |" GAP " 0\n"
			   "    1 |@@@                                                3\n"
			   "    2 |" GAP " 0\n"
			   "    4 |" GAP " 0\n"
			   "      ~\n"
			   "  128 |" GAP " 0\n"
			   "  256 |" GAP " 0\n"
			   "  512 |@                                                  1\n"
			   " 1024 |" GAP " 0\n"
			   " 2048 |" GAP " 0\n\n"));
}

static void negative_and_scaled(void)
{
	TL_STAT_LOCAL(s, TL_HIST_LOG_BUCKETS);
	int i;

	tl_stat_clear(s, &log_hist);
	for (i = 0; i < 101; i++)
		tl_stat_add(s, &log_hist, -1);
	tl_stat_add(s, &log_hist, 0);
	draw(s, &log_hist);
	/* 101 samples, 50 columns: 3 a column */
	CHECK(!strcmp(got, "value |" RULE " count\n"
			   "   -4 |" GAP "   0\n"
			   "   -2 |" GAP "   0\n"
			   "   -1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@                  101\n"
			   "    0 |" GAP "   1\n"
			   "    1 |" GAP "   0\n"
			   "    2 |" GAP "   0\n\n"));
}

static void linear_histogram(void)
{
	TL_STAT_LOCAL(s, 13);
	int i;

	tl_stat_clear(s, &linear);
	tl_stat_add(s, &linear, -5);
	for (i = 0; i < 100; i++)
		tl_stat_add(s, &linear, 42);
	tl_stat_add(s, &linear, 110);
	tl_stat_add(s, &linear, 99);
	CHECK(s->bucket[0] == 1 && s->bucket[5] == 100 && s->bucket[12] == 1 && s->bucket[10] == 1);
	draw(s, &linear);
	CHECK(strstr(got, "   <0 |" GAP "   1\n"));
	CHECK(strstr(got, "   40 |" FULL " 100\n"));
	CHECK(strstr(got, " >100 |" GAP "   1\n\n"));
}

static void hist_of_nothing_is_an_error(void)
{
	TL_STAT_LOCAL(s, TL_HIST_LOG_BUCKETS);

	home_open(64, 64, 0);
	ENTER(run);
	tl_stat_clear(s, &log_hist);
	tl_hist_print(&run, s, &log_hist);
	CHECK(run.error && !strcmp(run.error, "empty aggregate"));
}

int main(void)
{
	RUN(numbers);
	RUN(widths);
	RUN(texts);
	RUN(bytes);
	RUN(kinds_of_arguments);
	RUN(damaged_payloads_are_refused);
	RUN(log_buckets);
	RUN(log_histogram);
	RUN(negative_and_scaled);
	RUN(linear_histogram);
	RUN(hist_of_nothing_is_an_error);
	free(home_memory);
	return UNIT_RESULT();
}
