/* SPDX-License-Identifier: MIT */
/*
 * Functions of one instruction that is turned into another one: mov $1,%eax; ret becomes a jump to mov $2,%eax; ret. Each
 * lies at another offset from an aligned word, as far as its five bytes stay in one.
 */
#include <string.h>

#include "../machine.h"

enum {
	OTHER = 2048, /* in the page */
	STUBS = 3072,
	STUB_BYTES = 16,
	PLACES = 4,
	ENTRY = 64,
	MOV_EAX = 0xb8,
	JMP = 0xe9,
	RET = 0xc3
};

void machine_turn(uint8_t *page, unsigned i, bool turned)
{
	uint8_t *at = page + i * ENTRY, w[8];
	int32_t arg = turned ? (int32_t)((page + OTHER) - (at + i + 5)) : 1;
	uint64_t word;

	memcpy(w, at, 8);
	w[i] = turned ? JMP : MOV_EAX;
	memcpy(w + i + 1, &arg, 4);
	memcpy(&word, w, 8);
	__atomic_store_n((uint64_t *)(void *)at, word, __ATOMIC_RELEASE);
}

unsigned machine_turned_write(uint8_t *page)
{
	memset(page, RET, TURNED_BYTES);
	memcpy(page + OTHER, "\xb8\x02\x00\x00\x00\xc3", 6);
	for (unsigned i = 0; i < PLACES; i++) {
		uint8_t *stub = page + STUBS + i * STUB_BYTES;
		int32_t rel = (int32_t)(page + i * ENTRY + i - (stub + 7));

		machine_turn(page, i, false);
		memcpy(stub, "\x31\xc0\xe9",
			3); /* xor %eax,%eax: whoever sets nothing returns 0; jmp */
		memcpy(stub + 3, &rel, 4);
	}
	return PLACES;
}

int machine_turned_call(uint8_t *page, unsigned i)
{
	return ((int (*)(void))(uintptr_t)(page + STUBS + i * STUB_BYTES))();
}
