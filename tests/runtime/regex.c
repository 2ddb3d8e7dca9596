/* SPDX-License-Identifier: MIT */
/* Regular expressions: the tables that the compiler makes (gen/regex-tables), as the runtime reads them. */
#include <regex.h>

#include "home.h"
#include "regex_tables.h"

#define COUNT(x) (sizeof(x) / sizeof((x)[0]))

/* For all of them: words of the slots, the ways, the marks and the stack, see find() in runtime/regex.c. */
static uint32_t room[1 << 16];
static uint64_t text_room[TL_STR_SIZE(TL_MAXSTRING) / 8];
static struct tl_match match;

static void keep_matches(struct tl_run *run)
{
	match = (struct tl_match){.text = (struct tl_str *)text_room, .room = room};
	run->match = &match;
}

static const struct tl_regex *pattern(const char *text)
{
	size_t i;

	for (i = 0; i < COUNT(tables); i++)
		if (!strcmp(tables[i].pattern, text))
			return tables[i].regex;
	abort();
}

static const char *const texts[] = {"", "a", "b", "c", "aa", "ab", "ba", "abc", "abcd", "aaa",
	"aaaa", "aab", "aaab", "aaaab", "xabcx", "abab", "ababc", "bcbc", "a.c", "a\nc", "(a)",
	"a|b", "xyz", "xz", "x y", "a]", "-", "]", "^", "$", "123", "a1_", "a1_!", " ", "  ", "\t",
	"bc", "cab", "abx", "\\", "\xff\xfe", "bcdx", "abbcd", "acbcd"};

/* Whether, from where and to where: the C library's answer. */
static void answers_are_the_librarys(void)
{
	regmatch_t want[1];
	size_t p, t;
	regex_t lib;

	home_open(64, 64, 0);
	ENTER(run);
	keep_matches(&run);
	TL_STRING(s);
	for (p = 0; p < COUNT(tables); p++) {
		CHECK(!regcomp(&lib, tables[p].pattern, REG_EXTENDED));
		for (t = 0; t < COUNT(texts); t++) {
			bool matches = !regexec(&lib, texts[t], 1, want, 0);
			char part[64] = "";

			CHECK(tl_regex_match(&run, tables[p].regex, home_str(texts[t])) == matches);
			if (!matches)
				continue;
			memcpy(part, texts[t] + want[0].rm_so,
				(size_t)(want[0].rm_eo - want[0].rm_so));
			tl_matched(&run, s, 0);
			CHECK(!run.error && home_is(s, part));
		}
		regfree(&lib);
	}
}

/* Groups behind one another, each behind a comma; "" where it fails. */
static void groups(struct tl_run *run, const char *regex, const char *text, char *all)
{
	const struct tl_regex *r = pattern(regex);
	TL_STRING(s);
	int64_t n;

	*all = 0;
	if (!tl_regex_match(run, r, home_str(text)))
		return;
	for (n = 0; n < tl_ngroups(run); n++) {
		tl_matched(run, s, n);
		strcat(strcat(all, s->b), ",");
	}
}

static void groups_are_the_preferred_ways(void)
{
	static const struct {
		const char *pattern, *text, *groups;
	} cases[] = {
		{"", "abc", ","},
		{"(ab)+", "xababab", "ababab,ab,"},
		{"(a)|(b)", "b", "b,,b,"},
		{"(a)|(b)", "ab", "a,a,,"},
		{"((a)(b)?)+", "aba", "aba,a,a,b,"},
		{"(a*)(b*)", "aabb", "aabb,aa,bb,"},
		{"(a*)(b*)", "bb", "bb,,bb,"},
		{"(a|ab)(c|bcd)", "abcd", "abcd,a,bcd,"},
		{"(^a|b)c", "xbc", "bc,b,"},
		{"(^a|b)c", "ac", "ac,a,"},
		{"x(y|)z", "xz", "xz,,"},
		{"x(y|)z", "xyz", "xyz,y,"},
		{"(((a)))", "ba", "a,a,a,a,"},
		{"(.)(.)(.)", "abcd", "abc,a,b,c,"},
		{"(a?){3}b", "aab", "aab,,"},
		{"^(a|b)*c$", "abac", "abac,a,"},
		{"^(a|b)*c$", "c", "c,,"},
		{"^(a|b)*c$", "cx", ""},
	};
	char all[256];
	size_t i;

	home_open(64, 64, 0);
	ENTER(run);
	keep_matches(&run);
	for (i = 0; i < COUNT(cases); i++) {
		groups(&run, cases[i].pattern, cases[i].text, all);
		if (strcmp(all, cases[i].groups))
			printf("# %s on %s: %s\n", cases[i].pattern, cases[i].text, all);
		CHECK(!strcmp(all, cases[i].groups));
	}
}

