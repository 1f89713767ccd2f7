#define _GNU_SOURCE
#include "query.h"

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

#define SEE_LOG "see the log of jnvdockerd, then %s"

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
		bool idles = listener != NULL && left > IDLE_MS;
		int state = left > 0 ? poll(&ready, 1, idles ? IDLE_MS : left) : 0;

		if (state < 0 && errno == EINTR)
			continue;
		if (state == 0 && idles) {
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

static void send_request(int connection, const struct query *query)
{
	char *const docker[] = { "docker", NULL };
	struct buffer request = { 0 };

	put_number(&request, PROTOCOL_VERSION);
	put_number(&request, 0); /* no terminal */
	put_number(&request, 0); /* and so no columns */
	put_string(&request, "/");
	put_list(&request, docker);
	put_list(&request, query->arguments);
	put_list(&request, query->variables);
	send_frame(connection, FRAME_REQUEST, &request);
	free(request.data);
}

static struct answer answered(const struct query *query, uint32_t code, const struct buffer *said)
{
	if (code != 0)
		return failed("jnvdockerd failed with code %u; " SEE_LOG, code, query->words->again);
	if (said->length == 0)
		return (struct answer){ .kind = UNCHANGED };
	if (!is_object(said))
		return failed("jnvdockerd sent a %s that is no JSON object; " SEE_LOG, query->words->text,
			      query->words->again);
	return (struct answer){ .kind = CHANGED, .text = joined("%.*s", (int)said->length, said->data) };
}

/* The state of the exchange with the daemon, or with several in turn. */
struct exchange {
	bool received;   /* so the daemon may have done something already */
	bool faithful;   /* whether to send the request again when it goes away */
	bool deserted;
	long patient_to; /* until when the daemon must send something, or its whole answer */
	long return_by;  /* until when a daemon must be there again */
	struct buffer said;
};

static struct answer deserted(const struct query *query, struct exchange *exchange)
{
	exchange->deserted = errno == 0;
	if (exchange->deserted)
		return failed("jnvdockerd went away before it had answered; " SEE_LOG, query->words->again);
	return failed("jnvdockerd did not answer within %ld s; " SEE_LOG, query->patience_ms / 1000,
		      query->words->again);
}

static struct answer listen_to(int connection, const struct query *query, struct exchange *exchange)
{
	for (;;) {
		unsigned char header[5];
		uint32_t code = 0;

		if (!receive_by(connection, header, sizeof header, exchange->patient_to, query->listener))
			return deserted(query, exchange);
		exchange->received = true;
		uint32_t length = get_number(&(struct reader){ header + 1, header + 5 });
		if (length > MAX_FRAME || exchange->said.length + length > MAX_FRAME)
			return failed("jnvdockerd sent a frame of %u bytes; restart jnvdockerd", length);
		char *bytes = allocate(NULL, (size_t)length + 1);
		if (!receive_by(connection, bytes, length, exchange->patient_to, query->listener)) {
			free(bytes);
			return deserted(query, exchange);
		}
		if (!query->in_all)
			exchange->patient_to = milliseconds() + query->patience_ms;
		switch (header[0]) {
		case FRAME_OUT:
			put_bytes(&exchange->said, bytes, length);
			break;
		case FRAME_ERR:
			if (query->listener != NULL)
				query->listener->receive(query->listener, bytes, length);
			else if (!query->silent)
				remark(bytes, length);
			break;
		case FRAME_REFUSE:
			bytes[length] = '\0';
			if (*bytes == '\0')
				return failed("jnvdockerd refused without a reason; " SEE_LOG, query->words->again);
			return (struct answer){ .kind = FAILED, .text = bytes };
		case FRAME_WAIT:
			exchange->faithful = true;
			break;
		case FRAME_EXIT:
			if (length == 4)
				code = get_number(&(struct reader){ (unsigned char *)bytes, (unsigned char *)bytes + length });
			free(bytes);
			if (length != 4)
				return failed("jnvdockerd sent an exit code of %u bytes; restart jnvdockerd", length);
			return answered(query, code, &exchange->said);
		default:
			free(bytes);
			return failed("jnvdockerd sent a frame of unknown type %u; %s and daemon are of different versions, run"
				      " '%s' again and restart jnvdockerd", header[0], query->words->program,
				      query->words->install);
		}
		free(bytes);
	}
}

/* Waits a little for a daemon, which does not count as time in which one was silent. */
static void wait_a_little(const struct query *query, struct exchange *exchange)
{
	long began = milliseconds();

	usleep(RETURN_POLL_MS * 1000);
	if (query->in_all)
		exchange->patient_to += milliseconds() - began;
}

/* A connection, or -1 with errno when there is no daemon and none appears, counted from now on. */
static int await_daemon(const struct query *query, struct exchange *exchange)
{
	exchange->return_by = milliseconds() + query->return_ms;
	if (!query->in_all && exchange->return_by > exchange->patient_to)
		exchange->return_by = exchange->patient_to;
	for (;;) {
		int connection = connect_socket(query->socket, query->patience_ms);

		if (connection >= 0 || (errno != ENOENT && errno != ECONNREFUSED) || query->return_ms == 0 ||
		    milliseconds() >= exchange->return_by)
			return connection;
		wait_a_little(query, exchange);
	}
}

struct answer query_daemon(const struct query *query)
{
	struct exchange exchange = { .patient_to = milliseconds() + query->patience_ms };

	for (int attempt = 1; ; attempt++) {
		int connection = await_daemon(query, &exchange);

		if (connection < 0)
			return failed("no jnvdockerd answers at %s (%s); start it, 'systemctl status jnvdocker' says why it does not run",
				      query->socket, strerror(errno));
		struct server server;

		if (!is_trusted(connection, &server)) {
			close(connection);
			return failed("%s is served by process %d of uid %u and not by root; end that process",
				      query->socket, (int)server.pid, (unsigned)server.uid);
		}
		exchange.received = exchange.deserted = false;
		exchange.said.length = 0;
		send_request(connection, query);
		struct answer answer = listen_to(connection, query, &exchange);
		close(connection);
		if (exchange.faithful)
			attempt = 0;
		bool again = exchange.deserted && query->return_ms > 0 &&
			     (exchange.faithful || (!exchange.received && attempt < ATTEMPTS));
		if (!again) {
			free(exchange.said.data);
			return answer;
		}
		free(answer.text);
		wait_a_little(query, &exchange);
	}
}
