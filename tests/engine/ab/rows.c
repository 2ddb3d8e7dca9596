/* SPDX-License-Identifier: MIT */
/*
 * Every row of the decoder's tables has an instruction that was compared with
 * and without a probe. Written cases (cases.S) cover what must be set up with
 * care; all other rows are generated: with memory, register, RIP-relative and
 * stack operands, from the first of several states in which the instruction
 * does not fault. A row that nothing covers needs an excuse, and all excuses
 * are counted and printed. That an instruction is illegal is one only where
 * the processor says that it lacks what it takes.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include "ab.h"

enum { ROWS = 4096, STATES = 16 };
enum form { GIVEN, REGISTER, RIP, DISPLACED, IN_STACK, FORMS };

enum outcome {
	NONE,
	COVERED,
	MODE_32,
	PRIVILEGED,
	REFUSED,
	MISSING,
	OURS,
	FAULTS,
	ILLEGAL,
	OUTCOMES
};
static const char *const outcome_names[OUTCOMES] = {"nothing", "run", "exists in 32-bit mode only",
	"privileged", "refused by the engine", "not on this processor",
	"would take the thread pointer, or kill the test", "faults",
	"illegal, though this processor has what it takes"};

const char *ab_rows_file;
volatile int ab_fault;

static uint8_t outcome[ROWS];
static char lacks[ROWS][24]; /* a feature of the processor's, where that is why */
static unsigned nrows, runs, forms_run, varying;
static uint8_t *code;
static struct test_case row_case;
static volatile bool may_fault;

/* --- faults of bare runs ------------------------------------------------------------- */

static void on_fault(int sig, siginfo_t *si, void *uc)
{
	greg_t *g = ((ucontext_t *)uc)->uc_mcontext.gregs;

	(void)si;
	if (!may_fault) {
		printf("not ok every_row: signal %d at %#llx, where the bare run has none\n", sig,
			(unsigned long long)g[REG_RIP]);
		fflush(stdout);
		_exit(1);
	}
	ab_fault = sig;
	g[REG_RIP] = (greg_t)ab_exit;
	g[REG_EFL] &= ~0x40500; /* no single steps, no alignment checks, upwards */
}

static void catch_faults(void)
{
	static const int sigs[] = {SIGILL, SIGSEGV, SIGBUS, SIGFPE};
	static uint8_t room[65536];
	struct sigaction sa = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	stack_t alt = {.ss_sp = room, .ss_size = sizeof(room)};

	sigaltstack(&alt, NULL);
	for (size_t i = 0; i < sizeof(sigs) / sizeof(sigs[0]); i++)
		sigaction(sigs[i], &sa, NULL);
}

/* --- instructions ------------------------------------------------------------------------- */

struct line {
	unsigned row, mode, fixed; /* fixed: bytes before ModRM */
	uint8_t bytes[16];
	size_t n;
	const char *text;
};

static bool has_modrm(const struct line *l)
{
	return l->n > l->fixed;
}

/* What is left of the instruction: immediates; a branch goes on with the next one. */
static bool finish(uint8_t *buf, size_t n, struct tl_insn *i, unsigned row)
{
	uint64_t data = (uintptr_t)ab_data;

	memset(buf + n, 0, 32 - n);
	if (!tl_insn_decode(i, buf, 32, TL_INSN_64) || i->row != row)
		return false;
	if (i->imm_size && i->flow == TL_FLOW_NEXT)
		memset(buf + i->imm_off, 5, i->imm_size);
	if (i->imm_size == 8 && !i->map && (i->opcode & 0xfc) == 0xa0)
		memcpy(buf + i->imm_off, &data, 8);
	return tl_insn_decode(i, buf, 32, TL_INSN_64) && i->row == row;
}

/* With other operands than the line has; false: there is no such form. */
static bool make(const struct line *l, enum form form, uint8_t *buf, struct tl_insn *i)
{
	size_t m = l->fixed;
	uint8_t modrm = l->bytes[m];

	memcpy(buf, l->bytes, l->n);
	if (form == GIVEN)
		return finish(buf, l->n, i, l->row);
	if (!has_modrm(l) || l->n > m + 1 || modrm >> 6 == 3)
		return false;
	if (form == REGISTER) {
		buf[m] = 0xc2 | (modrm & 0x38);
		return finish(buf, m + 1, i, l->row);
	}
	if (form == DISPLACED) { /* rbx + 8, with 32 bits */
		buf[m] = 0x83 | (modrm & 0x38);
		memcpy(buf + m + 1, (int32_t[]){64}, 4);
		return finish(buf, m + 5, i, l->row);
	}
	if (form == IN_STACK) { /* in the red zone; EVEX counts in operands of up to 64 bytes */
		buf[m] = 0x44 | (modrm & 0x38);
		buf[m + 1] = 0x24;
		buf[m + 2] = l->bytes[0] == 0x62 ? 0xfe : 0xc0;
		return finish(buf, m + 3, i, l->row);
	}
	buf[m] = 5 | (modrm & 0x38);
	memset(buf + m + 1, 0, 4);
	if (!finish(buf, m + 5, i, l->row) || !(i->flags & TL_INSN_RIP_REL))
		return false;
	memcpy(buf + m + 1, (int32_t[]){(int32_t)(ab_data + 512 - (code + i->len))}, 4);
	return tl_insn_decode(i, buf, 32, TL_INSN_64) && i->row == l->row;
}

