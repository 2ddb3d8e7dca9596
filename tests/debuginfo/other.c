/* SPDX-License-Identifier: MIT
 * The second file of the fixture: what facts.c only declares.
 */
struct opaque {
	int secret;
	struct opaque *self;
};

extern struct opaque *hidden_one;
static struct opaque the_one = {99, &the_one};
int other_number = 7;
static long file_number = 143;

/* Same name as in facts.c, another function. */
static int only_here(int n)
{
	hidden_one = &the_one;
	return n - (int)file_number;
}

int other_entry(int n);
int other_entry(int n)
{
	file_number++;
	return only_here(n) + only_here(n + 1);
}
