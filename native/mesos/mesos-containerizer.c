/*
 * mesos-containerizer: run by a Mesos agent and its executors in place of Mesos' own helper.
 *
 * Responsibilities:
 *   - distinguish the launch of a container that may need GPUs, and of a command in one, from every other call
 *   - such a launch: send its launch info to the daemon, and replace it by the one in the answer
 *   - if the daemon refuses, or cannot be reached: have the launch of a container fail with the reason in the task's
 *     sandbox; a command is launched unchanged
 *   - make messages there survive the agent's fetcher, which empties these files
 *   - in the end become the real helper, with the same arguments and descriptors
 *
 * Not its job: the contents of a launch info, the choice of GPUs, mounts, device nodes and cgroups. It does not
 * parse a launch info; it only inserts a refusal before the last brace.
 *
 * It runs as root beside containers with images that may be hostile, and the second call of a command task has
 * the environment of the task. So it is linked statically, and it does not search for anything: 'jnvdocker
 * mesos install' writes the paths into the copy that it installs. Nor are they relative to its own file,
 * since an agent may run a copy that exists only in memory.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "query.h"
#include "base.h"
#include "files.h"
#include "frames.h"
#include "json.h"
#include "remarks.h"

/* The agent reports "exited with status 125"; elsewhere it is our own code for a failure, too. */
const int failure_code = 125;

#define LAUNCH_INFO "MESOS_CONTAINERIZER_LAUNCH_INFO"
#define RUNTIME_DIRECTORY "MESOS_CONTAINERIZER_RUNTIME_DIRECTORY"
#define NAMESPACE_TARGET "MESOS_CONTAINERIZER_NAMESPACE_MNT_TARGET"
#define PIPE_READ "MESOS_CONTAINERIZER_PIPE_READ"
#define LAUNCH_INFO_ARGUMENT "--launch_info="
#define CONTAINERS "/containers/"

/* The place of the driver volume in a container, as a list of mounts shows it; on the host it is elsewhere. */
#define DRIVER_VOLUME "/usr/local/nvidia "

enum { MAX_CONFIG = 4 << 20, MAX_MOUNTINFO = 64 << 20 };
/* An agent gives an executor a minute to register, unless configured otherwise. Tests have less time. */
#ifndef SILENCE_MS
#define SILENCE_MS 50000
#endif
/* A task that was already let in is not delayed because of a variable. */
enum { TASK_ANSWER_MS = 5000 };

/*
 * The settings of this host: 'jnvdocker mesos install' searches this file for the mark, and writes absolute paths
 * behind it. The mark must occur once in the file, so nothing else here may spell it.
 */
struct settings {
	char mark[32];
	char helper[4096];
	char prestart[4096];
	char socket[108];
};

static const struct words words = {
	.program = "mesos-containerizer",
	.text = "launch info",
	.install = "jnvdocker mesos install",
	.again = "run the task again",
};

/* Volatile, so that the compiler does not assume the value from before the installer has written. */
static const volatile struct settings settled __attribute__((used)) = { .mark = "jnvdocker-mesos-settings-1" };

/* Returns when the agent's fetcher is done; what it has emptied is written again. */
static void await_fetcher(struct remarks *remarks)
{
	const char *pipe = getenv(PIPE_READ);
	char *end;

	if (pipe == NULL || *pipe < '0' || *pipe > '9')
		return;
	long descriptor = strtol(pipe, &end, 10);

	if (*end == '\0' && descriptor <= INT_MAX)
		outlast_fetcher(remarks, descriptor);
}

static void fail(struct remarks *remarks, const char *format, ...) __attribute__((noreturn, format(printf, 2, 3)));

/* Like die, but the reason survives the agent's fetcher in the sandbox. */
static void fail(struct remarks *remarks, const char *format, ...)
{
	char *text, *line;
	va_list arguments;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		die("out of memory; free some and try again");
	va_end(arguments);
	line = joined("jnvdocker: %s\n", text);
	say(remarks, line, strlen(line));
	await_fetcher(remarks);
	exit(failure_code);
}

static void read_settings(struct settings *settings, struct remarks *remarks)
{
	if (!copy_embedded_path(settings->helper, settled.helper, sizeof settings->helper) ||
	    !copy_embedded_path(settings->prestart, settled.prestart, sizeof settings->prestart) ||
	    !copy_embedded_path(settings->socket, settled.socket, sizeof settings->socket))
		fail(remarks, "this copy of mesos-containerizer is not installed; run 'jnvdocker mesos install'");
}

static void become_helper(const struct settings *settings, struct remarks *remarks, char **argv) __attribute__((noreturn));

static void become_helper(const struct settings *settings, struct remarks *remarks, char **argv)
{
	hand_on(remarks);
	execv(settings->helper, argv);
	fail(remarks, "cannot run '%s': %s; if Mesos's helpers are in another directory, run 'jnvdocker mesos install"
	     " --mesos-libexec DIR'", settings->helper, strerror(errno));
}

