#define _GNU_SOURCE
#include "ask.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base.h"
#include "frames.h"
#include "json.h"

#define LOOK_AT_LOG "look into the log of jnvdockerd, then %s"

enum { RETURN_POLL_MS = 100, ATTEMPTS = 3 };

struct answer failed(const char *format, ...)
{
	struct answer answer = { .kind = FAILED };
	va_list arguments;

	va_start(arguments, format);
	if (vasprintf(&answer.text, format, arguments) < 0)
		die("out of memory; free some and try again");
	va_end(arguments);
	return answer;
}

/* Like receive, but with a deadline; false with errno 0 when the daemon is gone. */
static bool receive_by(int connection, void *into, size_t length, long deadline, struct listener *listener)
{
	for (size_t got = 0; got < length; ) {
		struct pollfd ready = { .fd = connection, .events = POLLIN };
		long left = deadline - milliseconds();
		bool look = listener != NULL && left > LOOK_MS;
		int state = left > 0 ? poll(&ready, 1, look ? LOOK_MS : left) : 0;

		if (state < 0 && errno == EINTR)
			continue;
		if (state == 0 && look) {
			listener->idle(listener);
			continue;
		}
		if (state == 0)
			errno = ETIMEDOUT;
		if (state <= 0)
			return false;
		ssize_t count = read(connection, (char *)into + got, length - got);
		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0) {
			errno = 0;
			return false;
		}
		got += count;
	}
	return true;
}

static void send_request(int connection, const struct question *question)
{
	char *const docker[] = { "docker", NULL };
	struct buffer request = { 0 };

	put_number(&request, PROTOCOL_VERSION);
	put_number(&request, 0); /* no terminal */
	put_number(&request, 0); /* and so no columns */
	put_string(&request, "/");
	put_list(&request, docker);
	put_list(&request, question->arguments);
	put_list(&request, question->variables);
	send_frame(connection, FRAME_REQUEST, &request);
	free(request.data);
}

static struct answer answered(const struct question *question, uint32_t code, const struct buffer *said)
{
	if (code != 0)
		return failed("jnvdockerd failed with code %u; " LOOK_AT_LOG, code, question->words->again);
	if (said->length == 0)
		return (struct answer){ .kind = UNCHANGED };
	if (!is_object(said))
		return failed("jnvdockerd sent a %s that is no JSON object; " LOOK_AT_LOG, question->words->text,
			      question->words->again);
	return (struct answer){ .kind = CHANGED, .text = joined("%.*s", (int)said->length, said->data) };
}

/* The state of the exchange with the daemon, or with several in turn. */
struct talk {
	bool heard;      /* so the daemon may have done something already */
	bool faithful;   /* whether to send the request again when it goes away */
	bool deserted;
	long patient_to; /* until when the daemon must send something, or its whole answer */
	long return_by;  /* until when a daemon must be there again */
	struct buffer said;
};

static struct answer deserted(const struct question *question, struct talk *talk)
{
	talk->deserted = errno == 0;
	if (talk->deserted)
		return failed("jnvdockerd went away before it had answered; " LOOK_AT_LOG, question->words->again);
	return failed("jnvdockerd did not answer within %ld s; " LOOK_AT_LOG, question->patience_ms / 1000,
		      question->words->again);
}

static struct answer listen_to(int connection, const struct question *question, struct talk *talk)
{
	for (;;) {
		unsigned char header[5];
		uint32_t code = 0;

		if (!receive_by(connection, header, sizeof header, talk->patient_to, question->listener))
			return deserted(question, talk);
		talk->heard = true;
		uint32_t length = (uint32_t)header[1] << 24 | (uint32_t)header[2] << 16 | (uint32_t)header[3] << 8 | header[4];
		if (length > MAX_FRAME || talk->said.length + length > MAX_FRAME)
			return failed("jnvdockerd sent a frame of %u bytes; restart jnvdockerd", length);
		char *bytes = allocate(NULL, (size_t)length + 1);
		if (!receive_by(connection, bytes, length, talk->patient_to, question->listener)) {
			free(bytes);
			return deserted(question, talk);
		}
		if (!question->in_all)
			talk->patient_to = milliseconds() + question->patience_ms;
		switch (header[0]) {
		case FRAME_OUT:
			put_bytes(&talk->said, bytes, length);
			break;
		case FRAME_ERR:
			if (question->listener != NULL)
				question->listener->hear(question->listener, bytes, length);
			else if (!question->silent)
				remark(bytes, length);
			break;
		case FRAME_REFUSE:
			bytes[length] = '\0';
			if (*bytes == '\0')
				return failed("jnvdockerd refused without a reason; " LOOK_AT_LOG, question->words->again);
			return (struct answer){ .kind = FAILED, .text = bytes };
		case FRAME_WAIT:
			talk->faithful = true;
			break;
		case FRAME_EXIT:
			for (uint32_t i = 0; i < length && i < 4; i++)
				code = code << 8 | (unsigned char)bytes[i];
			free(bytes);
			if (length != 4)
				return failed("jnvdockerd sent an exit code of %u bytes; restart jnvdockerd", length);
			return answered(question, code, &talk->said);
		default:
			free(bytes);
			return failed("jnvdockerd sent a frame of unknown type %u; %s and daemon are of different versions, run"
				      " '%s' again and restart jnvdockerd", header[0], question->words->program,
				      question->words->install);
		}
		free(bytes);
	}
}

/* Waits a little for a daemon, which does not count as time in which one was silent. */
static void wait_a_little(const struct question *question, struct talk *talk)
{
	long began = milliseconds();

	usleep(RETURN_POLL_MS * 1000);
	if (question->in_all)
		talk->patient_to += milliseconds() - began;
}

/* A connection, or -1 with errno when there is no daemon and none appears, counted from now on. */
static int await_daemon(const struct question *question, struct talk *talk)
{
	talk->return_by = milliseconds() + question->return_ms;
	if (!question->in_all && talk->return_by > talk->patient_to)
		talk->return_by = talk->patient_to;
	for (;;) {
		int connection = connect_socket(question->socket, question->patience_ms);

		if (connection >= 0 || (errno != ENOENT && errno != ECONNREFUSED) || question->return_ms == 0 ||
		    milliseconds() >= talk->return_by)
			return connection;
		wait_a_little(question, talk);
	}
}

struct answer ask(const struct question *question)
{
	struct talk talk = { .patient_to = milliseconds() + question->patience_ms };

	for (int attempt = 1; ; attempt++) {
		int connection = await_daemon(question, &talk);

		if (connection < 0)
			return failed("no jnvdockerd answers at %s (%s); start it, 'systemctl status jnvdocker' says why it does not run",
				      question->socket, strerror(errno));
		struct server server;

		if (!is_trusted(connection, &server)) {
			close(connection);
			return failed("%s is served by process %d of uid %u and not by root; end that process",
				      question->socket, (int)server.pid, (unsigned)server.uid);
		}
		talk.heard = talk.deserted = false;
		talk.said.length = 0;
		send_request(connection, question);
		struct answer answer = listen_to(connection, question, &talk);
		close(connection);
		if (talk.faithful)
			attempt = 0;
		bool again = talk.deserted && question->return_ms > 0 && (talk.faithful || (!talk.heard && attempt < ATTEMPTS));
		if (!again) {
			free(talk.said.data);
			return answer;
		}
		free(answer.text);
		wait_a_little(question, &talk);
	}
}