/* Each byte is one: none is a character's part, and NUL is one like others. */
static void bytes_of_all_values(void)
{
	struct tl_str *s = home_str("x");
	int c;

	home_open(64, 64, 0);
	ENTER(run);
	for (c = 0; c < 256; c++) {
		s->b[0] = (char)c;
		CHECK(tl_regex_match(&run, pattern("a"), s) == (c == 'a'));
		CHECK(tl_regex_match(&run, pattern("[^abc]"), s) == !(c >= 'a' && c <= 'c'));
		CHECK(tl_regex_match(&run, pattern("\\."), s) == (c == '.'));
		CHECK(tl_regex_match(&run, pattern("[]a]"), s) == (c == ']' || c == 'a'));
	}
}

static void the_longest_text(void)
{
	static char big[TL_MAXSTRING];

	home_open(64, 64, 0);
	ENTER(run);
	keep_matches(&run);
	TL_STRING(s);
	memset(big, 'a', TL_MAXSTRING - 2);
	big[TL_MAXSTRING - 2] = 'b';
	CHECK(tl_regex_match(&run, pattern("(a*)(b*)"), home_str(big)));
	tl_matched(&run, s, 0);
	CHECK(home_is(s, big));
	tl_matched(&run, s, 2);
	CHECK(home_is(s, "b") && run.block->truncated == 0);
	CHECK(tl_regex_match(&run, pattern("^a*$"), home_str(big)) == 0);
	CHECK(tl_regex_match(&run, pattern("a{2,}b"), home_str(big)) == 1);
	tl_matched(&run, s, 0);
	CHECK(home_is(s, big));
}

static void asks(struct tl_run *run, int64_t n, const char *error)
{
	TL_STRING(s);

	tl_matched(run, s, n);
	CHECK(run->error && !strcmp(run->error, error));
	tl_run_catch(run, NULL);
}

static void what_cannot_be_asked(void)
{
	home_open(64, 64, 0);
	ENTER(run);
	asks(&run, 0, "Attempted to get subexpression 0 from failed match"); /* nothing is kept */
	keep_matches(&run);
	asks(&run, 1,
		"Attempted to get subexpression 1 from failed match"); /* nothing was matched */
	CHECK(!unit_why && tl_ngroups(&run) == 0 &&
		!strcmp(run.error, "Attempted to get subexpression count from failed match"));
	tl_run_catch(&run, NULL);
	CHECK(tl_regex_match(&run, pattern("(ab)+"), home_str("ab")) && tl_ngroups(&run) == 2);
	asks(&run, 2, "Attempted to get nonexistent subexpression 2");
	asks(&run, -1, "Attempted to get nonexistent subexpression -1");
	asks(&run, INT64_MAX, "Attempted to get nonexistent subexpression 9223372036854775807");
	CHECK(!unit_why && !tl_regex_match(&run, pattern("(ab)+"), home_str("ba")));
	asks(&run, 0, "Attempted to get subexpression 0 from failed match"); /* the latest counts */
}

/* The text is kept as it was, and each match forgets the one before. */
static void a_match_is_a_copy(void)
{
	struct tl_str *s = home_str("xaby");

	home_open(64, 64, 0);
	ENTER(run);
	keep_matches(&run);
	TL_STRING(got);
	CHECK(tl_regex_match(&run, pattern("(ab)+"), s));
	memset(s->b, '?', s->len);
	tl_matched(&run, got, 1);
	CHECK(home_is(got, "ab"));
	CHECK(tl_regex_match(&run, pattern("(.)(.)(.)"), home_str("pqrs")));
	tl_matched(&run, got, 3);
	CHECK(home_is(got, "r"));
	CHECK(tl_regex_match(&run, pattern("(((a)))"), home_str("za")));
	tl_matched(&run, got, 3);
	CHECK(home_is(got, "a"));
}

int main(void)
{
	RUN(answers_are_the_librarys);
	RUN(groups_are_the_preferred_ways);
	RUN(bytes_of_all_values);
	RUN(the_longest_text);
	RUN(what_cannot_be_asked);
	RUN(a_match_is_a_copy);
	free(home_memory);
	return UNIT_RESULT();
}