/* ---- which calls concern the daemon ---------------------------------------------------------- */

/* False if the file does not exist, cannot be read, or exceeds the limit. */
static bool read_whole(const char *path, size_t limit, struct buffer *into)
{
	struct stat status;

	return read_file(AT_FDCWD, path, 0, limit, into, &status) == FILE_READ;
}

/* Where /containers/ID begins at the end of a path; NULL if the path does not end like that. */
static char *last_container(const char *path)
{
	char *id = strrchr(path, '/');

	if (id == NULL || id[1] == '\0' || id - path < (long)sizeof CONTAINERS - 2)
		return NULL;
	char *containers = id - (sizeof CONTAINERS - 2);
	return has_prefix(containers, CONTAINERS) ? containers : NULL;
}

/*
 * Whether the agent's file about a container mentions GPUs. A wrong yes costs a query; a wrong no would start a
 * container without its GPUs. If it cannot be read, the daemon reports the fault.
 */
static bool config_may_need_gpus(const char *directory)
{
	static const char *const words[] = { "gpus", "gpu_uuids", "com.nvidia.", "NVIDIA_", NULL };
	struct buffer config = { 0 };
	char *path = joined("%s/config", directory);
	bool found = !read_whole(path, MAX_CONFIG, &config);

	for (const char *const *word = words; *word != NULL && !found; word++)
		found = contains(&config, *word);
	free(config.data);
	free(path);
	return found;
}

/* The same for a container and for those that it is nested in, since it may have their GPUs. */
static bool may_need_gpus(const char *runtime_directory)
{
	char *directory = joined("%s", runtime_directory);
	bool found = config_may_need_gpus(directory);

	for (char *end; !found && (end = last_container(directory)) != NULL; ) {
		*end = '\0';
		if (last_container(directory) == NULL)
			break;
		found = config_may_need_gpus(directory);
	}
	free(directory);
	return found;
}

/*
 * Whether a process is in a container that has the driver volume; true if that is unknown.
 *
 * process: its pid, or "self"
 */
static bool has_driver_volume(const char *process)
{
	struct buffer mounts = { 0 };
	char *path = joined("/proc/%s/mountinfo", process);
	bool found = !read_whole(path, MAX_MOUNTINFO, &mounts) || contains(&mounts, DRIVER_VOLUME);

	free(mounts.data);
	free(path);
	return found;
}

/* ---- refusing -------------------------------------------------------------------------------- */

/*
 * The launch info with a command that prints the reason and fails, before the container's own. It is inserted
 * before the last brace: Mesos takes the last of two keys of the same name, and nothing of this launch is to
 * succeed anyway. A launch that failed with our own exit code would be reported as something else.
 */
static char *refusal(const struct settings *settings, struct remarks *remarks, const char *launch_info,
		     const char *reason)
{
	static const char blanks[] = " \t\r\n";
	struct buffer text = { 0 };
	size_t end = strlen(launch_info), inner;

	while (end > 0 && strchr(blanks, launch_info[end - 1]) != NULL)
		end--;
	if (end < 2 || launch_info[strspn(launch_info, blanks)] != '{' || launch_info[end - 1] != '}')
		fail(remarks, "%s; besides, " LAUNCH_INFO " is not a JSON object: see the agent's log", reason);
	inner = end - 1;
	while (inner > 0 && strchr(blanks, launch_info[inner - 1]) != NULL)
		inner--;
	put_bytes(&text, launch_info, inner);
	put_text(&text, inner > 0 && launch_info[inner - 1] == '{' ? "" : ",");
	put_text(&text, "\"pre_exec_commands\":[{\"shell\":false,\"value\":");
	put_json(&text, settings->prestart);
	put_text(&text, ",\"arguments\":[\"jnvdocker-prestart\",\"refuse\",");
	put_json(&text, reason);
	put_text(&text, "]}]");
	put_bytes(&text, launch_info + inner, strlen(launch_info) - inner + 1);
	return text.data;
}

/* ---- the calls that are edited --------------------------------------------------------------- */

/* Whether the kernel accepts a variable or an argument of that name and value: at most 32 pages. */
static bool fits(const char *name, const char *value)
{
	return strlen(name) + strlen(value) < 32 * (size_t)sysconf(_SC_PAGESIZE);
}

/* The same environment with that variable only once, in the place of its first occurrence. */
static void set_variable(const char *name, const char *value)
{
	char **to = environ;
	bool set = false;
	size_t length = strlen(name);

	for (char **from = environ; *from != NULL; from++) {
		if (strncmp(*from, name, length) != 0 || (*from)[length] != '=')
			*to++ = *from;
		else if (!set) {
			*to++ = joined("%s=%s", name, value);
			set = true;
		}
	}
	*to = NULL;
}

static struct answer query_mesos(const struct settings *settings, struct query query)
{
	char *const variables[] = { joined("JNVDOCKER_PRESTART=%s", settings->prestart), NULL };

