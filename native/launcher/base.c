#define _GNU_SOURCE
#include "base.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void die(const char *format, ...)
{
	va_list arguments;

	fputs("jnvdocker: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(failure_code);
}

void *allocate(void *old, size_t size)
{
	void *memory = realloc(old, size);

	if (memory == NULL)
		die("out of memory for %zu bytes; free some and try again", size);
	return memory;
}

char *joined(const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		die("out of memory; free some and try again");
	va_end(arguments);
	return text;
}

bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

int above_standard(int descriptor)
{
	if (descriptor < 0 || descriptor > 2)
		return descriptor;
	int raised = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
	close(descriptor);
	return raised;
}

bool write_all(int descriptor, const char *bytes, size_t length)
{
	while (length > 0) {
		ssize_t count = write(descriptor, bytes, length);

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0 && errno == EAGAIN) {
			/* The stream is shared with somebody who would rather not wait. */
			struct pollfd room = { .fd = descriptor, .events = POLLOUT };

			poll(&room, 1, -1);
			continue;
		}
		if (count < 0)
			return false;
		bytes += count;
		length -= count;
	}
	return true;
}

void remark(const char *bytes, size_t length)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct sigaction inherited;

	sigaction(SIGPIPE, &ignore, &inherited);
	write_all(2, bytes, length);
	sigaction(SIGPIPE, &inherited, NULL);
}

long milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000L + now.tv_nsec / 1000000;
}
