/* Reading a file that somebody else may have put there. */
#ifndef JNVDOCKER_FILES_H
#define JNVDOCKER_FILES_H

#include <stddef.h>
#include <sys/stat.h>

#include "frames.h"

/* How it went. Of FILE_UNREADABLE errno says why. */
enum file_state { FILE_READ, FILE_UNREADABLE, FILE_IRREGULAR, FILE_TOO_LONG };

/*
 * Reads a whole file, if it is no longer than that: nothing is ever cut.
 *
 * folder: what the path starts from, or AT_FDCWD
 * flags: O_NOFOLLOW or 0
 * status: of the file that was opened
 */
enum file_state read_file(int folder, const char *path, int flags, size_t limit, struct buffer *into, struct stat *status);

#endif
