/* Asking the daemon for one text: what a program that stands before another one is to hand on. */
#ifndef JNVDOCKER_ASK_H
#define JNVDOCKER_ASK_H

#include <stdbool.h>
#include <stddef.h>

/* How often a listener is called while the daemon says nothing. */
enum { LOOK_MS = 200 };

/* How it went with the daemon. */
struct answer {
	enum { UNCHANGED, CHANGED, FAILED } kind;
	char *text; /* the new one, or why there is none */
};

/* How a program calls things when it says what went wrong. */
struct words {
	const char *program; /* who asks: "mesos-containerizer" */
	const char *text;    /* what is asked for: "launch info" */
	const char *install; /* what lays out the program anew: "jnvdocker mesos install" */
	const char *again;   /* what to do when the reason is mended: "run the task again" */
};

/* Takes what the daemon remarks. */
struct listener {
	void (*hear)(struct listener *listener, const char *bytes, size_t length);
	/* Called every LOOK_MS while the daemon says nothing. */
	void (*idle)(struct listener *listener);
};

struct question {
	const struct words *words;
	const char *socket;
	char *const *arguments;
	char *const *variables;
	/*
	 * For how long the daemon may say nothing, or, in all, until it has said everything. In all, the time in
	 * which there was no daemon is not its own.
	 */
	long patience_ms;
	bool in_all;
	/* Keeps to itself what the daemon remarks. */
	bool silent;
	/* Takes what the daemon remarks; without it that goes to standard error. */
	struct listener *listener;
	/* For how long to wait for a daemon that is not there. */
	long return_ms;
};

/*
 * Asks until there is an answer. A daemon that was stopped just as we asked has done nothing, and one in
 * whose line we are keeps our place: then the next one is asked. One that refuses has FAILED, in its words.
 */
struct answer ask(const struct question *question);
struct answer failed(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
