/* SPDX-License-Identifier: MIT */
/*
 * Programs of random instructions that cannot go wrong: registers and 16 words
 * of memory are all they know, every jump leads forward but for loops of a few
 * rounds, and calls lead to functions further on. rdi points to the memory,
 * r11 counts rounds; no other function is called and nobody jumps inside of
 * what belongs together (a loop, a push and its pop, a word below the stack).
 */
#include <string.h>
#include <sys/mman.h>

#include "churn.h"

enum { NOWHERE = 0xffff, LAST = ITEMS - 12 }; /* room for a group and the end */

enum link { LINK_NONE, LINK_REL8, LINK_REL32, LINK_FUNC };

struct draft {
	uint8_t bytes[12], len;
	enum link link;
	uint16_t to; /* an item of this function; LINK_FUNC: a function */
	bool inner; /* nobody jumps here */
	bool plain;
};

static struct draft draft[ITEMS];
static unsigned ndraft;
static uint64_t state;

void churn_seed(uint64_t seed)
{
	state = seed * 0x9e3779b97f4a7c15u + 1;
}

uint32_t churn_random(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 32) % below;
}

/* --- single instructions -------------------------------------------------------- */

static struct draft *add(const void *bytes, unsigned len)
{
	struct draft *d = &draft[ndraft++];

	memset(d, 0, sizeof(*d));
	memcpy(d->bytes, bytes, len);
	d->len = (uint8_t)len;
	return d;
}

#define ADD(...) add((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static uint8_t byte(void)
{
	return (uint8_t)churn_random(256);
}

/* ax, cx, dx or si: what needs no prefix. */
static uint8_t low(void)
{
	return (const uint8_t[]){0, 1, 2, 6}[churn_random(4)];
}

static uint8_t mod(uint8_t reg, uint8_t rm)
{
	return (uint8_t)(0xc0 | reg << 3 | rm);
}

static uint8_t word(void)
{
	return (uint8_t)(8 * churn_random(WORDS));
}

static void plain(void)
{
	static const uint8_t single[] = {0x90, 0xf5, 0xf8, 0xf9, 0x98, 0x99, 0x9e, 0x9f};
	static const uint8_t two[] = {0x01, 0x09, 0x11, 0x19, 0x21, 0x29, 0x31, 0x39, 0x87, 0x89};
	uint8_t op = two[churn_random(sizeof(two))], a = low(), b = low(),
		high = (uint8_t)churn_random(3);

	switch (churn_random(17)) {
	case 0:
	case 1:
		ADD(single[churn_random(sizeof(single))]);
		break;
	case 2:
	case 3:
		ADD(op, mod(a, b));
		break;
	case 4:
		ADD(0xff, mod(churn_random(2), b)); /* inc, dec */
		break;
	case 5:
		ADD(0x48, op, mod(a, b));
		break;
	case 6:
		ADD(0x4d, op, mod(high, churn_random(3)));
		break;
	case 7:
		ADD(0xc1, mod(churn_random(2), b), 1 + churn_random(30)); /* rol, ror */
		break;
	case 8:
		ADD(0x0f, 0x40 + churn_random(16), mod(a, b)); /* cmov */
		break;
	case 9:
		ADD(0x48, 0x0f, 0xaf, mod(a, b)); /* imul */
		break;
	case 10:
		ADD(0x48, 0x83, mod((uint8_t)churn_random(8), b), byte());
		break;
	case 11:
		ADD(0x48, 0x01, 0x47 | a << 3, word()); /* add %reg, word(%rdi) */
		break;
	case 12:
		ADD(0x4c, 0x33, 0x47 | high << 3, word()); /* xor word(%rdi), %reg */
		break;
	case 13:
		ADD(0xf0, 0x48, 0x01, 0x47 | a << 3, word());
		break;
	case 14:
		ADD(0xb8 | a, byte(), byte(), byte(), byte());
		break;
	case 15:
		ADD(0x48, 0x8d, 0x05 | a << 3, byte(), byte(), 0, 0); /* lea of a near place */
		break;
	default:
		ADD(0x48, 0xb8 | a, byte(), byte(), byte(), byte(), byte(), byte(), byte(), byte());
	}
	draft[ndraft - 1].plain = true;
}

/* --- groups ------------------------------------------------------------------------ */

/* Some instructions, and nobody jumps there. */
static void inside(void)
{
	for (unsigned n = 1 + churn_random(3); n; n--) {
		plain();
		draft[ndraft - 1].inner = true;
	}
}

static void last_is(enum link link, unsigned to)
{
	draft[ndraft - 1].link = link;
	draft[ndraft - 1].to = (uint16_t)to;
}

static void last_is_inner(void)
{
	draft[ndraft - 1].inner = true;
}

static void loop(void)
{
	unsigned top;

	ADD(0x41, 0xbb, 2 + churn_random(3), 0, 0, 0); /* mov $,%r11d */
	top = ndraft;
	inside();
	ADD(0x41, 0xff, 0xcb); /* dec %r11d */
	last_is_inner();
	if (churn_random(2)) {
		ADD(0x75, 0);
		last_is(LINK_REL8, top);
	} else {
		ADD(0x0f, 0x85, 0, 0, 0, 0);
		last_is(LINK_REL32, top);
	}
	last_is_inner();
}

