/*
 * Messages to the task's user while the agent still prepares the launch. At some moment during that, the agent's
 * fetcher empties the sandbox's stderr, so earlier messages are written again.
 */
#ifndef JNVDOCKER_REMARKS_H
#define JNVDOCKER_REMARKS_H

#include <sys/types.h>

#include "query.h"
#include "frames.h"

/* Hands the remarks on to jnvdocker-prestart, which runs after the fetcher. */
#define REMARKS_VARIABLE "JNVDOCKER_REMARKS"

struct remarks {
	struct listener listener; /* receives the daemon's remarks and writes them; must come first */
	struct buffer said;       /* as much as is kept; the rest is written only once */
	int file;                 /* standard error, open for reading; -1 if nobody can empty it */
	off_t at;                 /* where the first remark was written */
};

void open_remarks(struct remarks *remarks);
/* Writes a remark to standard error and keeps it. */
void say(struct remarks *remarks, const char *bytes, size_t length);
/* Stores the remarks in the environment, for jnvdocker-prestart. */
void hand_on(const struct remarks *remarks);
/* Has hand_on store nothing of what was said until now. */
void forget(struct remarks *remarks);
/*
 * Called where no jnvdocker-prestart follows: waits until the fetcher has emptied standard error, then writes the remarks
 * again. The agent writes to the pipe when the fetcher is done.
 */
void outlast_fetcher(struct remarks *remarks, int pipe);

#endif
