#define _GNU_SOURCE
#include "exchange.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base.h"
#include "call.h"
#include "client.h"
#include "daemon.h"
#include "docker.h"

enum { TERMINAL_IN = 1, TERMINAL_OUT = 2, TERMINAL_ERR = 4, CONTEXT_CONFIGURED = 8 };
enum { MAX_CONFIG = 1 << 20 };
/* The codes of shells, and of docker for a container's program. */
enum { EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };
/* How long a daemon may be silent before the user is notified that the client still waits for it. */
#ifndef SILENCE_NOTICE_MS
#define SILENCE_NOTICE_MS 10000
#endif

static bool is_for_daemon(const char *variable)
{
	static const char *const prefixes[] = {
		"NV_", "NVIDIA_", "DOCKER_", "JNVDOCKER_", "SUDO_", "HOME=", "PATH=", "LD_LIBRARY_PATH=", "TERM=",
		"NO_COLOR=", "CUDA_VISIBLE_DEVICES=", "SLURM_JOB_GPUS=", "SLURM_STEP_GPUS=", "TZ=", "DISPLAY=",
		"WAYLAND_DISPLAY=", NULL,
	};

	for (const char *const *prefix = prefixes; *prefix != NULL; prefix++)
		if (has_prefix(variable, *prefix))
			return true;
	return false;
}

/* The terminal's size; 0 in both directions if there is no terminal. */
static struct winsize terminal_size(void)
{
	struct winsize size;

	for (int descriptor = 1; descriptor <= 2; descriptor++)
		if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
			return size;
	return (struct winsize){ 0 };
}

/*
 * Sends the current height of the terminal in the variable that shells use, LINES; and the locale of characters as
 * LC_CTYPE, whichever variable sets it. A request without a locale comes from an older client.
 */
static void put_variables(struct buffer *request, unsigned rows)
{
	uint32_t count = 2;
	char *lines = joined("LINES=%u", rows);
	char *locale = joined("LC_CTYPE=%s", character_locale());

	for (char **variable = environ; *variable != NULL; variable++)
		count += is_for_daemon(*variable);
	put_number(request, count);
	put_string(request, lines);
	put_string(request, locale);
	for (char **variable = environ; *variable != NULL; variable++)
		if (is_for_daemon(*variable))
			put_string(request, *variable);
	free(locale);
	free(lines);
}

/*
 * Whether the user's docker config may choose an engine other than the default. Only a hint, so that the daemon
 * queries docker for its context only if there may be one and not at every run.
 */
static bool context_configured(void)
{
	const char *directory = getenv("DOCKER_CONFIG");
	const char *home = getenv("HOME");
	char *path, *text;
	ssize_t length = -1;

	if (directory != NULL && *directory != '\0')
		path = joined("%s/config.json", directory);
	else
		path = joined("%s/.docker/config.json", home != NULL ? home : "");
	text = allocate(NULL, MAX_CONFIG + 1);
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (file >= 0) {
		length = read(file, text, MAX_CONFIG);
		close(file);
	}
	text[length > 0 ? length : 0] = '\0';
	/* docker takes the name in any case, and with escapes; what is too long may have it behind. */
	bool found = length == MAX_CONFIG || strcasestr(text, "\"currentContext\"") != NULL || strstr(text, "\\u") != NULL;
	free(text);
	free(path);
	return found;
}

void send_request(int connection, char **docker, char **argv)
{
	struct buffer request = { 0 };
	struct winsize terminal = terminal_size();
	char *directory = getcwd(NULL, 0);
	uint32_t flags = 0;

	flags |= isatty(0) ? TERMINAL_IN : 0;
	flags |= isatty(1) ? TERMINAL_OUT : 0;
	flags |= isatty(2) ? TERMINAL_ERR : 0;
	flags |= context_configured() ? CONTEXT_CONFIGURED : 0;
	put_number(&request, PROTOCOL_VERSION);
	put_number(&request, flags);
	put_number(&request, terminal.ws_col);
	put_string(&request, directory != NULL ? directory : "");
	put_list(&request, docker);
	put_list(&request, argv + 1);
	put_variables(&request, terminal.ws_row);
	if (request.length > MAX_FRAME)
		die("the command line is longer than %d bytes; shorten it", MAX_FRAME);
	send_frame(connection, FRAME_REQUEST, &request);
	free(request.data);
	free(directory);
}

