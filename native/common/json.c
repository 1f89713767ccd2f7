#define _GNU_SOURCE
#include "json.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base.h"

void put_json(struct buffer *json, const char *text)
{
	put_bytes(json, "\"", 1);
	for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; ) {
		uint32_t code;
		size_t length = utf8_character(at, &code);
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
