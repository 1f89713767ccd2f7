/* Help and versions, as far as they need no daemon: docker's text and ours. */
#ifndef JNVDOCKER_HELP_H
#define JNVDOCKER_HELP_H

#include <stdbool.h>

/*
 * Has docker print its text in full, and prints ours behind it on the same stream: if docker succeeds, or in any case.
 * Docker's version fails where no engine answers.
 */
void add(int stream, bool always, const char *text, int argc, char **argv) __attribute__((noreturn));
/* Prints docker's list of commands, and ours behind it. */
void help(int argc, char **argv) __attribute__((noreturn));
/* Prints the help that is requested and ends the program, if any is: help starts no daemon. */
void help_without_daemon(int argc, char **argv);

#endif
