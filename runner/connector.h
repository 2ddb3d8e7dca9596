/* SPDX-License-Identifier: MIT */
/* The kernel's process connector: root in the first namespaces is told of each fork and exec. */
#ifndef TRAPLESS_RUNNER_CONNECTOR_H
#define TRAPLESS_RUNNER_CONNECTOR_H

#include <stdbool.h>
#include <sys/types.h>

/* A descriptor to poll, or -1: not here, or not for us. */
int connector_open(void);
/* Each process that was born or has become another program. false: some news were lost. */
bool connector_read(int fd, void (*news)(pid_t pid));

#endif
