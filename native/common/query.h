/* Requesting one text from the daemon, for a program that runs before another one and hands the text on. */
#ifndef JNVDOCKER_QUERY_H
#define JNVDOCKER_QUERY_H

#include <stdbool.h>
#include <stddef.h>

/* How often a listener is called while the daemon is silent. */
enum { IDLE_MS = 200 };

/* The outcome of a request. */
struct answer {
	enum { UNCHANGED, CHANGED, FAILED } kind;
	char *text; /* the new one, or why there is none */
};

/* The terms that a program uses in its error messages. */
struct words {
	const char *program; /* the requesting program: "mesos-containerizer" */
	const char *text;    /* the requested text: "launch info" */
	const char *install; /* the command that reinstalls the program: "jnvdocker mesos install" */
	const char *again;   /* what to do when the cause is fixed: "run the task again" */
};

/* Receives the daemon's remarks. */
struct listener {
	void (*receive)(struct listener *listener, const char *bytes, size_t length);
	/* Called every IDLE_MS while the daemon is silent. */
	void (*idle)(struct listener *listener);
};

/* How long containers and tasks wait for a daemon that is being started: a booting host is slow. Tests have less time. */
#ifndef RETURN_MS
#define RETURN_MS 30000
#endif

struct query {
	const struct words *words;
	const char *socket;
	char *const *arguments;
	char *const *variables;
	/*
	 * How long the daemon may be silent, or, in all, until its answer is complete. In all, the time without a
	 * daemon does not count.
	 */
	long patience_ms;
	bool in_all;
	/* Suppresses the daemon's remarks. */
	bool silent;
	/* Receives the daemon's remarks; without it they go to standard error. */
	struct listener *listener;
	/* How long to wait for a daemon that is not running. */
	long return_ms;
};

/*
 * Sends the request to the daemon and returns its answer. A daemon that goes away before it has sent anything has
 * done nothing, and one that has queued us keeps our place: in both cases, unless return_ms is 0, the request is
 * sent to the next daemon, in the first case a few times at most. A refusal is FAILED, with the daemon's message.
 */
struct answer query_daemon(const struct query *query);
struct answer failed(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
