/* Common code of the C programs, independent of the daemon: failing, memory, text, descriptors, time. */
#ifndef JNVDOCKER_BASE_H
#define JNVDOCKER_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The exit code of a program that fails; each program defines its own. */
extern const int failure_code;

/* Prints "jnvdocker: " and the message, then ends the program. */
void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
void *allocate(void *old, size_t size);
/* A new string, formatted as by printf. */
char *joined(const char *format, ...) __attribute__((format(printf, 1, 2)));
/*
 * Decodes the UTF-8 character that begins there. Returns the number of its bytes; 0, and a meaningless code, if none
 * begins there.
 */
size_t utf8_character(const unsigned char *at, uint32_t *code);
/* The locale that determines which characters the caller can read, found as setlocale(3) finds it. */
const char *character_locale(void);
/*
 * A new string with the beginning of a user's or a program's text, for a message: without anything that a terminal
 * would act upon, and with ASCII only unless the caller's locale is UTF-8. jnvdocker.words.Quote and Ascii do the
 * same.
 */
char *shown(const char *text);
bool has_prefix(const char *text, const char *prefix);
/*
 * Copies a path that an installer has written into this program, where the compiled program has all zeros; false
 * when no absolute path is there.
 */
bool copy_embedded_path(char *to, const volatile char *from, size_t size);
/*
 * A descriptor other than the standard three. A user may have closed those, and a newly opened file would take
 * their place: our messages would go into the socket.
 */
int fd_above_stdio(int descriptor);
/* Two ends, neither of which is one of the standard three. */
void make_pipe(int ends[2]);
/* False, with errno, when not all of it could be written. */
bool write_all(int descriptor, const char *bytes, size_t length);
/* Writes to standard error. A remark that cannot be written is no reason not to run the container. */
void remark(const char *bytes, size_t length);
/* Milliseconds of a clock that cannot be set. */
long milliseconds(void);

#endif
