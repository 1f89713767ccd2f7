/* Containers of an engine that runs without root: no GPU can be leased to them. */
#ifndef JNVDOCKER_ROOTLESS_H
#define JNVDOCKER_ROOTLESS_H

#include <stdbool.h>

#include "ask.h"
#include "need.h"

/* Whether root, who has installed this program, is nobody here: in the user namespace of another user. */
bool is_rootless(void);
/*
 * Refuses a container that asks for GPUs or brings their nodes. One that is privileged brings all nodes without asking
 * for any: it is CHANGED to have no GPU behind theirs.
 */
struct answer answer_rootless(const struct texts *texts);
/* The refusal; the reason is what the container has. */
struct answer refused_rootless(const char *reason);

#endif
