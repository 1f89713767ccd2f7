#define _GNU_SOURCE
#include "need.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base.h"
#include "files.h"

/*
 * The matches in a text, and their reasons. All engines write their texts with Go's or a similar library, which
 * spells plain letters as they are; a name or string in quotes cannot come from within a user's string, since quotes
 * are escaped there. Java decides what the texts request (GpuWishes); tests/fixtures/gpu-words has the cases.
 *
 *   anywhere, as part of anything:
 *     NVIDIA_           NVIDIA_VISIBLE_DEVICES and the like: of the image, the user, or dockerd's own --gpus
 *     nvidia            nodes (/dev/nvidia0), mounts, hooks, CDI names, labels of images (com.nvidia.*)
 *     jnvdocker_claim_  the volume of a claim
 *     DOCKER_RESOURCE_  Swarm's generic resources
 *     "JNVDOCKER_GPUS=  our variable that requests GPUs
 *     "CUDA_VERSION=    a variable by which NVIDIA's first images alone say that they are for GPUs
 *   the name of a member:
 *     "jnvdocker.gpus", "jnvdocker.claim"   our labels and annotations that request GPUs; others of ours, such as the
 *                       owner that jnvdockerd --proxy adds to every container, request nothing
 *   in config.json:
 *     "major":195       a node or a rule for NVIDIA's devices, whatever its name
 *     "major":226       a graphics node that is NVIDIA's, or may be: renderD129 computes as nvidia0 does
 *     numbers that no device has: crun cuts off their upper bits
 *     an allow rule for devices of every driver: --privileged, or a rule such as 'c *:* rwm' or 'a 10:1 m'
 *   in hostconfig.json:
 *     "gpu"             a DeviceRequest that has reached no driver yet
 *
 * Exceptions:
 *   the value of "Runtime" in hostconfig.json: docker knows us by that name, and every container has it if we are the
 *     default
 *   the values of compose's labels and of the owner's in config.v2.json: paths and names of a project or of a user
 *   NVIDIA_VISIBLE_DEVICES=void, or with no value, by which a container requests nothing: jnvdocker sets it for a
 *     container that it starts without the daemon
 */
static const char *const WORDS[] = { "NVIDIA_", "nvidia", "jnvdocker_claim_", "DOCKER_RESOURCE_", "\"JNVDOCKER_GPUS=",
				     "\"CUDA_VERSION=", NULL };
static const char *const LABELS[] = { "\"jnvdocker.gpus\"", "\"jnvdocker.claim\"", NULL };
/* The members whose values are no words, by how their names begin. */
static const char *const NONE[] = { NULL };
static const char *const OF_CONTAINER[] = { "\"com.docker.compose.", "\"jnvdocker.owner\"", NULL };
static const char *const OF_HOST[] = { "\"Runtime\"", NULL };

static const char *end_of(const struct buffer *text)
{
	return text->data + text->length;
}