/* Becomes a program that is not docker, with more variables in its environment. */
static void become_program(struct reader payload) __attribute__((noreturn));

static void become_program(struct reader payload)
{
	for (uint32_t count = get_number(&payload); count > 0; count--)
		putenv(get_string(&payload));
	char **argv = get_arguments(&payload);

	unsetenv(ROUNDS);
	execvp(argv[0], argv);
	int reason = errno;
	fprintf(stderr, "jnvdocker: cannot run '%s': %s; name a program in PATH, or give its path\n",
		shown(argv[0]), strerror(reason));
	exit(reason == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE);
}

/* Waits for the daemon's next frame, or its end. Notifies the user once if that takes long. */
static void wait_for_frame(int connection)
{
	static bool said;
	struct pollfd words = { .fd = connection, .events = POLLIN };

	if (said || poll(&words, 1, SILENCE_NOTICE_MS) != 0)
		return;
	said = true;
	char *path = socket_path();
	char *text = joined("jnvdocker: jnvdockerd (pid %d, at %s) has not answered for %d s; still waiting, Ctrl-C ends that\n",
			    (int)server.pid, path, SILENCE_NOTICE_MS / 1000);
	remark(text, strlen(text));
	free(text);
	free(path);
}

/* Waits for the daemon's next frame, or its end; ends the program when the proxy is gone. */
static void wait_unless_abandoned(int connection)
{
	struct pollfd both[] = { { .fd = connection, .events = POLLIN }, { .fd = 0 } };

	while (poll(both, 2, -1) < 0)
		continue;
	die_if_abandoned();
}

enum reason obey(int connection, bool faithful, uint32_t *pause)
{
	for (bool received = false; ; received = true) {
		unsigned char header[5];
		struct reader payload = { header + 1, header + 5 };

		/* The user knows that the client is queued, or watches, which may last for hours. */
		if (waits_for_proxy)
			wait_unless_abandoned(connection);
		else if (!faithful)
			wait_for_frame(connection);
		if (!receive(connection, header, sizeof header)) {
			if (received && !faithful && !is_job())
				die_deserted();
			return faithful ? WENT_AWAY : UNANSWERED;
		}
		uint32_t length = get_number(&payload);
		if (length > MAX_FRAME)
			die("the daemon sent a frame of %u bytes; restart jnvdockerd", length);
		char *bytes = allocate(NULL, (size_t)length + 1);
		if (!receive(connection, bytes, length)) {
			if (!faithful && !is_job())
				die_deserted();
			free(bytes);
			return faithful ? WENT_AWAY : UNANSWERED;
		}
		payload.at = (unsigned char *)bytes;
		payload.end = payload.at + length;

		switch (header[0]) {
		case FRAME_OUT:
			if (!write_all(1, bytes, length))
				die("cannot write to standard output: %s; check its destination", strerror(errno));
			break;
		case FRAME_ERR:
			remark(bytes, length);
			break;
		case FRAME_CALL:
			call(connection, payload);
			break;
		case FRAME_STREAM:
			stream(connection, payload);
			break;
		case FRAME_WAIT:
			faithful = true;
			break;
		case FRAME_AGAIN:
			*pause = get_number(&payload);
			free(bytes);
			return REPEAT;
		case FRAME_EXEC:
			become(get_arguments(&payload));
		case FRAME_PROGRAM:
			become_program(payload);
		case FRAME_REFUSE:
			/* The answer to a request that only our OCI runtime sends; a user has typed it. */
			die("%.*s", (int)length, bytes);
		case FRAME_EXIT:
			exit(get_number(&payload) & 0xff);
		default:
			die("the daemon sent a frame of unknown type %u; client and daemon are of different versions, restart jnvdockerd",
			    header[0]);
		}
		free(bytes);
	}
}
