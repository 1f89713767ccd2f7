/* One exchange with the daemon: the request, and the frames that the client obeys. */
#ifndef JNVDOCKER_EXCHANGE_H
#define JNVDOCKER_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

/* The reason to send the request to the daemon once more. */
enum reason {
	UNANSWERED,       /* nothing received, so nothing has been done yet; or not all by a job, which nobody repeats */
	WENT_AWAY,        /* during a watch, or while we were queued, where our place is kept */
	REPEAT,           /* as the daemon ordered */
};

/*
 * Sends a typed command.
 *
 * docker: the words that stand for docker
 */
void send_request(int connection, char **docker, char **argv);
/*
 * Returns only when the request must be sent once more, with the reason.
 *
 * faithful: whether to come back to a daemon that goes away
 * pause: with REPEAT, set to the milliseconds to wait before that
 */
enum reason obey(int connection, bool faithful, uint32_t *pause);

#endif
