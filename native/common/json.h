/* The little JSON that a C program needs which leaves the contents to the daemon. */
#ifndef JNVDOCKER_JSON_H
#define JNVDOCKER_JSON_H

#include <stdbool.h>

#include "frames.h"

/* Writes a JSON string, including quotes. Bytes that are not UTF-8 become the replacement character. */
void put_json(struct buffer *json, const char *text);
/* Whether a text is an object that a program can be given, if not the one that the daemon meant. */
bool is_object(const struct buffer *text);

#endif
