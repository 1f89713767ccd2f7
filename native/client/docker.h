/* The docker program, and becoming it. */
#ifndef JNVDOCKER_DOCKER_H
#define JNVDOCKER_DOCKER_H

#include <stdbool.h>

/* The variable that counts the programs that are run in place of docker. */
#define ROUNDS "JNVDOCKER_ROUNDS"

/*
 * Counts how often docker and this program have run each other: a script named docker that runs us in place of the
 * real docker would do so for ever. Ends the program when that is clear.
 */
void count_rounds(void);
/*
 * The words that stand for docker: NV_DOCKER's, else docker itself. Docker may be missing where it is not needed:
 * our own commands are useful on a host without it.
 */
char **docker_command(bool needed);
/* The docker command as typed, terminated by NULL. */
char **typed_docker(int argc, char **argv);
void become(char **argv) __attribute__((noreturn));
void become_docker(int argc, char **argv) __attribute__((noreturn));

#endif
