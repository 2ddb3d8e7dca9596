/* SPDX-License-Identifier: MIT */
/* What instructions take of a processor (features.txt), and what this one says that it has. */
#define _GNU_SOURCE
#include <cpuid.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ab.h"

enum reg { A, B, C, D };

/* Where two have one name, either will do. What is not here excuses nothing. */
static const struct feature {
	const char *name;
	uint32_t leaf, sub;
	uint8_t reg, bit;
} features[] = {
	{"INTEL", 0, 0, B, 1}, /* of its name */
	{"SSE3", 1, 0, C, 0},
	{"PCLMULQDQ", 1, 0, C, 1},
	{"MONITOR", 1, 0, C, 3},
	{"VMX", 1, 0, C, 5},
	{"SMX", 1, 0, C, 6},
	{"SSSE3", 1, 0, C, 9},
	{"FMA", 1, 0, C, 12},
	{"SSE4_1", 1, 0, C, 19},
	{"SSE4_2", 1, 0, C, 20},
	{"MOVBE", 1, 0, C, 22},
	{"POPCNT", 1, 0, C, 23},
	{"AES", 1, 0, C, 25},
	{"XSAVE", 1, 0, C, 27}, /* as the kernel lets be used */
	{"AVX", 1, 0, C, 28},
	{"F16C", 1, 0, C, 29},
	{"RDRAND", 1, 0, C, 30},
	{"FSGSBASE", 7, 0, B, 0},
	{"SGX1", 7, 0, B, 2},
	{"BMI1", 7, 0, B, 3},
	{"AVX2", 7, 0, B, 5},
	{"BMI2", 7, 0, B, 8},
	{"RTM", 7, 0, B, 11},
	{"HLE_OR_RTM", 7, 0, B, 4},
	{"HLE_OR_RTM", 7, 0, B, 11},
	{"AVX512F", 7, 0, B, 16},
	{"AVX512DQ", 7, 0, B, 17},
	{"RDSEED", 7, 0, B, 18},
	{"ADX", 7, 0, B, 19},
	{"SMAP", 7, 0, B, 20},
	{"AVX512_IFMA", 7, 0, B, 21},
	{"CLFLUSHOPT", 7, 0, B, 23},
	{"CLWB", 7, 0, B, 24},
	{"AVX512PF", 7, 0, B, 26},
	{"AVX512ER", 7, 0, B, 27},
	{"AVX512CD", 7, 0, B, 28},
	{"SHA", 7, 0, B, 29},
	{"AVX512BW", 7, 0, B, 30},
	{"AVX512VL", 7, 0, B, 31},
	{"PREFETCHWT1", 7, 0, C, 0},
	{"AVX512_VBMI", 7, 0, C, 1},
	{"PKU", 7, 0, C, 4}, /* as the kernel lets be used */
	{"WAITPKG", 7, 0, C, 5},
	{"AVX512_VBMI2", 7, 0, C, 6},
	{"CET_SS", 7, 0, C, 7},
	{"GFNI", 7, 0, C, 8},
	{"VAES", 7, 0, C, 9},
	{"VPCLMULQDQ", 7, 0, C, 10},
	{"AVX512_VNNI", 7, 0, C, 11},
	{"AVX512_BITALG", 7, 0, C, 12},
	{"AVX512_VPOPCNTDQ", 7, 0, C, 14},
	{"RDPID", 7, 0, C, 22},
	{"KL", 7, 0, C, 23},
	{"MOVDIRI", 7, 0, C, 27},
	{"MOVDIR64B", 7, 0, C, 28},
	{"ENQCMD", 7, 0, C, 29},
	{"AVX512_4VNNIW", 7, 0, D, 2},
	{"AVX512_4FMAPS", 7, 0, D, 3},
	{"UINTR", 7, 0, D, 5},
	{"AVX512_VP2INTERSECT", 7, 0, D, 8},
	{"SERIALIZE", 7, 0, D, 14},
	{"TSXLDTRK", 7, 0, D, 16},
	{"PCONFIG", 7, 0, D, 18},
	{"AMX_BF16", 7, 0, D, 22},
	{"AVX512_FP16", 7, 0, D, 23},
	{"AMX_TILE", 7, 0, D, 24},
	{"AMX_INT8", 7, 0, D, 25},
	{"SHA512", 7, 1, A, 0},
	{"SM3", 7, 1, A, 1},
	{"SM4", 7, 1, A, 2},
	{"RAO_INT", 7, 1, A, 3},
	{"AVX_VNNI", 7, 1, A, 4},
	{"AVX512_BF16", 7, 1, A, 5},
	{"CMPCCXADD", 7, 1, A, 7},
	{"FRED", 7, 1, A, 17},
	{"LKGS", 7, 1, A, 18},
	{"WRMSRNS", 7, 1, A, 19},
	{"AMX_FP16", 7, 1, A, 21},
	{"HRESET", 7, 1, A, 22},
	{"AVX_IFMA", 7, 1, A, 23},
	{"MSRLIST", 7, 1, A, 27},
	{"MOVRS", 7, 1, A, 31},
	{"TSE", 7, 1, B, 1},
	{"AVX_VNNI_INT8", 7, 1, D, 4},
	{"AVX_NE_CONVERT", 7, 1, D, 5},
	{"AMX_COMPLEX", 7, 1, D, 8},
	{"AVX_VNNI_INT16", 7, 1, D, 10},
	{"USER_MSR", 7, 1, D, 15},
	{"APX_F", 7, 1, D, 21},
	{"XSAVEOPT", 0xd, 1, A, 0},
	{"XSAVEC", 0xd, 1, A, 1},
	{"XSAVES", 0xd, 1, A, 3},
	{"PTWRITE", 0x14, 0, B, 4},
	{"AESKLE", 0x19, 0, B, 0},
	{"WIDE_KL", 0x19, 0, B, 2},
	{"SVM", 0x80000001, 0, C, 2},
	{"SKINIT_OR_SVM", 0x80000001, 0, C, 2},
	{"SKINIT_OR_SVM", 0x80000001, 0, C, 12},
	{"LZCNT", 0x80000001, 0, C, 5},
	{"SSE4A", 0x80000001, 0, C, 6},
	{"XOP", 0x80000001, 0, C, 11},
	{"LWP", 0x80000001, 0, C, 15},
	{"FMA4", 0x80000001, 0, C, 16},
	{"TBM", 0x80000001, 0, C, 21},
	{"MONITORX", 0x80000001, 0, C, 29},
	{"RDTSCP", 0x80000001, 0, D, 27},
	{"D3NOWEXT", 0x80000001, 0, D, 30},
	{"D3NOW", 0x80000001, 0, D, 31},
	{"CLZERO", 0x80000008, 0, B, 0},
	{"INVLPGB", 0x80000008, 0, B, 3},
	{"RDPRU", 0x80000008, 0, B, 4},
	{"MCOMMIT", 0x80000008, 0, B, 8},
	{"SEV_SNP", 0x8000001f, 0, A, 4},
	{"RMPQUERY", 0x8000001f, 0, A, 6},
	{"PADLOCK_RNG", 0xc0000001, 0, D, 3},
	{"PADLOCK_ACE", 0xc0000001, 0, D, 7},
	{"PADLOCK_PHE", 0xc0000001, 0, D, 11},
	{"PADLOCK_PMM", 0xc0000001, 0, D, 13},
};

