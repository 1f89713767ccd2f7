/* Which containers concern the daemon, judging by the texts about them, without parsing JSON. */
#ifndef JNVDOCKER_NEED_H
#define JNVDOCKER_NEED_H

#include <stdbool.h>

#include "frames.h"

/* The texts about a container: config.json, and docker's two files about it, empty if there are none. */
struct texts {
	struct buffer config, container, host;
};

/*
 * Whether they contain anything that concerns GPUs. A wrong yes costs a query; a wrong no would start a
 * container with GPUs that nobody has leased.
 */
bool may_need_gpus(const struct texts *texts);
/*
 * Calls back with each value of that name that is a plain string, until the callback returns true.
 *
 * name: with its quotes
 */
bool each_string(const struct buffer *text, const char *name, bool (*found)(void *, const char *, size_t), void *argument);
/* The beginning of the next value of that name, with its quotes, in this range; NULL if there is none. */
const char *next_value(const char *at, const char *end, const char *name);
/* The path of a container's root in its config.json, as it is spelled there; NULL if there is none. */
const char *root_path(const struct buffer *config, size_t *length);

#endif