/* Instructions that would end the test itself; some become a harmless neighbour in the same row. */
static bool is_ours(struct tl_insn *i, uint8_t *buf)
{
	uint8_t *modrm = buf + i->modrm_off;
	bool two_byte = i->map == 1 && !(i->flags & (TL_INSN_VEX | TL_INSN_EVEX));

	if (!two_byte && !i->map && i->opcode == 0x8e && !(i->flags & (TL_INSN_VEX | TL_INSN_EVEX)))
		*modrm &= ~0x38; /* es */
	if (!two_byte)
		return false;
	if (i->opcode == 0xae && *modrm >= 0xd0 && *modrm < 0xe0)
		*modrm -= 0x10; /* wrfsbase: rdfsbase */
	if (i->opcode == 0x01 && *modrm == 0xef)
		*modrm = 0xee; /* wrpkru: rdpkru */
	return i->opcode == 0xa1 || i->opcode == 0xa9 || i->opcode == 0xb2 || i->opcode == 0xb4 ||
	       i->opcode == 0xb5;
}

/* The instruction, a way out, and what every case has behind it. */
static void place_code(const uint8_t *buf, size_t len)
{
	int32_t rel = (int32_t)((uint8_t *)ab_exit - (code + len + 5));

	memset(code, 0xcc, 64);
	memcpy(code, buf, len);
	code[len] = 0xe9;
	memcpy(code + len + 1, &rel, 4);
	memset(code + len + 5, 0x90, 3);
	row_case.start = code;
	row_case.body_end = code + len;
	row_case.end = code + len + 8;
}

/* --- states -------------------------------------------------------------------------------------- */

static void small_registers(struct state *s)
{
	static const uint8_t free_ones[] = {0, 8, 9, 10, 11, 13, 14, 15};

	for (size_t i = 0; i < sizeof(free_ones); i++)
		s->r[free_ones[i]] &= 7;
	s->r[2] = 0;
}

static void pointers(struct state *s)
{
	static const uint8_t free_ones[] = {0, 2, 8, 9, 10, 11, 13, 14, 15};

	for (size_t i = 0; i < sizeof(free_ones); i++)
		s->r[free_ones[i]] = (uintptr_t)ab_data + 2048 + 64 * i;
}

static void no_vectors(struct state *s)
{
	memset(s->xsave + 160, 0, 256);
	memset(s->xsave + 576, 0, 256);
	memset(s->xsave + AB_AVX512_AT + 64, 0, AB_AVX512_SIZE - 64);
}

static void choose_state(struct state *s, unsigned n)
{
	ab_given = (struct ab_given){0};
	ab_random(s, &row_case);
	if (n % 4 == 1)
		small_registers(s);
	else if (n % 4 == 2)
		pointers(s);
	else if (n % 4 == 3) {
		small_registers(s);
		no_vectors(s);
		ab_given.image = true;
	}
	s->r[1] = n & 8 ? 0 : s->r[1];
	ab_given.state = s;
	ab_given.seed = 0x9e3779b97f4a7c15ull * (n + 1) | 1;
}

/* --- a row ------------------------------------------------------------------------------------------ */

static enum outcome run_here(void)
{
	static struct state s;
	unsigned ran;

	for (unsigned n = 0; n < STATES; n++) {
		choose_state(&s, n);
		ab_fault = 0;
		may_fault = true;
		ab_given.varies = ab_bare_twice(&s) != NULL;
		may_fault = false;
		if (ab_fault == SIGILL)
			return MISSING;
		if (ab_fault)
			continue;
		ran = ab_try_rungs(&row_case);
		runs += ran;
		forms_run += ran > 0;
		varying += ran && ab_given.varies;
		return ran ? COVERED : NONE;
	}
	return FAULTS;
}

/* vmcall, rdpmc: as the kernel and the hypervisor please. */
static bool needs_leave(const struct tl_insn *i)
{
	return i->map == 1 && !(i->flags & (TL_INSN_VEX | TL_INSN_EVEX)) &&
	       (i->opcode == 0x33 || i->opcode == 0x01);
}

/* What goes wrong in any state is excused by what this processor lacks, or has switched off. */
static enum outcome excused(const struct line *l, enum form form, enum outcome otherwise)
{
	uint8_t bytes[sizeof(l->bytes)];
	const char *why;