static void pushed(void)
{
	ADD(0x50 | low());
	inside();
	ADD(0x58 | low());
	last_is_inner();
}

static void below_the_stack(void)
{
	uint8_t at = (uint8_t) - (8 * (1 + churn_random(16)));

	ADD(0x48, 0x89, 0x44 | low() << 3, 0x24, at);
	inside();
	ADD(0x48, 0x03, 0x44 | low() << 3, 0x24, at);
	last_is_inner();
}

/* Forward; where to is settled later. */
static void jump(void)
{
	switch (churn_random(6)) {
	case 0:
		ADD(0xeb, 0);
		last_is(LINK_REL8, NOWHERE);
		break;
	case 1:
		ADD(0xe9, 0, 0, 0, 0);
		last_is(LINK_REL32, NOWHERE);
		break;
	case 2:
		ADD(0xe3, 0); /* jrcxz */
		last_is(LINK_REL8, NOWHERE);
		break;
	case 3:
		ADD(0x0f, 0x80 + churn_random(16), 0, 0, 0, 0);
		last_is(LINK_REL32, NOWHERE);
		break;
	default:
		ADD(0x70 + churn_random(16), 0);
		last_is(LINK_REL8, NOWHERE);
	}
}

static void to_function(uint8_t op, unsigned func)
{
	ADD(op, 0, 0, 0, 0);
	last_is(LINK_FUNC, func + 1 + churn_random(FUNCS - 1 - func));
}

/* --- functions ------------------------------------------------------------------- */

/* The next few that may be jumped to. */
static void settle_jumps(void)
{
	for (unsigned i = 0; i < ndraft; i++) {
		unsigned to = i + 1 + churn_random(6);

		if (draft[i].to != NOWHERE)
			continue;
		to = to < ndraft ? to : ndraft - 1;
		while (draft[to].inner)
			to++;
		draft[i].to = (uint16_t)to;
	}
}

/* Calls are dear: of two functions, each calls 20 others at most, and those none. */
static bool may_call(unsigned func)
{
	return func < FUNCS / 2;
}

static void write_draft(struct program *p, unsigned func)
{
	unsigned calls = 0;

	ndraft = 0;
	plain(); /* nobody jumps to an entry */
	last_is_inner();
	while (ndraft < LAST - churn_random(LAST)) {
		switch (churn_random(12)) {
		case 0:
			loop();
			break;
		case 1:
			pushed();
			break;
		case 2:
			below_the_stack();
			break;
		case 3:
		case 4:
			jump();
			break;
		case 5:
			if (may_call(func) && calls++ < 2)
				to_function(0xe8, FUNCS / 2 - 1);
			break;
		default:
			plain();
		}
	}
	p->leaves[func] = func + 1 < FUNCS && !churn_random(4);
	if (p->leaves[func])
		to_function(0xe9, func);
	else
		ADD(0xc3);
	settle_jumps();
}

static void link_item(const struct program *p, const struct item *i, const struct draft *d)
{
	uint8_t *end = churn_text + i->off + i->len;
	const struct item *first = &p->item[p->first[i->func]];
	int32_t rel;

	if (d->link == LINK_NONE)
		return;
	rel = (d->link == LINK_FUNC ? p->item[p->first[d->to]].off : first[d->to].off) -
	      (int32_t)(i->off + i->len);
	if (d->link == LINK_REL8)
		end[-1] = (uint8_t)rel;
	else
		memcpy(end - 4, &rel, 4);
}

void churn_write(struct program *p)
{
	unsigned at = 4096;

	mprotect(churn_text, TEXT_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC);
	memset(churn_text, 0xcc, TEXT_SIZE);
	memset(p, 0, sizeof(*p));
	p->nitems = SITES;
	/* From the last one on: calls lead there. */
	for (unsigned func = FUNCS; func--;) {
		write_draft(p, func);
		p->first[func] = (uint16_t)(p->nitems -= ndraft);
		for (unsigned i = 0; i < ndraft; i++) {
			struct item *item = &p->item[p->nitems + i];

			*item = (struct item){
				(uint16_t)at, draft[i].len, (uint8_t)func, draft[i].plain};
			memcpy(churn_at(item), draft[i].bytes, draft[i].len);
			at += draft[i].len;
		}
		for (unsigned i = 0; i < ndraft; i++)
			link_item(p, &p->item[p->nitems + i], &draft[i]);
		at += churn_random(3) ? (16 - at % 16) % 16 : 0; /* some have no padding */
	}
	p->first[FUNCS] = SITES;
	mprotect(churn_text, TEXT_SIZE, PROT_READ | PROT_EXEC);
}

void churn_world(struct world *w, uint64_t input)
{
	uint64_t *words = (uint64_t *)w;

	for (unsigned i = 0; i < sizeof(*w) / sizeof(*words); i++) {
		input = input * 6364136223846793005u + 1442695040888963407u;
		words[i] = input;
	}
}
