#define _GNU_SOURCE
#include "remarks.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base.h"

/* The kernel accepts 128 KiB in a variable. A launch prints one to three lines. */
enum { MAX_KEPT = 16 << 10 };
/* How many bytes of the first remark are compared to determine whether it is still there. */
enum { COMPARED = 128 };
/* The fetcher starts within a second, even where it then downloads for minutes. */
enum { FETCHER_MS = 10000 };

/* Appends, as the agent opened the file: otherwise the next write would leave a hole in an emptied file. */
static bool can_be_emptied(void)
{
	struct stat status;
	int flags = fcntl(2, F_GETFL);

	return flags >= 0 && (flags & O_APPEND) != 0 && fstat(2, &status) == 0 && S_ISREG(status.st_mode);
}

static void write_out(struct remarks *remarks, const char *bytes, size_t length, bool first)
{
	remark(bytes, length);
	if (first && remarks->file >= 0)
		remarks->at = lseek(2, 0, SEEK_CUR) - (off_t)length;
}

static bool is_lost(const struct remarks *remarks)
{
	char found[COMPARED];
	size_t length = remarks->said.length < COMPARED ? remarks->said.length : COMPARED;

	if (remarks->file < 0 || length == 0 || remarks->at < 0)
		return false;
	return pread(remarks->file, found, length, remarks->at) != (ssize_t)length ||
	       memcmp(found, remarks->said.data, length) != 0;
}

static void renew(struct remarks *remarks)
{
	if (is_lost(remarks))
		write_out(remarks, remarks->said.data, remarks->said.length, true);
}

void say(struct remarks *remarks, const char *bytes, size_t length)
{
	bool first = remarks->said.length == 0;

	renew(remarks);
	if (remarks->said.length + length <= MAX_KEPT)
		put_bytes(&remarks->said, bytes, length);
	write_out(remarks, bytes, length, first);
}

static void receive_remark(struct listener *listener, const char *bytes, size_t length)
{
	say((struct remarks *)listener, bytes, length);
}

static void idle(struct listener *listener)
{
	renew((struct remarks *)listener);
}

void open_remarks(struct remarks *remarks)
{
	*remarks = (struct remarks){ .listener = { .receive = receive_remark, .idle = idle }, .file = -1 };
	if (can_be_emptied())
		remarks->file = fd_above_stdio(open("/proc/self/fd/2", O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
}

void hand_on(const struct remarks *remarks)
{
	if (remarks->said.length == 0)
		return;
	char *text = joined("%.*s", (int)remarks->said.length, remarks->said.data);
	setenv(REMARKS_VARIABLE, text, 1);
	free(text);
}

void forget(struct remarks *remarks)
{
	remarks->said.length = 0;
}

void outlast_fetcher(struct remarks *remarks, int pipe)
{
	const long deadline = milliseconds() + FETCHER_MS;

	while (remarks->file >= 0 && !is_lost(remarks) && milliseconds() < deadline) {
		struct pollfd word = { .fd = pipe, .events = POLLIN };

		if (poll(&word, 1, IDLE_MS) > 0)
			break;
	}
	renew(remarks);
}
