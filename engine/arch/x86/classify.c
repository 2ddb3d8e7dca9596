/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The code walk: where instructions start, where branches lead, what may be probed. */
#include "x86.h"

#define LEA  0x8d
#define NOP  0x90
#define INT3 0xcc
#define STD  0xfd

static bool bit(const uint8_t *map, size_t n)
{
	return map[n / 8] >> (n % 8) & 1;
}

static void set_bit(uint8_t *map, size_t n)
{
	map[n / 8] |= (uint8_t)(1 << (n % 8));
}

/* --- parts --------------------------------------------------------------- */

static bool inside(const struct tl_code *code, uintptr_t addr)
{
	return addr - code->start < code->size + code->after;
}

const struct tl_code *x86_part(const struct tl_code *code, uintptr_t addr)
{
	if (addr < code->start)
		return NULL;
	/* Who asks at walking time has no neighbours yet. */
	while (code && !inside(code, addr))
		code = code->complete && code->behind ? code->behind(code) : NULL;
	return code;
}

bool x86_is_boundary(const struct tl_code *code, uintptr_t addr)
{
	code = x86_part(code, addr);
	return code && bit(code->boundary, addr - code->start);
}

bool x86_is_target(const struct tl_code *code, uintptr_t addr)
{
	code = x86_part(code, addr);
	return code && bit(code->target, addr - code->start);
}

/* --- decoding ------------------------------------------------------------ */

/*
 * The same instructions stand everywhere, and one that is probed is asked for
 * again and again: what they decoded to is kept. Engine lock.
 */
enum { KNOWN = 128 };
static struct tl_insn known[KNOWN];

static uint64_t word_at(const uint8_t *p)
{
	uint64_t v;

	__builtin_memcpy(&v, p, sizeof(v));
	return v;
}

/* Does the text at p begin with it? */
static bool stands_at(const struct tl_insn *i, const uint8_t *p)
{
	unsigned rest = i->len < 8 ? 8u - i->len : 0, last = TL_INSN_MAX - i->len;

	if (!i->len || (word_at(p) ^ word_at(i->bytes)) << 8 * rest)
		return false;
	return rest || !((word_at(p + 7) ^ word_at(i->bytes + 7)) << 8 * last);
}

/* TL_INSN_MAX bytes may be read. */
static bool decode(struct tl_insn *i, const uint8_t *p)
{
	struct tl_insn *k = &known[(p[0] + 3u * p[1] + 7u * p[2]) % KNOWN];

	if (!stands_at(k, p) && !tl_insn_decode(k, p, TL_INSN_MAX, TL_INSN_64)) {
		k->len = 0;
		return false;
	}
	*i = *k;
	return true;
}

bool x86_decode(struct tl_insn *i, const uint8_t *p, size_t n)
{
	uint8_t all[TL_INSN_MAX] = {0};

	if (n < sizeof(all)) {
		__builtin_memcpy(all, p, n);
		p = all;
	}
	return decode(i, p) && i->len <= n;
}

bool x86_decode_at(const struct tl_code *code, uintptr_t addr, struct tl_insn *i)
{
	size_t off, all;

	code = x86_part(code, addr);
	if (!code)
		return false;
	off = addr - code->start;
	all = code->size + code->after;
	/* There is slack behind the text: the decoder is quicker where it need not look out for the end. */
	return decode(i, code->text + off) && off + i->len <= all;
}

/* --- the walk -------------------------------------------------------------- */

unsigned x86_insn_room(const struct tl_code *code, uintptr_t addr, const struct tl_insn *i)
{
	bool last = tl_insn_ends_block(i) && addr + i->len == code->start + code->size;

	return i->len + (last ? (unsigned)code->after : 0);
}

bool x86_is_got_jump(const struct tl_insn *i)
{
	return i->flow == TL_FLOW_JMP_IND && (i->flags & TL_INSN_RIP_REL);
}

static void clear(struct tl_code *code)
{
	size_t bytes = (code->size + code->after + 7) / 8;

	for (size_t n = 0; n < bytes; n++)
		code->boundary[n] = code->target[n] = 0;
	code->indirect = code->complete = false;
	code->port = 0;
}

/*
 * What stands before the abort address of a restartable sequence: ud1 with
 * the signature that librseq, tcmalloc and the C library register. Where in
 * the part the sequence lies, only its descriptor tells.
 */