static const char *skip_blanks(const char *at, const char *end)
{
	while (at < end && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n'))
		at++;
	return at;
}

const char *next_value(const char *at, const char *end, const char *name)
{
	while (at < end && (at = memmem(at, end - at, name, strlen(name))) != NULL) {
		at = skip_blanks(at + strlen(name), end);
		if (at < end && *at == ':')
			return skip_blanks(at + 1, end);
	}
	return NULL;
}

bool each_string(const struct buffer *text, const char *name, bool (*found)(void *, const char *, size_t), void *argument)
{
	const char *end = end_of(text);

	for (const char *at = text->data; (at = next_value(at, end, name)) != NULL; ) {
		if (at == end || *at != '"')
			continue;
		const char *close = memchr(at + 1, '"', end - at - 1);
		if (close == NULL)
			return false;
		if (found(argument, at + 1, close - at - 1))
			return true;
	}
	return false;
}

const char *root_path(const struct buffer *config, size_t *length)
{
	const char *end = end_of(config);

	/* No other object is called so, and a user's string is no object. */
	for (const char *at = config->data; (at = next_value(at, end, "\"root\"")) != NULL; ) {
		const char *close = at < end && *at == '{' ? memchr(at, '}', end - at) : NULL;
		const char *path = close == NULL ? NULL : next_value(at, close, "\"path\"");
		const char *quote = path == NULL || *path != '"' ? NULL : memchr(path + 1, '"', close - path - 1);
		if (quote == NULL)
			continue;
		*length = quote - path - 1;
		return path + 1;
	}
	return NULL;
}

static bool begins_with(const char *at, const char *end, const char *word)
{
	return (size_t)(end - at) >= strlen(word) && memcmp(at, word, strlen(word)) == 0;
}

enum { NVIDIA_MAJOR = 195, DRM_MAJOR = 226, MAX_VENDOR = 64, MAX_MAJOR = (1 << 12) - 1, MAX_MINOR = (1 << 20) - 1 };
enum { ANY_NUMBER = -1, IMPOSSIBLE_NUMBER = -2 };

/* A number of a device, or one of the two above. */
static int device_number(const char *at, const char *end, int limit)
{
	int number = 0;

	if (at == NULL || at == end)
		return ANY_NUMBER;
	if (*at == '-')
		return at + 1 < end && at[1] == '1' && (at + 2 == end || !isdigit((unsigned char)at[2])) ? ANY_NUMBER
													: IMPOSSIBLE_NUMBER;
	if (!isdigit((unsigned char)*at))
		return ANY_NUMBER;
	for (; at < end && isdigit((unsigned char)*at); at++)
		if ((number = 10 * number + *at - '0') > limit)
			return IMPOSSIBLE_NUMBER;
	return number;
}

/* Whether a graphics node is of NVIDIA's driver. Unknown means that it may be. */
static bool may_be_nvidias(int minor_number)
{
	char *path = joined("/sys/dev/char/%d:%d/device/vendor", DRM_MAJOR, minor_number);
	struct buffer vendor = { 0 };
	struct stat status;
	bool read = read_file(AT_FDCWD, path, 0, MAX_VENDOR, &vendor, &status) == FILE_READ;
	bool nvidias = !read || contains(&vendor, "0x10de");

	free(path);
	free(vendor.data);
	return nvidias;
}

/* A node or rule holds no object and no list, so it is the text between two braces. */
static bool has_graphics(const struct buffer *config)
{
	const char *end = end_of(config);

	for (const char *at = config->data; (at = next_value(at, end, "\"major\"")) != NULL; ) {
		if (device_number(at, end, MAX_MAJOR) != DRM_MAJOR)
			continue;
		const char *from = memrchr(config->data, '{', at - config->data);
		const char *to = memchr(at, '}', end - at);
		if (from == NULL || to == NULL)
			return true;
		int number = device_number(next_value(from, to, "\"minor\""), to, MAX_MINOR);
		if (number < 0 || may_be_nvidias(number))
			return true;
	}
	return false;
}

/* Whether a rule or node has such a number, or one that no device has. */
static bool has_number(const struct buffer *config, const char *name, int limit, int wanted)
{
	const char *end = end_of(config);

	for (const char *at = config->data; (at = next_value(at, end, name)) != NULL; ) {
		int number = device_number(at, end, limit);
		if (number == wanted || number == IMPOSSIBLE_NUMBER)
			return true;
	}
	return false;
}

/*
 * Whether a rule that allows lets devices of every driver be opened. DeviceRule in Java decides the same, and says why;
 * tests/fixtures/device-rules has the cases.
 */
static bool opens_every_major(const char *rule, const char *end)
{
	const char *type = next_value(rule, end, "\"type\"");
	const char *access = next_value(rule, end, "\"access\"");

	if (type != NULL && (begins_with(type, end, "\"b\"") || begins_with(type, end, "\"p\"")))
		return false;
	if (type == NULL || !(begins_with(type, end, "\"c\"") || begins_with(type, end, "\"u\"")))
		return true;
	if (access != NULL && begins_with(access, end, "\"m\""))
		return false;
	return device_number(next_value(rule, end, "\"major\""), end, MAX_MAJOR) <= 0;
}

/* A rule holds no object and no list, so it is the text between two braces. */
static bool allows_all(const struct buffer *config)
{
	const char *end = end_of(config);

	for (const char *at = config->data; (at = next_value(at, end, "\"allow\"")) != NULL; ) {
		if (!begins_with(at, end, "true"))
			continue;
		const char *from = memrchr(config->data, '{', at - config->data);
		const char *to = memchr(at, '}', end - at);
		if (from == NULL || to == NULL || opens_every_major(from, to))
			return true;
	}
	return false;
}

/* Whether a match is in a value of a member with one of these names. */
static bool is_value_of(const char *const *names, const char *begin, const char *at)
{
	const char *quote = memrchr(begin, '"', at - begin);

	if (quote == NULL)
		return false;
	while (quote > begin && strchr(" \t\r\n", quote[-1]) != NULL)
		quote--;
	if (quote == begin || *--quote != ':')
		return false;
	while (quote > begin && strchr(" \t\r\n", quote[-1]) != NULL)
		quote--;
	if (quote == begin || *--quote != '"')
		return false;
	const char *name = memrchr(begin, '"', quote - begin);
	if (name == NULL)
		return false;
	for (; *names != NULL; names++)
		if (begins_with(name, quote + 1, *names))
			return true;
	return false;
}

/* Whether a match is the variable by which a container requests no GPUs. */
static bool is_void(const char *begin, const char *at, const char *end)
{
	return at > begin && at[-1] == '"' && (begins_with(at, end, "NVIDIA_VISIBLE_DEVICES=void\"") ||
					       begins_with(at, end, "NVIDIA_VISIBLE_DEVICES=\""));
}

static bool has_word(const struct buffer *text, const char *const *but)
{
	const char *end = end_of(text);

	for (const char *const *label = LABELS; *label != NULL; label++)
		if (next_value(text->data, end, *label) != NULL)
			return true;
	for (const char *const *word = WORDS; *word != NULL; word++)
		for (const char *at = text->data; at < end && (at = memmem(at, end - at, *word, strlen(*word))) != NULL; at++)
			if (!is_value_of(but, text->data, at) && !is_void(text->data, at, end))
				return true;
	return false;
}

bool may_need_gpus(const struct texts *texts)
{
	return has_word(&texts->config, NONE) || has_word(&texts->container, OF_CONTAINER) ||
	       has_word(&texts->host, OF_HOST) || contains(&texts->host, "\"gpu\"") ||
	       has_number(&texts->config, "\"major\"", MAX_MAJOR, NVIDIA_MAJOR) ||
	       has_graphics(&texts->config) ||
	       has_number(&texts->config, "\"minor\"", MAX_MINOR, IMPOSSIBLE_NUMBER) || allows_all(&texts->config);
}
