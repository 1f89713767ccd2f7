/* As little of JSON as a C program needs that leaves what is in it to the daemon. */
#ifndef JNVDOCKER_JSON_H
#define JNVDOCKER_JSON_H

#include <stdbool.h>

#include "frames.h"

/* As a string of JSON, quotes included. What is no UTF-8 becomes the character for that. */
void put_json(struct buffer *json, const char *text);
/* Whether it is what can be given to a program that wants an object, if not what the daemon meant. */
bool is_object(const struct buffer *text);

#endif
