/* Running the programs that the daemon orders, mostly docker, with the user's rights. */
#ifndef JNVDOCKER_CALL_H
#define JNVDOCKER_CALL_H

#include "frames.h"

/* Runs a program to its end and sends its result. */
void call(int connection, struct reader payload);
/*
 * Like call, for output of any length: sends it in pieces on the daemon's request, so that neither side ever waits
 * for the other to read. If the daemon has had enough, the program is ended; a program that has closed its output
 * ends by itself, for its exit code.
 */
void stream(int connection, struct reader payload);

#endif
