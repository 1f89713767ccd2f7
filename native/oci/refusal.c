#define _GNU_SOURCE
#include "refusal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "base.h"
#include "frames.h"
#include "json.h"

/* A runtime's code for any failure. */
const int failure_code = 1;

/*
 * docker takes a runtime's message for the kernel's about the container's program, and exits with 126 or 127, if it
 * contains one of these phrases, in any case. So another word replaces the last one of such a phrase. The kernel's
 * texts for an errno contain most of them.
 */
static const struct phrase {
	const char *beginning, *word, *instead;
} PHRASES[] = {
	{ "no such file or ", "directory", "folder" },
	{ "is a ", "directory", "folder" },
	{ "not a ", "directory", "folder" },
	{ "permission ", "denied", "refused" },
	{ "executable file not ", "found", "there" },
};

static const struct phrase *phrase_at(const char *text)
{
	for (size_t i = 0; i < sizeof PHRASES / sizeof *PHRASES; i++) {
		size_t length = strlen(PHRASES[i].beginning);
		if (strncasecmp(text, PHRASES[i].beginning, length) == 0 &&
		    strncasecmp(text + length, PHRASES[i].word, strlen(PHRASES[i].word)) == 0)
			return &PHRASES[i];
	}
	return NULL;
}

static char *reworded(const char *text)
{
	struct buffer result = { 0 };

	while (*text != '\0') {
		const struct phrase *phrase = phrase_at(text);

		if (phrase == NULL) {
			put_bytes(&result, text++, 1);
			continue;
		}
		put_bytes(&result, text, strlen(phrase->beginning));
		put_text(&result, phrase->instead);
		text += strlen(phrase->beginning) + strlen(phrase->word);
	}
	put_bytes(&result, "", 1);
	return result.data;
}

/* A line in runc's form, in the requested format. */
static struct buffer log_line(const char *format, const char *text)
{
	struct buffer line = { 0 };
	char now[64] = "";
	time_t seconds = time(NULL);
	struct tm broken;

	if (gmtime_r(&seconds, &broken) != NULL)
		strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", &broken);
	if (strcmp(format, "json") == 0) {
		put_text(&line, "{\"level\":\"error\",\"msg\":");
		put_json(&line, text);
		put_text(&line, ",\"time\":");
		put_json(&line, now);
		put_text(&line, "}\n");
	} else {
		put_text(&line, "time=");
		put_json(&line, now);
		put_text(&line, " level=error msg=");
		put_json(&line, text);
		put_text(&line, "\n");
	}
	return line;
}

/* The path of a log, or NULL if it is not a path: crun accepts the name of a service, too. */
static const char *log_path(const char *log)
{
	if (*log == '\0' || has_prefix(log, "journald:") || has_prefix(log, "syslog:"))
		return NULL;
	return has_prefix(log, "file:") ? log + strlen("file:") : log;
}

static void write_log(const struct call *call, const char *text)
{
	const char *path = log_path(call->log);
	/* A pipe may have no reader. */
	int flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	int file = path == NULL ? -1 : fd_above_stdio(open(path, flags, 0644));

	if (file < 0)
		return;
	struct buffer line = log_line(call->log_format, text);
	ssize_t count;
	do {
		count = write(file, line.data, line.length);
	} while (count < 0 && errno == EINTR);
	close(file);
	free(line.data);
}

void refuse(const struct call *call, const char *reason)
{
	char *text = joined("jnvdocker: %s", reworded(reason));
	char *line = joined("%s\n", text);

	write_log(call, text);
	remark(line, strlen(line));
	exit(failure_code);
}
