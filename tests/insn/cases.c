/* SPDX-License-Identifier: MIT */
/*
 * Decoder cases as text. NAME.in has one instruction a line, `64` or `32` and
 * its bytes in hex, `#` starts a comment; NAME.out has what is expected, line
 * by line. `cases --fix FILE.in...` rewrites the .out files; read that diff.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../unit.h"
#include "insn.h"

static const char *const flow_names[] = {
	"next", "jcc", "jmp", "call", "jmp*", "call*", "ret", "far", "syscall", "trap", "stop"};
static const char *const flag_names[] = {"rip", "lock", "rep", "priv", "endbr", "loop", "uses-sp",
	"uses-ip", "sets-sp", "notrack", "string", "vex", "evex", "rex2"};

static char text[1024];

static void say(const char *format, ...)
{
	size_t used = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + used, sizeof(text) - used, format, args);
	va_end(args);
}

static void describe_fields(const struct tl_insn *i)
{
	say("len=%d %s", i->len, flow_names[i->flow]);
	if (tl_insn_is_direct_branch(i))
		say(" rel%d=%lld", i->imm_size * 8, (long long)i->rel);
	else if (i->imm_size)
		say(" imm%d@%d", i->imm_size * 8, i->imm_off);
	if (i->imm2_size)
		say("+%d", i->imm2_size * 8);
	if (i->disp_size)
		say(" disp%d@%d=%lld", i->disp_size * 8, i->disp_off, (long long)i->disp);
	if (i->modrm_off)
		say(" modrm@%d", i->modrm_off);
	say(" op=%d.%02x@%d os=%d as=%d", i->map, i->opcode, i->opcode_off, i->op_size,
		i->addr_size);
	if (i->rex)
		say(" rex=%02x", i->rex);
	if (i->flow == TL_FLOW_JCC && !(i->flags & TL_INSN_LOOP))
		say(" cond=%d", i->cond);
}

static void describe(const struct tl_insn *i)
{
	text[0] = 0;
	describe_fields(i);
	for (unsigned n = 0; n < sizeof(flag_names) / sizeof(flag_names[0]); n++)
		if (i->flags >> n & 1)
			say(" %s", flag_names[n]);
	if (tl_insn_is_direct_branch(i))
		say(" branch");
	if (tl_insn_ends_block(i))
		say(" ends");
	if (tl_insn_is_nop(i))
		say(" nop");
	if (tl_insn_is_padding(i))
		say(" padding");
	if (tl_insn_is_boostable(i))
		say(" boost");
	say(" gp=%x\n", (unsigned)tl_insn_gp_used(i));
}

/* Into `text`; an empty or comment line gives an empty text. */
static void run_line(char *line)
{
	uint8_t bytes[32];
	size_t n = 0;
	struct tl_insn insn;
	long bits;
	char *at;

	text[0] = 0;
	line[strcspn(line, "#\n")] = 0;
	bits = strtol(line, &at, 10);
	if (at == line)
		return;
	for (char *end; n < sizeof(bytes); at = end) {
		bytes[n] = (uint8_t)strtol(at, &end, 16);
		if (end == at)
			break;
		n++;
	}
	if (tl_insn_decode(&insn, bytes, n, bits == 32 ? TL_INSN_32 : TL_INSN_64))
		describe(&insn);
	else
		say("invalid\n");
}

static char got[1 << 16];

static int run_file(const char *path)
{
	char line[256];
	FILE *in = fopen(path, "r");

	got[0] = 0;
	if (!in)
		return -1;
	while (fgets(line, sizeof(line), in)) {
		run_line(line);
		if (strlen(got) + strlen(text) + 1 < sizeof(got))
			strcat(got, text);
	}
	fclose(in);
	return 0;
}

static void out_path(char *out, size_t size, const char *in)
{
	snprintf(out, size, "%s", in);
	strcpy(strrchr(out, '.'), ".out");
}

/* First line that differs, for the message. */
static int first_difference(const char *a, const char *b)
{
	int line = 1;

	for (; *a && *a == *b; a++, b++)
		line += *a == '\n';
	return line;
}

static char message[2048];

static void check_file(const char *path)
{
	static char expected[1 << 16];
	char out[512];
	size_t n;
	FILE *f;

	out_path(out, sizeof(out), path);
	if (run_file(path)) {
		unit_why = "cannot be read";
		return;
	}
	f = fopen(out, "r");
	if (!f) {
		unit_why = "has no .out file; make one with cases --fix";
		return;
	}
	n = fread(expected, 1, sizeof(expected) - 1, f);
	expected[n] = 0;
	fclose(f);
	if (!n || !strcmp(expected, got)) {
		unit_why = n ? NULL : "expects nothing";
		return;
	}
	n = first_difference(expected, got);
	snprintf(message, sizeof(message),
		"line %d of %s differs; see what is said now with cases --show %s", (int)n, out,
		path);
	unit_why = message;
}

static void report(const char *path)
{
	char name[256];
	const char *base = strrchr(path, '/');

	snprintf(name, sizeof(name), "insn/%s", base ? base + 1 : path);
	*strrchr(name, '.') = 0;
	unit_why = NULL;
	check_file(path);
	if (unit_why)
		printf("not ok %s: %s\n", name, unit_why), unit_failures++;
	else
		printf("ok %s\n", name);
}

