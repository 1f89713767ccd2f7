/* The help on our own commands, for when no daemon answers. */
#ifndef JNVDOCKER_HELP_H
#define JNVDOCKER_HELP_H

#include "frames.h"

/*
 * Reads the help text that this command requests, from the tree of this program. False if the command requests none.
 * Ends the program if there is no such command.
 *
 * words: of the command behind docker's global options, terminated by NULL; the first is run, create or a group of ours
 */
bool read_requested_help(char *const *words, struct buffer *text);

#endif
