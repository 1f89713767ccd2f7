/* What the C programs share that is no matter of the daemon: failing, memory, text, descriptors, time. */
#ifndef JNVDOCKER_BASE_H
#define JNVDOCKER_BASE_H

#include <stdbool.h>
#include <stddef.h>

/* The code that a program ends with when it fails; each defines its own. */
extern const int failure_code;

/* Says "jnvdocker: " and that, then ends the program. */
void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
void *allocate(void *old, size_t size);
/* A new string, as printf would have it. */
char *joined(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The name of the locale whose characters the caller reads, as setlocale(3) finds it. */
const char *character_locale(void);
/*
 * A new string for a message, of what a user or a program has said: its beginning, with nothing that a
 * terminal would act upon, and nothing but ASCII if the caller's locale does not say that it is UTF-8.
 * jnvdocker.words.Quote and Ascii do the same.
 */
char *shown(const char *text);
bool has_prefix(const char *text, const char *prefix);
/*
 * Copies a path that an installer has written into this program, for which it has been compiled as all zeros;
 * false when no absolute path is there.
 */
bool copy_settled(char *to, const volatile char *from, size_t size);
/*
 * A descriptor that is none of the standard three. A user may have closed those, and what is opened
 * then takes their place: our words would go into the socket.
 */
int above_standard(int descriptor);
/* False, with errno, when not all of it could be written. */
bool write_all(int descriptor, const char *bytes, size_t length);
/* Writes to standard error. A remark that nobody can read is no reason not to run the container. */
void remark(const char *bytes, size_t length);
/* Of a clock that nobody sets. */
long milliseconds(void);

#endif
