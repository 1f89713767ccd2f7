#define _GNU_SOURCE
#include "rootless.h"

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base.h"
#include "files.h"
#include "json.h"

enum { MAX_PROC = 1 << 16, DRM_MAJOR = 226, NVIDIA_MAJOR = 195 };

bool is_rootless(void)
{
	struct buffer map = { 0 };
	struct stat self, status;
	unsigned long inside, outside, count;

	if (stat("/proc/self/exe", &self) < 0 || self.st_uid == 0 ||
	    read_file(AT_FDCWD, "/proc/self/uid_map", 0, MAX_PROC, &map, &status) != FILE_READ)
		return false;
	put_bytes(&map, "", 1);
	/* Outside of every user namespace each user is there, by their own number. */
	bool whole = sscanf(map.data, "%lu %lu %lu", &inside, &outside, &count) == 3 && inside == 0 && outside == 0 &&
		     count == UINT32_MAX;
	free(map.data);
	return !whole;
}

struct answer refused_rootless(const char *reason)
{
	return failed("%s, and an engine that runs without root gets no GPUs: nothing would keep its containers from those of"
		      " others; run this container as root, or without that", reason);
}

/* ---- device nodes ---------------------------------------------------------------------------- */

static bool reads(const char *path, const char *word)
{
	struct buffer text = { 0 };
	struct stat status;
	bool found = read_file(AT_FDCWD, path, 0, MAX_PROC, &text, &status) == FILE_READ && contains(&text, word);

	free(text.data);
	return found;
}

static bool is_gpu_node(const struct stat *node)
{
	if (!S_ISCHR(node->st_mode))
		return false;
	if (major(node->st_rdev) == NVIDIA_MAJOR)
		return true;
	if (major(node->st_rdev) == DRM_MAJOR) {
		char *vendor = joined("/sys/dev/char/%u:%u/device/vendor", major(node->st_rdev), minor(node->st_rdev));
		bool nvidias = reads(vendor, "0x10de");
		free(vendor);
		return nvidias;
	}
	/* nvidia-uvm and the like have a number that the kernel chooses; these give no GPU, as jnvdocker.host.FabricNodes has it. */
	static const char *const others[] = { "fs", "nvlink", "nvswitch", "caps-imex-channels", NULL };
	char *line = joined("\n%3u nvidia", major(node->st_rdev));
	bool nvidias = reads("/proc/devices", line);

	for (const char *const *other = others; *other != NULL && nvidias; other++) {
		char *whole = joined("%s-%s\n", line, *other);
		nvidias = !reads("/proc/devices", whole);
		free(whole);
	}
	free(line);
	return nvidias;
}