static bool is_rseq_signature(const struct tl_insn *i)
{
	static const uint8_t ud1[] = {0x0f, 0xb9, 0x3d, 0x53, 0x30, 0x05, 0x53};

	for (unsigned n = 0; n < sizeof(ud1); n++)
		if (i->bytes[n] != ud1[n])
			return false;
	return i->len == sizeof(ud1);
}

/* As the kernel reads it (rseq_cs). Before the loader has been there its addresses are 0, or lack the bias. */
struct sequence {
	uint32_t version, flags;
	uint64_t start, length, abort;
};

static bool describes(const struct sequence *s, uintptr_t start, size_t room)
{
	const uint64_t in_page = 4095;

	return !s->version && s->length && s->length <= room &&
	       (s->start ? !((s->start ^ start) & in_page) : !s->abort);
}

/* The store that tells the kernel: into the thread's own area, found by its segment or by a pointer to it. */
static bool stores_descriptor(const struct tl_insn *i, uint8_t modrm, uint8_t rex)
{
	enum { STORE = 0x89, REG = 7 << 3, REX_R = 4, FS = 0x64, OFFSET = 8 };

	return i->opcode == STORE && !i->map && i->modrm_off &&
	       !((i->bytes[i->modrm_off] ^ modrm) & REG) && !((i->rex ^ rex) & REX_R) &&
	       (i->disp == OFFSET || i->bytes[0] == FS);
}

/* Is `length` bytes behind addr an instruction's end? */
static bool ends_there(const struct tl_code *code, uintptr_t addr, uint64_t length)
{
	uintptr_t end = addr + length;
	struct tl_insn i;

	while (addr < end && x86_decode_at(code, addr, &i))
		addr += i.len;
	return addr == end;
}

/*
 * lea descriptor(%rip),reg; mov reg,memory: a restartable sequence begins
 * behind it. Its abort handler may stand elsewhere. In a detour the kernel
 * would not know the thread to be inside, and nobody would restart it.
 */
static bool announces_sequence(const struct tl_code *code, uintptr_t addr)
{
	enum { LEA_LEN = 7, REG = 7 << 3, DESCRIPTOR_ALIGN = 32 };
	const uint8_t *p = code->text + (addr - code->start);
	uintptr_t at, behind = addr + LEA_LEN;
	struct tl_insn lea, store;
	struct sequence s;

	if ((p[2] & ~REG) != 5 || !code->read || !x86_decode_at(code, addr, &lea) ||
		lea.len != LEA_LEN || !x86_decode_at(code, behind, &store) ||
		!stores_descriptor(&store, p[2], lea.rex))
		return false;
	at = (uintptr_t)tl_insn_rip_operand(&lea, addr);
	behind += store.len;
	return !(at & (DESCRIPTOR_ALIGN - 1)) && code->read(at, &s, sizeof(s)) == sizeof(s) &&
	       inside(code, behind) && describes(&s, behind, code->start + code->size - behind) &&
	       ends_there(code, behind, s.length);
}

static void note(struct tl_code *code, const struct tl_insn *i, uintptr_t addr)
{
	uintptr_t target = (uintptr_t)tl_insn_target(i, addr);

	set_bit(code->boundary, addr - code->start);
	/* A call of the next instruction reads its own address; it is a target all the same. */
	if (tl_insn_is_direct_branch(i)) {
		if (inside(code, target))
			set_bit(code->target, target - code->start);
		if (i->flow != TL_FLOW_CALL && target - code->start >= code->size)
			code->port |= X86_PORT_LEAVES;
	}
	/* A jump through the GOT goes to some function's entry: never into the middle of this one. */
	if (i->flow == TL_FLOW_JMP_IND && !x86_is_got_jump(i))
		code->port |= X86_PORT_TABLE;
	if (i->map == 0 && i->opcode == STD)
		code->port |= X86_PORT_DF;
	if (i->flow == TL_FLOW_STOP && is_rseq_signature(i))
		code->port |= X86_PORT_RSEQ;
}

/* What follows the part up to the next one is padding as a whole, or is not ours to use. */
static bool only_padding(const struct tl_code *code)
{
	uintptr_t addr = code->start + code->size, end = addr + code->after;
	struct tl_insn i;

	for (; addr < end; addr += i.len) {
		i.len = 1;
		if (code->text[addr - code->start] != INT3 &&
			(!x86_decode_at(code, addr, &i) || !tl_insn_is_padding(&i)))
			return false;
	}
	return true;
}

