/* SPDX-License-Identifier: MIT */
#ifndef TRAPLESS_RUNNER_COVERAGE_COVERAGE_H
#define TRAPLESS_RUNNER_COVERAGE_COVERAGE_H

/*
 * `--coverage FILE`: how much of FILE can be probed, on standard output.
 * `functions`: a file of lines `ADDRESS SIZE` (hex) with the functions that
 * symbols name, NULL: only .eh_frame is known. `listing`: a line for each
 * instruction, too. Returns the exit status.
 */
int coverage_main(const char *path, const char *functions, int listing);

#endif
