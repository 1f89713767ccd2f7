/* Which of the commands that a user types concern the daemon, judging by their words. */
#ifndef JNVDOCKER_COMMAND_H
#define JNVDOCKER_COMMAND_H

#include <stdbool.h>

/* The index of docker's command among the arguments, after the global options. */
int first_operand(int argc, char **argv);
/* Whether it is a group of our own commands. */
bool is_our_own(const char *word);
/* Whether it is 'volume setup' of nvidia-docker 1.0's first releases, which made the driver volume. */
bool is_volume_setup(int argc, char **argv, int word);
/*
 * Whether the daemon decides on the command: one that starts or creates a container, or one of our own. A wrong yes
 * costs a query; a wrong no would start a container without its GPUs.
 */
bool concerns_daemon(int argc, char **argv);
/* The index of run or create among the arguments, if the word there concerns the daemon. */
int verb_of(int word, char **argv);
/* Whether the help text of all of docker's commands is requested. */
bool is_help(int argc, char **argv);
/* Whether neither the arguments nor the environment can concern GPUs. A wrong no refuses a container. */
bool is_harmless(char **argv);

#endif