static void mark_target(void *arg, uintptr_t target)
{
	struct tl_code *code = arg;

	if (inside(code, target))
		set_bit(code->target, target - code->start);
}

/* Once all boundaries are known: where do the indirect jumps go? */
static void resolve_tables(struct tl_code *code)
{
	struct tl_insn i;

	for (size_t n = 0; n < code->size; n++) {
		uintptr_t addr = code->start + n;

		if (!bit(code->boundary, n) || !x86_decode_at(code, addr, &i) ||
			i.flow != TL_FLOW_JMP_IND)
			continue;
		if (!x86_is_got_jump(&i) && !x86_switch_targets(code, &i, addr, mark_target, code))
			code->indirect = true;
	}
	code->indirect = code->indirect && !x86_only_leaves(code);
}

/*
 * Is the next instruction entered in a way that is not seen here? What stands behind the end of a block is there for
 * somebody, such as __morestack, who enters the function behind the return that follows its call. Compilers never let
 * control fall into a landing pad: it follows a jump, a return, or a call that does not return.
 */
static bool may_precede_entry(const struct tl_code *code, const struct tl_insn *i)
{
	return tl_insn_ends_block(i) ||
	       (code->hidden_pads && (i->flow == TL_FLOW_CALL || i->flow == TL_FLOW_CALL_IND));
}

/*
 * Is it a place that a jump may lead to: an instruction, or one without its
 * prefixes (the C library jumps past `lock`)? What finds jumps between
 * functions without decoding finds some that are none.
 */
static bool may_be_target(const struct tl_code *code, uintptr_t addr)
{
	uintptr_t start = addr;
	struct tl_insn i;

	while (start > code->start && !bit(code->boundary, start - code->start))
		start--;
	return start == addr || !x86_decode_at(code, start, &i) || addr - start <= i.prefix_len;
}

/* Of a part that was decoded up to `end`. */
static void mark_pads(struct tl_code *code, uintptr_t end)
{
	for (size_t n = 0; n < code->npads; n++)
		if (inside(code, code->pads[n]) &&
			(code->pads[n] >= end || may_be_target(code, code->pads[n])))
			set_bit(code->target, code->pads[n] - code->start);
}

/*
 * nop; call: Go's runtime.goexit. Every goroutine begins with the address of
 * the call as its return address, planted there by the scheduler.
 */
static void mark_planted(struct tl_code *code)
{
	struct tl_insn i;

	if (code->size > 1 && x86_decode_at(code, code->start, &i) && i.len == 1 && i.map == 0 &&
		i.opcode == NOP && x86_decode_at(code, code->start + 1, &i) &&
		i.flow == TL_FLOW_CALL)
		set_bit(code->target, 1);
}

/* The length of an instruction that there is nothing to note of but where it starts; 0: look closer. */
static unsigned plain(const struct tl_code *code, uintptr_t addr)
{
	unsigned len = tl_insn_plain(code->text + (addr - code->start));

	return len <= code->start + code->size - addr ? len : 0;
}

/* Nor of a direct branch but that, and where it leads. */
static bool branch(const struct tl_code *code, uintptr_t addr, struct tl_insn *i)
{
	unsigned len = tl_insn_branch(i, code->text + (addr - code->start));

	return len && len <= code->start + code->size - addr;
}

int tl_arch_code_walk(struct tl_code *code)
{
	uintptr_t addr = code->start, end = code->start + code->size;
	bool entry = false, falls = true, called = false;
	struct tl_insn i;
	unsigned len;

	clear(code);
	if (!only_padding(code))
		code->after = 0;
	while (addr < end) {
		if (code->text[addr - code->start + 1] == LEA && announces_sequence(code, addr))
			code->port |= X86_PORT_RSEQ;
		if (!entry && (len = plain(code, addr))) {
			set_bit(code->boundary, addr - code->start);
			falls = true;
			called = false;
			addr += len;
			continue;
		}
		if ((entry || !branch(code, addr, &i)) &&
			(!x86_decode_at(code, addr, &i) || addr + i.len > end)) {
			code->indirect = code->port & X86_PORT_TABLE;
			mark_pads(code, addr);
			return -TL_E_BAD_INSN;
		}
		note(code, &i, addr);
		if (i.flow != TL_FLOW_TRAP)
			falls = !tl_insn_ends_block(&i);
		else if (falls)
			code->port |= X86_PORT_BREAK;
		if (entry && !tl_insn_is_padding(&i)) {
			set_bit(code->target, addr - code->start);
			entry = false;
		}
		entry = entry || may_precede_entry(code, &i);
		addr += i.len;
		/* __morestack goes on behind such a return, be it padding that stands there. */
		if (called && i.flow == TL_FLOW_RET && addr < end)
			set_bit(code->target, addr - code->start);
		called = i.flow == TL_FLOW_CALL;
	}
	mark_pads(code, addr);
	mark_planted(code);
	if (code->port & X86_PORT_TABLE)
		resolve_tables(code);
	code->complete = true;
	return 0;
}

