/*
 * The protocol of a C program and the daemon, the same as in jnvdocker.protocol; the constants
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

/* Empty when it is all zeros; the owner frees its data. */
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

/* The part of a payload that is still to be read. Ends the program where a daemon has sent less than it says. */
struct reader {
	const unsigned char *at, *end;
};

uint32_t get_number(struct reader *reader);
char *get_string(struct reader *reader);
/* A list of at least one string, terminated by NULL. */
char **get_arguments(struct reader *reader);

/* The process that listens on a socket. */
struct server {
	pid_t pid;
	uid_t uid;
};

/*
 * A connected socket, or -1 with errno.
 *
 * patience_ms: how long to wait for room in the socket, now and whenever something is sent; 0 is
 * without limit
 */
int connect_socket(const char *path, long patience_ms);
/*
 * Whether the listener there may be obeyed: it must run as root or as our own user. Root obeys root alone.
 *
 * server: the process that listens; its pid and uid are 0 and -1 where the kernel does not report them
 */
bool is_trusted(int connection, struct server *server);
/* Drops what cannot be sent: a daemon that hung up may have sent a message that is still to be read. */
void send_frame(int connection, enum frame_type type, const struct buffer *payload);
/* False when the daemon is gone. */
bool receive(int connection, void *into, size_t length);

#endif
