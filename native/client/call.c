#define _GNU_SOURCE
#include "call.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base.h"
#include "client.h"
#include "daemon.h"

enum { CALL_CAPTURES = 1, CALL_HIDES_ERRORS = 2, CALL_CAPTURES_ERRORS = 4, CALL_INHERITS_STDIO = 8,
       CALL_DROPS_LAST_LINE = 16 };
enum { MAX_CAPTURED = 4 << 20, MAX_DATA = 1 << 16 };
/* How long the client waits for a program after the daemon wants no more of its output. */
enum { DRAIN_MS = 2000 };

/*
 * Runs a program in the child. Its input is empty, so that it cannot consume the container's input, unless the user
 * has typed the command.
 */
static void run_call(char **argv, uint32_t flags, int output, pid_t client) __attribute__((noreturn));

static void run_call(char **argv, uint32_t flags, int output, pid_t client)
{
	int nothing = fd_above_stdio(open("/dev/null", O_RDWR | O_CLOEXEC));

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	/* A client that ended before that sends no signal any more. 0 is a client in another pid namespace. */
	pid_t parent = getppid();
	if (nothing < 0 || (parent != client && parent != 0))
		_exit(EXIT_REFUSED);
	if (flags != CALL_INHERITS_STDIO)
		dup2(nothing, 0);
	/* If the caller closed it, messages are discarded: they must not go to stdout or into a file. */
	if (fcntl(2, F_GETFD) < 0)
		dup2(nothing, 2);
	if (flags != CALL_INHERITS_STDIO)
		dup2(flags & CALL_CAPTURES || (flags & CALL_DROPS_LAST_LINE && !isatty(2)) ? output : 2, 1);
	if (flags & CALL_HIDES_ERRORS)
		dup2(nothing, 2);
	if (flags & CALL_CAPTURES_ERRORS)
		dup2(output, 2);
	execvp(argv[0], argv);
	int reason = errno;
	dprintf(2, "jnvdocker: cannot run '%s': %s\n", shown(argv[0]), strerror(reason));
	_exit(EXIT_REFUSED);
}

/* Reads a pipe to its end, but keeps no more than fits into a frame. */
static void capture(int from, struct buffer *captured)
{
	char bytes[65536];

	for (;;) {
		ssize_t count = read(from, bytes, sizeof bytes);

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return;
		size_t room = MAX_CAPTURED - captured->length;
		put_bytes(captured, bytes, (size_t)count < room ? (size_t)count : room);
	}
}

/* Passes a pipe on to standard error, but for the last line, which it returns. */
static struct buffer pass_on(int from)
{
	struct buffer kept = { 0 };
	char bytes[65536];

	for (;;) {
		ssize_t count = read(from, bytes, sizeof bytes);

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return kept;
		put_bytes(&kept, bytes, (size_t)count);
		/* The end of the line before the last. */
		const char *end = kept.length < 2 ? NULL : memrchr(kept.data, '\n', kept.length - 1);
		if (end == NULL)
			continue;
		size_t whole = (size_t)(end + 1 - kept.data);
		write_all(2, kept.data, whole);
		memmove(kept.data, kept.data + whole, kept.length - whole);
		kept.length -= whole;
	}
}

/* A program that the daemon has ordered, and the end of the pipe that it may write to. */
struct child {
	uint32_t flags;
	char **argv;
	pid_t pid;
	int output;
	struct sigaction inherited;
};

static struct child start_child(struct reader payload)
{
	const struct sigaction standard = { .sa_handler = SIG_DFL };
	struct child child = { .flags = get_number(&payload) };
	int output[2];

	child.argv = get_arguments(&payload);

	pid_t client = getpid();
	make_pipe(output);
	/* If the caller ignores SIGCHLD, a child leaves no exit code. */
	sigaction(SIGCHLD, &standard, &child.inherited);
	child.pid = fork();
	if (child.pid < 0)
		die("cannot run '%s': %s; " LIMITS, shown(child.argv[0]), strerror(errno));
	if (child.pid == 0) {
		sigaction(SIGCHLD, &child.inherited, NULL);
		run_call(child.argv, child.flags, output[1], client);
	}
	close(output[1]);
	child.output = output[0];
	return child;
}