/* --- code behind a part ------------------------------------------------------ */

static bool goes_on(const struct tl_insn *i)
{
	return !tl_insn_ends_block(i) && i->flow != TL_FLOW_CALL && i->flow != TL_FLOW_CALL_IND &&
	       i->flow != TL_FLOW_TRAP;
}

/* Of the instructions in front of it. */
static bool jumped_to(const struct tl_code *code, uintptr_t addr)
{
	struct tl_insn i;

	for (uintptr_t a = code->start; a < addr && x86_decode_at(code, a, &i); a += i.len)
		if ((i.flow == TL_FLOW_JMP || i.flow == TL_FLOW_JCC) &&
			(uintptr_t)tl_insn_target(&i, a) == addr)
			return true;
	return false;
}

size_t tl_arch_code_reached(const struct tl_code *code, size_t known)
{
	uintptr_t addr = code->start, from = addr + known, end = code->start + code->size;
	bool falls = !known;
	struct tl_insn i;

	for (; addr < end; addr += i.len, falls = goes_on(&i)) {
		if (addr >= from && !falls && !jumped_to(code, addr))
			break;
		if (!x86_decode_at(code, addr, &i) || addr + i.len > end)
			break;
		if (addr < from && addr + i.len > from)
			break;
	}
	return addr > from ? addr - code->start : known;
}

struct leaving {
	const struct tl_code *code;
	void (*fn)(void *arg, uintptr_t target);
	void *arg;
};

static void leave(void *arg, uintptr_t target)
{
	const struct leaving *l = arg;

	if (target - l->code->start >= l->code->size)
		l->fn(l->arg, target);
}

void tl_arch_code_leaves(
	const struct tl_code *code, void (*fn)(void *arg, uintptr_t target), void *arg)
{
	struct leaving l = {code, fn, arg};
	struct tl_insn i;

	if (!(code->port & (X86_PORT_LEAVES | X86_PORT_TABLE)))
		return;
	for (size_t n = 0; n < code->size; n++) {
		uintptr_t addr = code->start + n;

		if (!bit(code->boundary, n) || !x86_decode_at(code, addr, &i))
			continue;
		if (i.flow == TL_FLOW_JCC || i.flow == TL_FLOW_JMP)
			leave(&l, (uintptr_t)tl_insn_target(&i, addr));
		else if (i.flow == TL_FLOW_JMP_IND && !x86_is_got_jump(&i))
			x86_switch_targets(code, &i, addr, leave, &l);
	}
}

/* lea place(%rip), register */
void tl_arch_code_names(const struct tl_code *code, void (*fn)(void *arg, uintptr_t at), void *arg)
{
	struct tl_insn i;

	for (size_t n = 0; n < code->size; n++) {
		uintptr_t addr = code->start + n;

		if (bit(code->boundary, n) && x86_decode_at(code, addr, &i) && i.map == 0 &&
			i.opcode == 0x8d && (i.flags & TL_INSN_RIP_REL))
			fn(arg, (uintptr_t)tl_insn_rip_operand(&i, addr));
	}
}

int tl_arch_can_probe(const struct tl_code *code, uintptr_t addr)
{
	struct tl_insn i;

	if (addr - code->start >= code->size || !x86_is_boundary(code, addr))
		return -TL_E_NOT_BOUNDARY;
	if (!x86_decode_at(code, addr, &i))
		return -TL_E_BAD_INSN;
	/* The entry is safe: a sequence has to be announced first. */
	if (addr != code->start && (code->port & X86_PORT_RSEQ))
		return -TL_E_IN_RSEQ;
	return x86_can_move(&i);
}
