/* Containers of an engine that runs without root: no GPU can be leased to them. */
#ifndef JNVDOCKER_ROOTLESS_H
#define JNVDOCKER_ROOTLESS_H

#include <stdbool.h>

#include "query.h"
#include "need.h"

/* Whether this is a user namespace of another user, in which root, the owner of this program, is mapped to nobody. */
bool is_rootless(void);
/*
 * Refuses a container that requests GPUs or brings their nodes. One that is privileged brings all nodes without
 * requesting any: it is CHANGED so that /dev/null is mounted over those of GPUs.
 */
struct answer answer_rootless(const struct texts *texts);
/* The refusal; the reason is what the container has. */
struct answer refused_rootless(const char *reason);

#endif
