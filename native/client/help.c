#define _GNU_SOURCE
#include "help.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base.h"
#include "client.h"
#include "command.h"
#include "docker.h"
#include "files.h"

/* The exit code of our commands for wrong usage; jnvdocker.protocol.ExitCode has it too. */
enum { EXIT_USAGE = 2 };
enum { MAX_HELP = 1 << 16 };

/* A file per command, such as gpu-ls, which the build makes of the specifications by which the daemon parses. */
static char *help_path(const char *name)
{
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

	if (length < 0)
		die("cannot read /proc/self/exe: %s; mount /proc", strerror(errno));
	self[length] = '\0';
	*strrchr(self, '/') = '\0';
	return joined("%s/../lib/help/%s", self, name);
}

static bool read_help(const char *name, struct buffer *text)
{
	struct stat status;
	char *path = help_path(name);
	enum file_state state = read_file(AT_FDCWD, path, 0, MAX_HELP, text, &status);

	if (state != FILE_READ && !(state == FILE_UNREADABLE && errno == ENOENT))
		die("cannot read %s: %s; install jnvdocker again", path,
		    state == FILE_UNREADABLE ? strerror(errno) : "it is no help text");
	free(path);
	return state == FILE_READ;
}

static void read_help_of(const char *group, const char *command, struct buffer *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
	char *name = *command == '\0' ? joined("%s", group) : joined("%s-%s", group, command);

	if (strspn(command, letters) != strlen(command) || !read_help(name, text)) {
		fprintf(stderr, "jnvdocker: no such command: %s; see 'jnvdocker %s --help'\n", shown(command), group);
		exit(EXIT_USAGE);
	}
	free(name);
}

static bool is_help_option(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* Whether the help text names an option with a value, which may be the next word. */
static bool takes_value(const struct buffer *text, const char *option)
{
	char *with_value = joined("%s=", option);
	bool takes = contains(text, with_value);

	free(with_value);
	return takes;
}

/*
 * Whether the words behind a command include the option for help.
 *
 * text: the help on a command behind whose options another program's words follow; else NULL
 */
static bool has_help_option(char *const *words, const struct buffer *text)
{
	for (; *words != NULL && strcmp(*words, "--") != 0; words++) {
		if (is_help_option(*words))
			return true;
		if (text == NULL)
			continue;
		if (**words != '-')
			return false;
		if (takes_value(text, *words) && words[1] != NULL)
			words++;
	}
	return false;
}

/* The help on docker's own options is docker's. */
static bool read_help_of_run(char *const *words, struct buffer *text)
{
	for (; *words != NULL && **words == '-' && strcmp(*words, "--") != 0; words++)
		if (strcmp(*words, "--help") == 0)
			return read_help("run", text);
	return false;
}

static bool read_requested_help(char *const *words, struct buffer *text)
{
	const char *group = *words++;

	if (strcmp(group, "container") == 0) {
		while (*words != NULL && **words == '-')
			words++;
		group = *words++;
	}
	if (strcmp(group, "run") == 0 || strcmp(group, "create") == 0)
		return read_help_of_run(words, text);
	if (*words == NULL || is_help_option(*words)) {
		read_help_of(group, "", text);
		return true;
	}
	if (strcmp(*words, "help") == 0) {
		read_help_of(group, words[1] == NULL ? "" : is_help_option(words[1]) ? "help" : words[1], text);
		return true;
	}
	if (**words == '-')
		return false;
	const char *command = *words++;
	bool starts = strcmp(group, "gpu") == 0 && (strcmp(command, "run") == 0 || strcmp(command, "submit") == 0);

	if (starts && !read_help(strcmp(command, "run") == 0 ? "gpu-run" : "gpu-submit", text))
		return false;
	if (!has_help_option(words, starts ? text : NULL)) {
		text->length = 0;
		return false;
	}
	if (!starts)
		read_help_of(group, command, text);
	return true;
}

void add(int stream, bool always, const char *text, int argc, char **argv)
{
	const struct sigaction standard = { .sa_handler = SIG_DFL };
	char **docker = typed_docker(argc, argv);
	int status;

	/* If the caller ignores SIGCHLD, a child leaves no exit code. */
	sigaction(SIGCHLD, &standard, NULL);
	pid_t child = fork();
	if (child < 0)
		die("cannot run '%s': %s; " LIMITS, shown(docker[0]), strerror(errno));
	if (child == 0)
		become(docker);
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			die("cannot wait for '%s': %s; try again", shown(docker[0]), strerror(errno));
	if (WIFSIGNALED(status))
		exit(128 + WTERMSIG(status));
	if ((always || WEXITSTATUS(status) == 0) && !write_all(stream, text, strlen(text)))
		die("cannot write to standard output: %s; check its destination", strerror(errno));
	exit(WEXITSTATUS(status));
}

void help(int argc, char **argv)
{
	/* Docker takes a missing command for a mistake. */
	add(argc == 1 ? 2 : 1, false,
	    "\njnvdocker adds:\n"
	    "  run, create  Give the container free GPUs: see 'jnvdocker run --help'\n"
	    "  gpu          Show and manage this host's GPUs, their leases and the driver\n"
	    "  k8s          Label a Kubernetes node with its GPUs\n"
	    "  mesos        Set up a Mesos agent\n"
	    "  runtime      Set up docker, podman or containerd\n"
	    "Run 'jnvdocker gpu --help' for more on these commands.\n",
	    argc, argv);
}

void help_without_daemon(int argc, char **argv)
{
	char **words = argv + first_operand(argc, argv);
	struct buffer text = { 0 };

	if (!read_requested_help(words, &text))
		return;
	put_bytes(&text, "", 1);
	if (!is_our_own(*words))
		add(1, false, text.data, argc, argv);
	if (!write_all(1, text.data, strlen(text.data)))
		die("cannot write to standard output: %s; check its destination", strerror(errno));
	exit(EXIT_SUCCESS);
}
