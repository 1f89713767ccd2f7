/* Telling an engine why a container is not created. */
#ifndef JNVDOCKER_REFUSAL_H
#define JNVDOCKER_REFUSAL_H

#include "call.h"

/* Says it in the runtime's log, which docker reads, and on standard error, which podman reads, and ends with 1. */
void refuse(const struct call *call, const char *reason) __attribute__((noreturn));

#endif
