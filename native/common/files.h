/* Reading a file that another user may have put there. */
#ifndef JNVDOCKER_FILES_H
#define JNVDOCKER_FILES_H

#include <stddef.h>
#include <sys/stat.h>

#include "frames.h"

/* The outcome. For FILE_UNREADABLE errno has the reason. */
enum file_state { FILE_READ, FILE_UNREADABLE, FILE_IRREGULAR, FILE_TOO_LONG };

/*
 * Reads a whole file, if it is no longer than the limit: never truncates.
 *
 * directory: the directory that the path starts from, or AT_FDCWD
 * flags: O_NOFOLLOW or 0
 * status: the status of the opened file
 */
enum file_state read_file(int directory, const char *path, int flags, size_t limit, struct buffer *into, struct stat *status);

#endif
