#define _GNU_SOURCE
#include "json.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The number of bytes of the UTF-8 character that begins there, 0 if none does. */
static size_t utf8_length(const unsigned char *at)
{
	uint32_t code;
	size_t length;

	if (at[0] < 0x80)
		return 1;
	if (at[0] >= 0xc2 && at[0] <= 0xdf)
		length = 2, code = at[0] & 0x1f;
	else if ((at[0] & 0xf0) == 0xe0)
		length = 3, code = at[0] & 0x0f;
	else if (at[0] >= 0xf0 && at[0] <= 0xf4)
		length = 4, code = at[0] & 0x07;
	else
		return 0;
	for (size_t i = 1; i < length; i++) {
		if ((at[i] & 0xc0) != 0x80) /* also at the terminating zero */
			return 0;
		code = code << 6 | (at[i] & 0x3f);
	}
	/* Overlong, half of a surrogate pair, or beyond Unicode. */
	if ((length == 3 && code < 0x800) || (code >= 0xd800 && code <= 0xdfff) || (length == 4 && code < 0x10000) ||
	    code > 0x10ffff)
		return 0;
	return length;
}

void put_json(struct buffer *json, const char *text)
{
	put_bytes(json, "\"", 1);
	for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; ) {
		size_t length = utf8_length(at);
		char escaped[8];

		if (length == 0)
			put_bytes(json, "\\ufffd", 6);
		else if (*at < 0x20 || *at == 0x7f)
			put_bytes(json, escaped, snprintf(escaped, sizeof escaped, "\\u%04x", *at));
		else if (*at == '"' || *at == '\\')
			put_bytes(json, escaped, snprintf(escaped, sizeof escaped, "\\%c", *at));
		else
			put_bytes(json, at, length);
		at += length == 0 ? 1 : length;
	}
	put_bytes(json, "\"", 1);
}

bool is_object(const struct buffer *text)
{
	static const char blanks[] = " \t\r\n";
	size_t begin = 0, end = text->length;

	while (begin < end && memchr(blanks, text->data[begin], sizeof blanks - 1) != NULL)
		begin++;
	while (end > begin && memchr(blanks, text->data[end - 1], sizeof blanks - 1) != NULL)
		end--;
	return end - begin >= 2 && text->data[begin] == '{' && text->data[end - 1] == '}' &&
	       memchr(text->data, '\0', text->length) == NULL;
}
