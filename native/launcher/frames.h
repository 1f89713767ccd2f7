/*
 * How a C program and the daemon talk. The protocol is the one of jnvdocker.protocol; the constants
 * exist twice and must be kept in step. A frame is a type (1 byte), the payload's length (4 bytes, big
 * endian), the payload. A string in a payload is its length (4 bytes) and its bytes; a list is a count
 * and the strings.
 */
#ifndef JNVDOCKER_FRAMES_H
#define JNVDOCKER_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/un.h>

enum { PROTOCOL_VERSION = 1 };
enum frame_type {
	FRAME_REQUEST = 'Q',
	FRAME_RESULT = 'R',
	FRAME_OUT = 'O',
	FRAME_ERR = 'E',
	FRAME_CALL = 'C',
	FRAME_STREAM = 'S',
	FRAME_MORE = 'M',
	FRAME_DATA = 'D',
	FRAME_ENOUGH = 'N',
	FRAME_EXEC = 'X',
	FRAME_PROGRAM = 'P',
	FRAME_WAIT = 'W',
	FRAME_AGAIN = 'A',
	FRAME_REFUSE = 'F',
	FRAME_EXIT = 'T',
};
/* The kernel takes 6 MiB of arguments and environment at most. */
enum { MAX_FRAME = 8 << 20 };
enum { MAX_SOCKET_PATH = sizeof ((struct sockaddr_un *)0)->sun_path - 1 };

/* Empty when it is all zeros; its data is the owner's to free. */
struct buffer {
	char *data;
	size_t length, capacity;
};

void put_bytes(struct buffer *buffer, const void *bytes, size_t length);
void put_number(struct buffer *buffer, uint32_t number);
void put_string(struct buffer *buffer, const char *text);
/* Strings up to a NULL. */
void put_list(struct buffer *buffer, char *const *texts);
/* The bytes of a string, without their length. */
void put_text(struct buffer *buffer, const char *text);
bool contains(const struct buffer *buffer, const char *word);

/* The process that listens on a socket. */
struct server {
	pid_t pid;
	uid_t uid;
};

/*
 * A connected socket, or -1 with errno.
 *
 * patience_ms: for how long to wait for room in the socket, now and whenever something is sent; 0 is for
 * ever
 */
int connect_socket(const char *path, long patience_ms);
/*
 * Whether whoever listens there may be obeyed: root, or who we are ourselves. Root obeys nobody else.
 *
 * server: the process that listens; its pid and uid are 0 and -1 where the kernel does not say
 */
bool is_trusted(int connection, struct server *server);
/* What cannot be sent is dropped: what a daemon that hung up said before that is still to be read. */
void send_frame(int connection, enum frame_type type, const struct buffer *payload);
/* False when the daemon is gone. */
bool receive(int connection, void *into, size_t length);

#endif