static int fix(const char *path)
{
	char out[512];
	FILE *f;

	out_path(out, sizeof(out), path);
	if (run_file(path) || !(f = fopen(out, "w")))
		return 1;
	fputs(got, f);
	return fclose(f) != 0;
}

/* Every prefix of a long instruction is too short, and nothing is read behind `max`. */
static void insn_cut_short(void)
{
	static const uint8_t code[] = {0x66, 0x48, 0x81, 0x84, 0x88, 1, 2, 3, 4, 5, 6, 7, 8};
	struct tl_insn insn;

	for (size_t n = 0; n < sizeof(code); n++) {
		uint8_t *exact = malloc(n ? n : 1); /* the sanitizer sees a byte too many */

		memcpy(exact, code, n);
		CHECK(tl_insn_decode(&insn, exact, n, TL_INSN_64) == 0);
		free(exact);
	}
	CHECK(tl_insn_decode(&insn, code, sizeof(code), TL_INSN_64) == sizeof(code));
	CHECK(!memcmp(insn.bytes, code, sizeof(code)));
}

static void insn_fifteen_bytes(void)
{
	uint8_t code[16];
	struct tl_insn insn;

	memset(code, 0x66, sizeof(code));
	code[14] = 0x90;
	CHECK(tl_insn_decode(&insn, code, sizeof(code), TL_INSN_64) == 15);
	code[14] = 0x66;
	code[15] = 0x90;
	CHECK(tl_insn_decode(&insn, code, sizeof(code), TL_INSN_64) == 0);
}

static void insn_targets(void)
{
	static const uint8_t jump[] = {0xe9, 0xfb, 0xff, 0xff, 0xff};
	static const uint8_t load[] = {0x48, 0x8b, 0x05, 0x10, 0, 0, 0};
	struct tl_insn insn;

	CHECK(tl_insn_decode(&insn, jump, sizeof(jump), TL_INSN_64) == 5);
	CHECK(tl_insn_target(&insn, 0x1000) == 0x1000);
	CHECK(tl_insn_decode(&insn, load, sizeof(load), TL_INSN_64) == 7);
	CHECK(tl_insn_rip_operand(&insn, 0x1000) == 0x1017);
}

/* What tl_insn_plain() says of it is what the full decoder says, and there is nothing to be noted. */
static bool plain_agrees(const uint8_t *code)
{
	unsigned len = tl_insn_plain(code);
	struct tl_insn insn;

	return !len || (tl_insn_decode(&insn, code, TL_INSN_MAX, TL_INSN_64) == (int)len &&
			       insn.flow == TL_FLOW_NEXT && !tl_insn_is_padding(&insn) &&
			       !(insn.map == 0 && insn.opcode == 0xfd));
}

/* And what tl_insn_branch() says. */
static bool branch_agrees(const uint8_t *code)
{
	struct tl_insn quick = {0}, insn;
	unsigned len = tl_insn_branch(&quick, code);
	int whole = tl_insn_decode(&insn, code, TL_INSN_MAX, TL_INSN_64);

	if (!len)
		return !whole || insn.prefix_len || !tl_insn_is_direct_branch(&insn) ||
		       (insn.opcode & 0xfc) == 0xe0 ||
		       insn.opcode == 0xc7; /* loop, jrcxz, xbegin */
	return whole == (int)len && quick.len == insn.len && quick.flow == insn.flow &&
	       quick.rel == insn.rel && quick.map == insn.map && quick.opcode == insn.opcode;
}

/* Every opcode of the first two maps with every ModRM, and all that a SIB changes. */
static void insn_plain(void)
{
	static const uint8_t rex[] = {0, 0x40, 0x41, 0x48, 0x4f}, sib[] = {0x24, 0x25, 0xe4, 0x65};
	const unsigned opcodes = 512, modrms = 256;
	unsigned plain = 0;

	for (unsigned n = 0; n < opcodes * modrms * sizeof(rex) * sizeof(sib); n++) {
		unsigned op = n / modrms % opcodes, which = n / (opcodes * modrms), at = 0;
		uint8_t code[TL_INSN_MAX] = {0};

		if (rex[which % sizeof(rex)])
			code[at++] = rex[which % sizeof(rex)];
		if (op >= 256)
			code[at++] = 0x0f;
		code[at++] = (uint8_t)op;
		code[at++] = (uint8_t)(n % modrms);
		code[at] = sib[which / sizeof(rex)];
		CHECK(plain_agrees(code));
		CHECK(branch_agrees(code));
		plain += tl_insn_plain(code) != 0;
	}
	CHECK(plain > opcodes * modrms * sizeof(rex) * sizeof(sib) / 2);
}

int main(int argc, char **argv)
{
	int bad = 0;

	if (argc > 2 && (!strcmp(argv[1], "--fix") || !strcmp(argv[1], "--show"))) {
		for (int n = 2; n < argc; n++) {
			bad |= !strcmp(argv[1], "--fix") ? fix(argv[n]) : run_file(argv[n]);
			if (!strcmp(argv[1], "--show"))
				fputs(got, stdout);
		}
		return bad != 0;
	}
	RUN(insn_cut_short);
	RUN(insn_fifteen_bytes);
	RUN(insn_targets);
	RUN(insn_plain);
	for (int n = 1; n < argc; n++)
		report(argv[n]);
	return UNIT_RESULT();
}