static bool same(const struct stat *one, const struct stat *other)
{
	return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

/* ---- mounts ---------------------------------------------------------------------------------- */

/* The string that begins at this quote, without its escapes; NULL if it is not one. */
static char *plain(const char *at, const char *end)
{
	struct buffer text = { 0 };
	unsigned code;

	if (at == NULL || at >= end || *at != '"')
		return NULL;
	for (at++; at < end && *at != '"'; at++) {
		static const char escapes[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
		const char *escape;

		if (*at != '\\') {
			put_bytes(&text, at, 1);
		} else if (++at < end && *at == 'u' && end - at > 4 && sscanf(at + 1, "%4x", &code) == 1) {
			const char utf8[] = { (char)(0xe0 | code >> 12), (char)(0x80 | (code >> 6 & 0x3f)), (char)(0x80 | (code & 0x3f)) };
			const char ascii = (char)code;

			put_bytes(&text, code < 0x80 ? &ascii : utf8, code < 0x80 ? 1 : sizeof utf8);
			at += 4;
		} else if (at < end && (escape = strchr(escapes, *at)) != NULL) {
			put_bytes(&text, &meanings[escape - escapes], 1);
		}
	}
	put_bytes(&text, "", 1);
	return text.data;
}

/* The end of the object or list that begins here; NULL if it has none. */
static const char *end_of_value(const char *at, const char *end)
{
	int depth = 0;

	for (bool quoted = false; at < end; at++) {
		if (quoted && *at == '\\')
			at++;
		else if (*at == '"')
			quoted = !quoted;
		else if (!quoted && (*at == '{' || *at == '['))
			depth++;
		else if (!quoted && (*at == '}' || *at == ']') && --depth == 0)
			return at + 1;
	}
	return NULL;
}

/* What a container's mounts bring of GPUs. */
struct brought {
	char *first;         /* the source of one of them, or NULL */
	struct buffer masks; /* a mount of nothing over each, as JSON behind commas */
};

static void mask(struct brought *brought, const char *directory, const char *rest)
{
	char *target = joined("%s%s", strcmp(directory, "/") == 0 && *rest == '/' ? "" : directory, rest);

	put_text(&brought->masks, ",{\"destination\":");
	put_json(&brought->masks, target);
	put_text(&brought->masks, ",\"type\":\"bind\",\"source\":\"/dev/null\",\"options\":[\"bind\",\"rprivate\"]}");
	free(target);
}

/* A node brings itself, a directory all nodes below it. */
static void scan_mount(struct brought *brought, const glob_t *nodes, const char *source, const char *target)
{
	struct stat file, status;
	bool brings = false;

	if (stat(source, &file) < 0)
		return;
	if (is_gpu_node(&file)) {
		mask(brought, target, "");
		brings = true;
	}
	for (size_t i = 0; S_ISDIR(file.st_mode) && i < nodes->gl_pathc; i++) {
		char *node = nodes->gl_pathv[i];

		if (stat(node, &status) < 0 || !is_gpu_node(&status))
			continue;
		/* By identity: there may be other paths to the same directory. */
		for (char *slash = strrchr(node, '/'); slash != NULL; slash = memrchr(node, '/', slash - node)) {
			char *directory = joined("%.*s", slash > node ? (int)(slash - node) : 1, node);
			bool below = stat(directory, &status) == 0 && same(&status, &file);

			free(directory);
			if (below) {
				mask(brought, target, slash);
				brings = true;
			}
			if (slash == node)
				break;
		}
	}
	if (brings && brought->first == NULL)
		brought->first = joined("%s", source);
}

/* The list of mounts and its end; NULL if there is none. */
static const char *mounts(const struct buffer *config, const char **end)
{
	const char *limit = config->data + config->length;

	for (const char *at = config->data; (at = next_value(at, limit, "\"mounts\"")) != NULL; )
		if (at < limit && *at == '[' && (*end = end_of_value(at, limit)) != NULL)
			return at;
	return NULL;
}

static struct brought scan_mounts(const struct buffer *config)
{
	struct brought brought = { 0 };
	const char *end;
	const char *at = mounts(config, &end);
	glob_t nodes = { 0 };

	glob("/dev/nvidia*", 0, NULL, &nodes);
	glob("/dev/nvidia-caps*/*", GLOB_APPEND, NULL, &nodes);
	glob("/dev/dri/*", GLOB_APPEND, NULL, &nodes);
	while (at != NULL && (at = memchr(at, '{', end - at)) != NULL) {
		const char *behind = end_of_value(at, end);

		if (behind == NULL)
			break;
		char *source = plain(next_value(at, behind, "\"source\""), behind);
		char *target = plain(next_value(at, behind, "\"destination\""), behind);
		if (source != NULL && target != NULL)
			scan_mount(&brought, &nodes, source, target);
		free(source);
		free(target);
		at = behind;
	}
	globfree(&nodes);
	return brought;
}

/* ---- what is requested ----------------------------------------------------------------------- */

static bool is_nothing(const char *value)
{
	return *value == '\0' || strcmp(value, "none") == 0 || strcmp(value, "void") == 0;
}

/* A variable of this list that requests GPUs, for a message; NULL if there is none. */
static char *wish_of(const char *list, const char *end)
{
	static const char *const variables[] = { "NVIDIA_VISIBLE_DEVICES=", "JNVDOCKER_GPUS=", NULL };

	for (const char *const *variable = variables; *variable != NULL; variable++) {
		char *quoted = joined("\"%s", *variable);

		for (const char *at = list; (at = memmem(at, end - at, quoted, strlen(quoted))) != NULL; at++) {
			char *text = plain(at, end);

			if (!is_nothing(text + strlen(*variable)))
				return joined("it has %s", shown(text));
			free(text);
		}
		free(quoted);
	}
	return NULL;
}

/* What the container has that requests GPUs, for a message; NULL if there is none. */
static char *wish(const struct texts *texts)
{
	const struct buffer *config = &texts->config;
	const char *end = config->data + config->length;

	for (const char *at = config->data; (at = next_value(at, end, "\"env\"")) != NULL; ) {
		const char *behind = at < end && *at == '[' ? end_of_value(at, end) : NULL;
		char *found = behind != NULL ? wish_of(at, behind) : NULL;

		if (found != NULL)
			return found;
	}
	for (const char *at = config->data; (at = next_value(at, end, "\"jnvdocker.gpus\"")) != NULL; ) {
		char *text = plain(at, end);

		if (text != NULL && !is_nothing(text))
			return joined("it has jnvdocker.gpus=%s", shown(text));
		free(text);
	}
	if (contains(&texts->host, "\"gpu\"") || contains(config, "nvidia-container-runtime-hook\""))
		return joined("it has --gpus");
	for (const char *at = config->data; (at = next_value(at, end, "\"major\"")) != NULL; )
		if (strtol(at, NULL, 10) == NVIDIA_MAJOR)
			return joined("it has nodes of GPUs, or rules for them");
	return NULL;
}

/* Podman binds the nodes of a privileged container one by one, the common ones included. */
static bool is_privileged(const struct buffer *config)
{
	const char *end;
	const char *at = mounts(config, &end);

	while (at != NULL && (at = memchr(at, '{', end - at)) != NULL) {
		const char *behind = end_of_value(at, end);

		if (behind == NULL)
			return false;
		char *source = plain(next_value(at, behind, "\"source\""), behind);
		bool common = source != NULL && strcmp(source, "/dev/null") == 0;
		free(source);
		if (common)
			return true;
		at = behind;
	}
	return false;
}

struct answer answer_rootless(const struct texts *texts)
{
	const struct buffer *config = &texts->config;
	char *found = wish(texts);

	if (found != NULL)
		return refused_rootless(found);
	struct brought brought = scan_mounts(config);
	if (brought.first == NULL)
		return (struct answer){ .kind = UNCHANGED };
	if (!is_privileged(config)) {
		char *reason = joined("it mounts %s with nodes of GPUs", shown(brought.first));
		return refused_rootless(reason);
	}
	const char *end;
	mounts(config, &end);
	size_t before = end - 1 - config->data;
	return (struct answer){
		.kind = CHANGED,
		.text = joined("%.*s%.*s%.*s", (int)before, config->data, (int)brought.masks.length, brought.masks.data,
			       (int)(config->length - before), end - 1),
	};
}