/* Illegal nevertheless until the kernel has switched it on, for all or for this process. */
static const char *const switched[] = {"AESKLE", "CET_SS", "ENQCMD", "FSGSBASE", "KL", "LWP",
	"SGX1", "SVM", "UINTR", "USER_MSR", "VMX"};

static bool is_set(const struct feature *f)
{
	uint32_t class = f->leaf & 0xc0000000, r[4];

	/* Beyond the last leaf of its class a processor may answer with another one. */
	__cpuid(class, r[A], r[B], r[C], r[D]);
	if (r[A] < f->leaf || (r[A] ^ class) >> 16)
		return false;
	__cpuid_count(f->leaf, f->sub, r[A], r[B], r[C], r[D]);
	return r[f->reg] >> f->bit & 1;
}

static bool is_there(const char *name)
{
	bool known = false;

	for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++) {
		if (strcmp(features[i].name, name))
			continue;
		if (is_set(&features[i]))
			return true;
		known = true;
	}
	return !known;
}

static bool is_switched(const char *name)
{
	if (!strncmp(name, "AMX_", 4))
		return true; /* with AMX_TILE */
	for (size_t i = 0; i < sizeof(switched) / sizeof(switched[0]); i++)
		if (!strcmp(switched[i], name))
			return true;
	return false;
}

/* The line that begins with these bytes, without them. */
static bool find(const char *hex, char *line, int room)
{
	static FILE *f;
	size_t n = strlen(hex);

	f = f ? f : fopen("tests/engine/ab/features.txt", "r");
	if (!f) {
		perror("features.txt");
		exit(2);
	}
	rewind(f);
	while (fgets(line, room, f)) {
		if (!strncmp(line, hex, n) && line[n] == ' ') {
			line[strcspn(line, "\n")] = 0;
			memmove(line, line + n, strlen(line + n) + 1);
			return true;
		}
	}
	return false;
}

/* The first of them that is missing comes first, then what may be off. */
const char *ab_lacking(const uint8_t *bytes, size_t n)
{
	static char line[256], found[64];
	char hex[64];
	char *name, *save;

	for (size_t i = 0; i < n; i++)
		snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
	found[0] = 0;
	if (!find(hex, line, sizeof(line)))
		return NULL;
	for (name = strtok_r(line, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
		if (!is_there(name)) {
			snprintf(found, sizeof(found), "%s", name);
			break;
		}
		if (is_switched(name))
			snprintf(found, sizeof(found), "%s (off)", name);
	}
	return found[0] ? found : NULL;
}
