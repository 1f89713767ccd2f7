/* Lists of GPUs in containers. */
#ifndef JNVDOCKER_GPUS_H
#define JNVDOCKER_GPUS_H

/*
 * Leaves only the named ones of the directories in DIRECTORY of a container whose root is ROOT, in the mount namespace
 * of the caller. Prints why it cannot; the container has all of them then, as without us.
 *
 * words: ROOT, DIRECTORY relative to it, NAME...; ends with NULL
 */
void show_own_gpus(char *const *words);

#endif
