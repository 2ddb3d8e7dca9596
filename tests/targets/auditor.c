// SPDX-License-Identifier: MIT
// An auditor of the loader (LD_AUDIT), to be linked with plugged.c: it calls that once, when the program is about to begin.
long plugged(long a);
unsigned int la_version(unsigned int version);
void la_preinit(unsigned long *cookie);

unsigned int la_version(unsigned int version)
{
	return version;
}

void la_preinit(unsigned long *cookie)
{
	(void)cookie;
	plugged(1000);
}
