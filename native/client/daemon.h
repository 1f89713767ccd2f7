/* Connecting to the daemon, waiting for one, and what is done without one. */
#ifndef JNVDOCKER_DAEMON_H
#define JNVDOCKER_DAEMON_H

#include <stdbool.h>

#include "frames.h"

/* The typed command, if docker may run it without a daemon; else argv is NULL. */
extern struct gpu_free_command {
	int argc;
	char **argv;
	int verb; /* the index of run or create */
} gpu_free_command;
/* What is printed for the shell if the daemon does not complete the word; NULL for any command but a completion. */
extern const char *without_daemon;
/*
 * Whether this is the client of jnvdockerd --proxy: it waits for GPUs as long as the proxy keeps its input open, and
 * starts no daemon, which would have the rights of the proxy.
 */
extern bool waits_for_proxy;
/* The daemon that was connected to last. */
extern struct server server;

char *run_directory(void);
char *socket_path(void);
/* A connected socket, or -1 with errno. */
int try_connect(const char *path);
/* A connection to the daemon, which is started if need be; ends the program where there is none. */
int connect_daemon(int argc, char **argv);
/*
 * A connection to the daemon once it is back, for a watch or for our place in its queue; -1 when it does not come
 * back. The user that stopped it starts it again, or systemd does; after a while root's client starts one, as for
 * any request.
 */
int await_return(void);
/*
 * Whether this is the process of a job's unit, which systemd has started: a job is not submitted once more by anybody,
 * so it waits for the daemon however long that takes. What a job starts has the variable, too.
 */
bool is_job(void);
void die_if_abandoned(void);
void die_deserted(void) __attribute__((noreturn));
/*
 * Ends the program because no daemon can be reached: with a refusal, or as docker; the container then gets no GPU,
 * whatever its image requests and whatever runtime the engine has.
 */
void die_unserved(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
