#define _GNU_SOURCE
#include "docker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base.h"
#include "files.h"

/* What copies of this program are recognized by; docker is larger. */
#define MARK "jnvdocker-client-1-in-place-of-docker"
enum { MAX_SELF = 4 << 20 };
/* How many programs may be run in place of docker, of one digit. */
enum { MAX_ROUNDS = 8 };

#define NAME_DOCKER "install docker, or name it in NV_DOCKER"

/* Whether a program is this one or a copy of it, of any version: one that has the mark, too. */
static bool is_ourselves(const char *path, const struct stat *file)
{
	struct stat self;
	struct buffer text = { 0 };

	if (stat("/proc/self/exe", &self) == 0 && self.st_dev == file->st_dev && self.st_ino == file->st_ino)
		return true;
	bool ours = file->st_size <= MAX_SELF && read_file(AT_FDCWD, path, 0, MAX_SELF, &text, &self) == FILE_READ &&
		    text.length > 4 && memcmp(text.data, "\177ELF", 4) == 0 && memmem(text.data, text.length, MARK, strlen(MARK)) != NULL;
	free(text.data);
	return ours;
}

void count_rounds(void)
{
	const char *text = getenv(ROUNDS);
	bool digit = text != NULL && text[0] >= '0' && text[0] <= '9' && text[1] == '\0';
	int rounds = digit ? text[0] - '0' + 1 : 1;

	if (rounds > MAX_ROUNDS)
		die("docker and jnvdocker have run each other %d times; let NV_DOCKER name the real docker", MAX_ROUNDS);
	char *next = joined("%d", rounds);
	setenv(ROUNDS, next, 1);
	free(next);
}

/* The first program of that name in PATH other than this one, which may be installed as docker, and its copies. */
static char *find_program(const char *name)
{
	const char *path = getenv("PATH");
	struct stat file;

	if (strchr(name, '/') != NULL) {
		if (stat(name, &file) == 0 && S_ISREG(file.st_mode) && is_ourselves(name, &file))
			die("NV_DOCKER names jnvdocker itself (%s); let it name docker", shown(name));
		return joined("%s", name);
	}
	if (path == NULL)
		path = "/usr/local/bin:/usr/bin:/bin";
	for (const char *end; ; path = end + 1) {
		char *candidate;

		end = strchrnul(path, ':');
		candidate = joined("%.*s/%s", end > path ? (int)(end - path) : 1, end > path ? path : ".", name);
		if (stat(candidate, &file) == 0 && S_ISREG(file.st_mode) && access(candidate, X_OK) == 0 &&
		    !is_ourselves(candidate, &file))
			return candidate;
		free(candidate);
		if (*end == '\0')
			return NULL;
	}
}

char **docker_command(bool needed)
{
	const char *setting = getenv("NV_DOCKER");
	char *words = joined("%s", setting != NULL ? setting : "");
	char **command = NULL;
	size_t count = 0;

	for (char *word = strtok(words, " \t\n"); word != NULL; word = strtok(NULL, " \t\n")) {
		command = allocate(command, (count + 2) * sizeof *command);
		command[count++] = word;
	}
	if (count == 0) {
		command = allocate(command, 2 * sizeof *command);
		command[count++] = "docker";
	}
	command[count] = NULL;
	char *program = find_program(command[0]);
	if (program == NULL && !needed)
		return command;
	if (program == NULL)
		die("cannot find '%s' in PATH (%s) other than jnvdocker itself; %s", shown(command[0]),
		    getenv("PATH") != NULL ? getenv("PATH") : "not set",
		    setting != NULL ? "let NV_DOCKER name docker" : NAME_DOCKER);
	command[0] = program;
	return command;
}

void become(char **argv)
{
	execvp(argv[0], argv);
	int reason = errno;
	die("cannot run '%s': %s; " NAME_DOCKER, shown(argv[0]), strerror(reason));
}

char **typed_docker(int argc, char **argv)
{
	char **command = docker_command(true);
	size_t count = 0;

	while (command[count] != NULL)
		count++;
	command = allocate(command, (count + argc) * sizeof *command);
	memcpy(command + count, argv + 1, argc * sizeof *argv);
	return command;
}

void become_docker(int argc, char **argv)
{
	become(typed_docker(argc, argv));
}
