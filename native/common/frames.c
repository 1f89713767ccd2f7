#define _GNU_SOURCE
#include "frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base.h"

void put_bytes(struct buffer *buffer, const void *bytes, size_t length)
{
	if (buffer->length + length > buffer->capacity) {
		buffer->capacity = 2 * buffer->capacity + length + 256;
		buffer->data = allocate(buffer->data, buffer->capacity);
	}
	if (length > 0)
		memcpy(buffer->data + buffer->length, bytes, length);
	buffer->length += length;
}

void put_number(struct buffer *buffer, uint32_t number)
{
	unsigned char bytes[4] = { number >> 24, number >> 16, number >> 8, number };

	put_bytes(buffer, bytes, sizeof bytes);
}

void put_string(struct buffer *buffer, const char *text)
{
	size_t length = strlen(text);

	put_number(buffer, length);
	put_bytes(buffer, text, length);
}

void put_text(struct buffer *buffer, const char *text)
{
	put_bytes(buffer, text, strlen(text));
}

bool contains(const struct buffer *buffer, const char *word)
{
	return buffer->length > 0 && memmem(buffer->data, buffer->length, word, strlen(word)) != NULL;
}

void put_list(struct buffer *buffer, char *const *texts)
{
	size_t count = 0;

	while (texts[count] != NULL)
		count++;
	put_number(buffer, count);
	for (size_t i = 0; i < count; i++)
		put_string(buffer, texts[i]);
}

uint32_t get_number(struct reader *reader)
{
	const unsigned char *at = reader->at;

	if (reader->end - at < 4)
		die("the daemon sent a frame that is cut short; restart jnvdockerd");
	reader->at += 4;
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

char *get_string(struct reader *reader)
{
	uint32_t length = get_number(reader);
	char *text;

	if (length > (size_t)(reader->end - reader->at))
		die("the daemon sent a string that is cut short; restart jnvdockerd");
	text = allocate(NULL, (size_t)length + 1);
	memcpy(text, reader->at, length);
	text[length] = '\0';
	reader->at += length;
	return text;
}

char **get_arguments(struct reader *reader)
{
	uint32_t count = get_number(reader);
	char **texts;

	if (count == 0 || count > (size_t)(reader->end - reader->at) / 4)
		die("the daemon sent a command of %u words; restart jnvdockerd", count);
	texts = allocate(NULL, ((size_t)count + 1) * sizeof *texts);
	for (uint32_t i = 0; i < count; i++)
		texts[i] = get_string(reader);
	texts[count] = NULL;
	return texts;
}

int connect_socket(const char *path, long patience_ms)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const struct timeval patience = { .tv_sec = patience_ms / 1000, .tv_usec = patience_ms % 1000 * 1000 };

	if (strlen(path) > MAX_SOCKET_PATH) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(address.sun_path, path);
	int connection = fd_above_stdio(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
	if (connection < 0)
		return -1;
	if ((patience_ms == 0 || setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) == 0) &&
	    connect(connection, (struct sockaddr *)&address, sizeof address) == 0)
		return connection;
	int reason = errno;
	close(connection);
	errno = reason;
	return -1;
}

bool is_trusted(int connection, struct server *server)
{
	struct ucred peer = { .pid = 0, .uid = -1, .gid = -1 };
	socklen_t length = sizeof peer;

	getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length);
	server->pid = peer.pid;
	server->uid = peer.uid;
	return peer.uid == 0 || (peer.uid == geteuid() && peer.uid != (uid_t)-1);
}

void send_frame(int connection, enum frame_type type, const struct buffer *payload)
{
	struct buffer frame = { 0 };
	unsigned char letter = type;

	put_bytes(&frame, &letter, 1);
	put_number(&frame, payload->length);
	put_bytes(&frame, payload->data, payload->length);
	for (size_t sent = 0; sent < frame.length; ) {
		ssize_t count = send(connection, frame.data + sent, frame.length - sent, MSG_NOSIGNAL);

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			break;
		sent += count;
	}
	free(frame.data);
}

bool receive(int connection, void *into, size_t length)
{
	for (size_t got = 0; got < length; ) {
		ssize_t count = read(connection, (char *)into + got, length - got);

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return false;
		got += count;
	}
	return true;
}
