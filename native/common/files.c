#define _GNU_SOURCE
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base.h"

static enum file_state read_all(int file, size_t limit, struct buffer *into)
{
	char bytes[16384];

	while (into->length <= limit) {
		ssize_t count = read(file, bytes, sizeof bytes);

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return count == 0 ? FILE_READ : FILE_UNREADABLE;
		put_bytes(into, bytes, count);
	}
	return FILE_TOO_LONG;
}

enum file_state read_file(int directory, const char *path, int flags, size_t limit, struct buffer *into, struct stat *status)
{
	enum file_state state = FILE_UNREADABLE;
	/* A pipe in the place of a file must not block us. */
	int file = fd_above_stdio(openat(directory, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags));

	if (file < 0)
		return FILE_UNREADABLE;
	if (fstat(file, status) == 0)
		state = S_ISREG(status->st_mode) ? read_all(file, limit, into) : FILE_IRREGULAR;
	int reason = errno;
	close(file);
	errno = reason;
	return state;
}
