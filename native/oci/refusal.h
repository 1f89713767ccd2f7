/* Reporting to an engine why a container is not created. */
#ifndef JNVDOCKER_REFUSAL_H
#define JNVDOCKER_REFUSAL_H

#include "call.h"

/*
 * Writes it to the runtime's log, which docker reads, and to standard error, which podman reads, and exits with 1.
 */
void refuse(const struct call *call, const char *reason) __attribute__((noreturn));

#endif