	memcpy(bytes, l->bytes, l->n);
	if (form == REGISTER)
		bytes[l->fixed] = 0xc2 | (bytes[l->fixed] & 0x38);
	why = ab_lacking(bytes, l->n);
	if (!why)
		return otherwise;
	snprintf(lacks[l->row], sizeof(lacks[l->row]), "%s", why);
	return MISSING;
}

static enum outcome try_form(const struct line *l, enum form form)
{
	struct tl_insn i;
	uint8_t buf[32];
	enum outcome o;

	if (!make(l, form, buf, &i))
		return NONE;
	if (i.flags & TL_INSN_PRIV)
		return PRIVILEGED;
	if (is_ours(&i, buf))
		return OURS;
	place_code(buf, i.len);
	if (ab_refused(&row_case))
		return REFUSED;
	if (i.flow != TL_FLOW_NEXT && i.flow != TL_FLOW_JCC && i.flow != TL_FLOW_JMP &&
		i.flow != TL_FLOW_CALL)
		return NONE; /* where it leads to must be set up: that is for cases.S */
	o = run_here();
	if (o == MISSING)
		return excused(l, form, ILLEGAL);
	if (o == FAULTS)
		return needs_leave(&i) ? PRIVILEGED : excused(l, form, FAULTS);
	return o;
}

static void try_row(const struct line *l)
{
	if (l->mode == 32 && outcome[l->row] == NONE)
		outcome[l->row] = MODE_32;
	row_case.name = l->text;
	for (enum form f = GIVEN; f < FORMS && l->mode == 64; f++) {
		enum outcome o = try_form(l, f);

		if (o == ILLEGAL || outcome[l->row] == NONE ||
			(o == COVERED && outcome[l->row] != ILLEGAL))
			outcome[l->row] = (uint8_t)o;
	}
}

static bool read_line(FILE *f, struct line *l)
{
	static char buf[512];
	char hex[64];
	int at = 0;

	if (!fgets(buf, sizeof(buf), f))
		return false;
	buf[strcspn(buf, "\n")] = 0;
	if (sscanf(buf, "%u %u %u %63s %n", &l->row, &l->mode, &l->fixed, hex, &at) != 4 ||
		l->row >= ROWS)
		return false;
	l->text = buf + at;
	for (l->n = 0; hex[2 * l->n]; l->n++)
		sscanf(hex + 2 * l->n, "%2hhx", &l->bytes[l->n]);
	return true;
}

/* --- the whole ---------------------------------------------------------------------------------------- */

static void mark(const struct tl_insn *i)
{
	outcome[i->row] = COVERED;
}

/* The state that AVX-512 adds is compared where there is any. */
static void widen(void)
{
	uint32_t a = 7, b, c, d;

	__asm__("cpuid" : "+a"(a), "=b"(b), "=c"(c), "=d"(d) : "2"(0));
	if (!(b >> 16 & 1))
		return;
	__asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
	if ((a & AB_AVX512) == AB_AVX512)
		ab_xmask = 7 | AB_AVX512;
}

/* Some results tell the processor that they come from. */
static void stay_here(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static void count_lacking(const char *rows)
{
	static bool counted[ROWS];

	for (unsigned i = 0; i < ROWS; i++) {
		unsigned n = 0;

		if (!rows[i] || counted[i])
			continue;
		for (unsigned k = i; k < ROWS; k++) {
			bool same = rows[k] && !strcmp(lacks[i], lacks[k]);

			n += same;
			counted[k] |= same;
		}
		printf(" %s %u", lacks[i], n);
	}
}

static const char *sum_up(FILE *f)
{
	static char missing[ROWS];
	unsigned count[OUTCOMES] = {0}, bad = 0;
	struct line l;

	rewind(f);
	while (read_line(f, &l)) {
		enum outcome o = outcome[l.row];

		count[o]++;
		missing[l.row] = o == MISSING;
		if (o == NONE || o == FAULTS || o == ILLEGAL) {
			printf("# no case: row %u, %s: %s\n", l.row, l.text, outcome_names[o]);
			bad++;
		}
	}
	printf("# %u rows: %u run (%u forms, %u runs; %u forms with results that vary)", nrows,
		count[COVERED], forms_run, runs, varying);
	for (int o = COVERED + 1; o < OUTCOMES; o++)
		if (count[o])
			printf(", %u %s", count[o], outcome_names[o]);
	printf("\n# rows that this processor lacks something for:");
	count_lacking(missing);
	printf("\n");
	return bad ? "rows of the decoder's tables without a case" : NULL;
}

const char *ab_rows(void)
{
	FILE *f = fopen(ab_rows_file, "r");
	const char *why;
	struct line l;

	code = mmap((void *)0x20000000, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (!f || code == MAP_FAILED)
		return "no list of rows, or no place for code";
	ab_each_case(mark);
	catch_faults();
	stay_here();
	widen();
	while (read_line(f, &l)) {
		nrows++;
		try_row(&l);
	}
	why = sum_up(f);
	fclose(f);
	return why;
}
