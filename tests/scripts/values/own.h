/* SPDX-License-Identifier: MIT */
void fresh(int n); /* touches none of the variables */
void use(int n);
extern __thread int shown;