	query.words = &words;
	query.socket = settings->socket;
	query.variables = variables;
	struct answer answer = query_daemon(&query);
	free(variables[0]);
	return answer;
}

/* The agent launches a container. */
static void edit_launch(const struct settings *settings, struct remarks *remarks, const char *runtime_directory,
			const char *launch_info)
{
	char *const arguments[] = { "mesos", "launch", (char *)runtime_directory, (char *)launch_info, NULL };
	struct answer answer = query_mesos(settings, (struct query){
		.arguments = arguments, .patience_ms = SILENCE_MS, .return_ms = RETURN_MS, .listener = &remarks->listener,
	});

	if (answer.kind == UNCHANGED)
		return;
	if (answer.kind == CHANGED && !fits(LAUNCH_INFO "=", answer.text))
		answer = failed("the launch info of this container has %zu bytes with its GPUs, more than the kernel takes in a"
				" variable; give the task fewer variables, volumes or arguments", strlen(answer.text));
	char *text = answer.kind == CHANGED ? answer.text : refusal(settings, remarks, launch_info, answer.text);
	if (!fits(LAUNCH_INFO "=", text))
		fail(remarks, "%s", answer.text);
	set_variable(LAUNCH_INFO, text);
}

static char *unchanged(const struct answer *answer)
{
	return joined("jnvdocker: %s; LD_LIBRARY_PATH stays as the task has it\n", answer->text);
}

/*
 * A health check or a session enters a task's container. Mesos gives it the environment of the image and the task,
 * without the daemon's additions for the task. No jnvdocker-prestart runs in it, to write remarks after the fetcher.
 */
static void edit_session(const struct settings *settings, struct remarks *remarks, const char *target,
			 const char *launch_info)
{
	char *const arguments[] = { "mesos", "launch-session", (char *)target, (char *)launch_info, NULL };
	struct answer answer = query_mesos(settings, (struct query){
		.arguments = arguments, .patience_ms = TASK_ANSWER_MS, .in_all = true,
	});

	if (answer.kind == CHANGED && !fits(LAUNCH_INFO "=", answer.text))
		answer = failed("the launch info of this command is longer than the kernel takes in a variable; give it fewer"
				" variables or arguments");
	if (answer.kind == CHANGED)
		set_variable(LAUNCH_INFO, answer.text);
	if (answer.kind == FAILED) {
		char *line = unchanged(&answer);

		say(remarks, line, strlen(line));
		await_fetcher(remarks);
		forget(remarks);
		free(line);
	}
}

/* The executor of a command task launches the task itself: only its environment may be changed. */
static void edit_task(const struct settings *settings, char **argument)
{
	char *launch_info = *argument + strlen(LAUNCH_INFO_ARGUMENT);
	char *const arguments[] = { "mesos", "launch-task", launch_info, NULL };
	struct answer answer = query_mesos(settings, (struct query){
		.arguments = arguments, .patience_ms = TASK_ANSWER_MS, .in_all = true,
	});

	if (answer.kind == CHANGED && !fits(LAUNCH_INFO_ARGUMENT, answer.text))
		answer = failed("the launch info of this task is longer than the kernel takes in an argument; give it fewer"
				" variables or arguments");
	if (answer.kind == CHANGED)
		*argument = joined(LAUNCH_INFO_ARGUMENT "%s", answer.text);
	if (answer.kind == FAILED) {
		char *line = unchanged(&answer);

		/* The fetcher was done before the executor ran. */
		remark(line, strlen(line));
		free(line);
	}
}

static char **launch_info_argument(char **argv)
{
	for (char **argument = argv + 2; *argument != NULL; argument++)
		if (has_prefix(*argument, LAUNCH_INFO_ARGUMENT))
			return argument;
	return NULL;
}

int main(int argc, char **argv)
{
	struct settings settings;
	struct remarks remarks;

	open_remarks(&remarks);
	read_settings(&settings, &remarks);
	if (argc >= 2 && strcmp(argv[1], "launch") == 0) {
		const char *runtime_directory = getenv(RUNTIME_DIRECTORY);
		const char *launch_info = getenv(LAUNCH_INFO);
		const char *target = getenv(NAMESPACE_TARGET);
		char **argument = launch_info_argument(argv);

		if (argument != NULL) {
			if (has_driver_volume("self"))
				edit_task(&settings, argument);
		} else if (runtime_directory == NULL || launch_info == NULL) {
			/* Not from an agent. */
		} else if (target != NULL) {
			if (*target != '\0' && target[strspn(target, "0123456789")] == '\0' && has_driver_volume(target))
				edit_session(&settings, &remarks, target, launch_info);
		} else {
			if (may_need_gpus(runtime_directory))
				edit_launch(&settings, &remarks, runtime_directory, launch_info);
		}
	}
	become_helper(&settings, &remarks, argv);
}
