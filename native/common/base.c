#define _GNU_SOURCE
#include "base.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_SHOWN = 200 };

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

size_t utf8_character(const unsigned char *at, uint32_t *code)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t length = *at < 0x80 ? 1 : *at < 0xc2 ? 0 : *at < 0xe0 ? 2 : *at < 0xf0 ? 3 : *at < 0xf5 ? 4 : 0;

	*code = length == 1 ? *at : *at & (0x7f >> length);
	for (size_t i = 1; i < length; i++) {
		if ((at[i] & 0xc0) != 0x80) /* also at the terminating zero */
			return 0;
		*code = *code << 6 | (at[i] & 0x3f);
	}
	/* Overlong, half of a surrogate pair, or beyond Unicode. */
	if (*code < least[length] || (*code >= 0xd800 && *code < 0xe000) || *code > 0x10ffff)
		return 0;
	return length;
}

/* Whether a terminal does not act upon a character. */
static bool is_harmless(uint32_t code)
{
	static const struct { uint32_t from, to; } ranges[] = {
		{ 0, 0x1f }, { 0x7f, 0x9f }, { 0xad, 0xad }, { 0x61c, 0x61c }, { 0x180e, 0x180e }, { 0x200b, 0x200f },
		{ 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0xe000, 0xf8ff }, { 0xfeff, 0xfeff }, { 0xfff0, 0xfffb },
		{ 0xe0000, UINT32_MAX },
	};

	for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
		if (code >= ranges[i].from && code <= ranges[i].to)
			return false;
	return true;
}

const char *character_locale(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *locale = getenv(names[i]);

		if (locale != NULL && *locale != '\0')
			return locale;
	}
	return "C";
}

char *shown(const char *text)
{
	const char *locale = character_locale();
	bool utf8 = strcasestr(locale, "UTF-8") != NULL || strcasestr(locale, "UTF8") != NULL;
	const unsigned char *at = (const unsigned char *)text;
	char *result = allocate(NULL, MAX_SHOWN * sizeof "\\u{10ffff}" + sizeof "…");
	char *end = result;

	for (int count = 0; *at != '\0'; count++) {
		uint32_t code;

		if (count == MAX_SHOWN) {
			end = stpcpy(end, utf8 ? "…" : "...");
			break;
		}
		size_t length = utf8_character(at, &code);
		if (length > 0 && is_harmless(code) && (utf8 || code < 0x80))
			end = mempcpy(end, at, length);
		else
			end += sprintf(end, "\\u{%x}", length == 0 ? *at : code);
		at += length == 0 ? 1 : length;
	}
	*end = '\0';
	return result;
}

bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool copy_embedded_path(char *to, const volatile char *from, size_t size)
{
	for (size_t i = 0; i < size; i++)
		to[i] = from[i];
	return to[0] == '/' && memchr(to, '\0', size) != NULL;
}

int fd_above_stdio(int descriptor)
{
	if (descriptor < 0 || descriptor > 2)
		return descriptor;
	int raised = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
	close(descriptor);
	return raised;
}

void make_pipe(int ends[2])
{
	if (pipe2(ends, O_CLOEXEC) == 0) {
		ends[0] = fd_above_stdio(ends[0]);
		ends[1] = fd_above_stdio(ends[1]);
	}
	if (ends[0] < 0 || ends[1] < 0)
		die("cannot make a pipe: %s; check the limits of this shell (ulimit -a), then try again", strerror(errno));
}

bool write_all(int descriptor, const char *bytes, size_t length)
{
	while (length > 0) {
		ssize_t count = write(descriptor, bytes, length);

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0 && errno == EAGAIN) {
			/* The stream is shared with a process that has made it non-blocking. */
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
