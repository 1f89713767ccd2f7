#define _GNU_SOURCE
#include "docker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base.h"

#define CONTAINERS "/containers/"
#define KNOWN "config.v2.json"

enum { DOCKER_ID_LENGTH = 64 };

/*
 * The search for docker's directory of containers. The container's own files are mounted from there; with --network
 * container:OTHER they are the other's, in the directory beside it. A user can mount a file of such a name, too, so
 * a directory that is not the container's own counts only for its contents.
 */
struct search {
	const char *id;
	char *own;      /* the directory that the container's files are mounted from */
	char *another;  /* the container's directory, beside the one that its files are mounted from */
	bool escaped;   /* the directory's name has escapes, which we do not decode */
};

static bool is_docker_file(const char *name, size_t length)
{
	static const char *const names[] = { "hosts", "hostname", "resolv.conf", NULL };

	for (const char *const *each = names; *each != NULL; each++)
		if (strlen(*each) == length && memcmp(*each, name, length) == 0)
			return true;
	return false;
}

/* Whether this is a container's id, the name of its directory. */
static bool is_docker_id(const char *name, size_t length)
{
	return length == DOCKER_ID_LENGTH && strspn(name, "0123456789abcdef") >= length;
}

/* Examines the source of a mount: DATA-ROOT/containers/ID/FILE. */
static bool examine_source(void *argument, const char *source, size_t length)
{
	struct search *search = argument;
	const char *file = memrchr(source, '/', length);

	if (file == NULL || *source != '/' || !is_docker_file(file + 1, source + length - file - 1))
		return false;
	const char *id = memrchr(source, '/', file - source);
	if (id == NULL || id - source < (long)sizeof CONTAINERS - 2)
		return false;
	const char *containers = id - (sizeof CONTAINERS - 2);
	if (memcmp(containers, CONTAINERS, sizeof CONTAINERS - 1) != 0)
		return false;
	size_t id_length = file - ++id;
	bool own = id_length == strlen(search->id) && memcmp(id, search->id, id_length) == 0;
	if (!own && !is_docker_id(id, id_length))
		return false;
	if (memchr(source, '\\', length) != NULL) {
		search->escaped |= own;
		return false;
	}
	char **directory = own ? &search->own : &search->another;
	if (*directory == NULL)
		*directory = joined("%.*s%s", (int)(id - source), source, search->id);
	return own;
}

const char *why_not_read(enum file_state state)
{
	if (state == FILE_IRREGULAR)
		return "it is no regular file";
	if (state == FILE_TOO_LONG)
		return "it is longer than 4 MiB";
	return errno == ELOOP ? "it is a link" : strerror(errno);
}

static struct answer read_docker_file(int directory, const char *path, const char *name, struct buffer *into)
{
	struct stat status;
	enum file_state state = read_file(directory, name, O_NOFOLLOW, MAX_TEXT, into, &status);

	if (state != FILE_READ)
		return failed("cannot read %s/%s: %s; create the container again, docker writes it for each container", path, name,
			      why_not_read(state));
	if (status.st_uid != geteuid())
		return failed("%s/%s belongs to uid %u, so it is not docker's own; mount no file from there", path, name,
			      (unsigned)status.st_uid);
	return (struct answer){ .kind = UNCHANGED };
}

static struct answer read_directory(int directory, const char *path, struct texts *texts)
{
	struct answer answer = read_docker_file(directory, path, KNOWN, &texts->container);

	return answer.kind == FAILED ? answer : read_docker_file(directory, path, "hostconfig.json", &texts->host);
}

/*
 * For a container in which the user has mounted other files in place of all of docker's: its root, which no user can
 * choose, is in docker's data directory, too. Returns the container's directory in it, or -1.
 */
static int open_beside_root(const char *id, const struct texts *texts, char **path)
{
	size_t length;
	const char *root = root_path(&texts->config, &length);

	if (root == NULL || !is_docker_id(id, strlen(id)) || memchr(root, '\\', length) != NULL)
		return -1;
	for (const char *slash; (slash = memrchr(root, '/', length)) != NULL && slash > root; ) {
		length = slash - root;
		*path = joined("%.*s" CONTAINERS "%s", (int)length, root, id);
		int directory = fd_above_stdio(open(*path, O_PATH | O_DIRECTORY | O_CLOEXEC));
		if (directory >= 0 && faccessat(directory, KNOWN, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			return directory;
		if (directory >= 0)
			close(directory);
		free(*path);
		*path = NULL;
	}
	return -1;
}

struct answer read_docker_files(const char *id, struct texts *texts)
{
	struct search search = { .id = id };
	struct answer answer = { .kind = UNCHANGED };

	each_string(&texts->config, "\"source\"", examine_source, &search);
	char *beside = NULL;
	const char *path = search.own != NULL ? search.own : search.another;
	int directory = path == NULL ? -1 : fd_above_stdio(open(path, O_PATH | O_DIRECTORY | O_CLOEXEC));
	if (directory < 0 && search.own != NULL)
		answer = failed("cannot open %s: %s; create the container again, docker writes it for each container", path,
				strerror(errno));
	else if (directory < 0 && (directory = open_beside_root(id, texts, &beside)) >= 0)
		path = beside;
	if (directory >= 0) {
		answer = read_directory(directory, path, texts);
		close(directory);
	} else if (search.escaped && search.own == NULL) {
		answer = failed("docker's data directory has a name that is not plain text; give dockerd another one (data-root)");
	}
	free(beside);
	free(search.own);
	free(search.another);
	return answer;
}