/* Waits for the child's end, reports its exit to the daemon and returns it. */
static int send_result(int connection, struct child child, const struct buffer *captured)
{
	struct buffer result = { 0 };
	int status;

	close(child.output);
	while (waitpid(child.pid, &status, 0) < 0)
		if (errno != EINTR)
			die("cannot wait for '%s': %s; try again", shown(child.argv[0]), strerror(errno));
	sigaction(SIGCHLD, &child.inherited, NULL);
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	put_number(&result, (uint32_t)code);
	put_bytes(&result, captured->data, captured->length);
	send_frame(connection, FRAME_RESULT, &result);
	free(result.data);
	for (char **word = child.argv; *word != NULL; word++)
		free(*word);
	free(child.argv);
	return code;
}

/* The last line of a child's output is for nobody if it succeeds; a terminal has it already. */
static void call_without_last_line(int connection, struct child child)
{
	static const char up_and_erase[] = "\033[A\033[2K";
	const struct buffer nothing = { 0 };
	struct buffer last = pass_on(child.output);
	bool succeeded = send_result(connection, child, &nothing) == 0;

	if (succeeded && isatty(2))
		write_all(2, up_and_erase, sizeof up_and_erase - 1);
	if (!succeeded)
		write_all(2, last.data, last.length);
	free(last.data);
}

void call(int connection, struct reader payload)
{
	struct child child = start_child(payload);
	struct buffer captured = { 0 };

	if (child.flags & CALL_DROPS_LAST_LINE) {
		call_without_last_line(connection, child);
		return;
	}
	capture(child.output, &captured);
	send_result(connection, child, &captured);
	free(captured.data);
}

/* Whether the daemon, which has sent something, has had enough of a stream, or is gone. */
static bool gives_up(int connection)
{
	char type;
	ssize_t count = recv(connection, &type, 1, MSG_PEEK | MSG_DONTWAIT);

	return count == 0 || (count == 1 && type == FRAME_ENOUGH);
}

/*
 * Reads as much as fits into one frame of a stream. Less is the end of the stream, or what had arrived when the
 * daemon lost its patience: then the result is false.
 */
static bool fill(int from, int connection, struct buffer *data)
{
	static char bytes[MAX_DATA];
	struct pollfd both[] = { { .fd = from, .events = POLLIN }, { .fd = connection, .events = POLLIN } };

	long deadline = -1;

	data->length = 0;
	while (data->length < MAX_DATA) {
		long left = deadline < 0 ? -1 : deadline - milliseconds();
		int ready = deadline >= 0 && left <= 0 ? 0 : poll(both, 2, left);

		if (ready == 0)
			return false;
		if (ready < 0)
			continue;
		if (both[1].revents != 0) {
			/* A program that is about to end by itself reports its own exit. */
			if (gives_up(connection))
				deadline = milliseconds() + DRAIN_MS;
			both[1].fd = -1;
		}
		if (both[0].revents == 0)
			continue;
		ssize_t count = read(from, bytes, MAX_DATA - data->length);

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return true;
		put_bytes(data, bytes, count);
	}
	return true;
}

/* Whether the daemon wants more of a stream. */
static bool more_is_wanted(int connection)
{
	unsigned char header[5];
	struct reader length = { header + 1, header + 5 };

	if (!receive(connection, header, sizeof header))
		die_deserted();
	if ((header[0] != FRAME_MORE && header[0] != FRAME_ENOUGH) || get_number(&length) != 0)
		die("the daemon sent a frame of type %u into a stream; restart jnvdockerd", header[0]);
	return header[0] == FRAME_MORE;
}

void stream(int connection, struct reader payload)
{
	struct child child = start_child(payload);
	struct buffer data = { 0 };
	const struct buffer nothing = { 0 };
	bool ended = false;

	while (more_is_wanted(connection)) {
		if (!fill(child.output, connection, &data))
			continue;
		ended = data.length < MAX_DATA;
		send_frame(connection, FRAME_DATA, &data);
	}
	if (!ended)
		kill(child.pid, SIGTERM);
	send_result(connection, child, &nothing);
	free(data.data);
}
