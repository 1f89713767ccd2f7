/*
 * mesos-containerizer: what a Mesos agent and its executors run in place of Mesos' own helper.
 *
 * Responsibilities:
 *   - tell the launch of a container that may need GPUs from every other call
 *   - such a launch: ask the daemon, put the launch info that it answers with in the place of the old one
 *   - where the daemon can't be asked: have the launch fail with the reason in the task's sandbox
 *   - in the end become the real helper, with the same arguments and descriptors
 *
 * Not its business: what is in a launch info, who gets which GPU, mounts, device nodes and cgroups. Only
 * the end of a launch info is looked at, to write the refusal there.
 *
 * It runs as root beside containers whose images are hostile, and the second call of a command task has
 * the environment of the task. So it is static, and where things are is not found out but settled: 'jnvdocker
 * mesos install' writes it into the copy that it lays out. Not relative to itself either, for an agent
 * may run a copy of it that is in memory alone.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base.h"
#include "frames.h"

/* The agent says "exited with status 125"; it is our own code for a failure elsewhere, too. */
const int failure_code = 125;

#define LAUNCH_INFO "MESOS_CONTAINERIZER_LAUNCH_INFO"
#define RUNTIME_DIRECTORY "MESOS_CONTAINERIZER_RUNTIME_DIRECTORY"
#define NAMESPACE_TARGET "MESOS_CONTAINERIZER_NAMESPACE_MNT_TARGET"
#define LAUNCH_INFO_ARGUMENT "--launch_info="
#define CONTAINERS "/containers/"
#define LOOK_AT_LOG "look into the log of jnvdockerd, then run the task again"

/* Where a container has the driver volume, as a list of mounts has it; the host has it elsewhere. */
#define DRIVER_VOLUME "/usr/local/nvidia "

enum { MAX_CONFIG = 4 << 20, MAX_MOUNTINFO = 64 << 20 };
/* An upgrade of the daemon takes a while. */
enum { RETURN_MS = 10000, RETURN_POLL_MS = 100, ATTEMPTS = 3 };
/* An agent gives an executor a minute to register, unless it is told otherwise. Tests have less time. */
#ifndef SILENCE_MS
#define SILENCE_MS 50000
#endif
/* A task that was let in already is not held up for the sake of a variable. */
enum { TASK_ANSWER_MS = 5000 };

/*
 * Where things are: 'jnvdocker mesos install' looks for the mark in this file, and writes absolute paths behind
 * it. The mark must come once in the file, so nothing else here may spell it.
 */
struct settings {
	char mark[32];
	char helper[4096];
	char prestart[4096];
	char socket[108];
};

/* Volatile, so that the compiler does not take it for what it is before the installer has written. */
static const volatile struct settings settled __attribute__((used)) = { .mark = "jnvdocker-mesos-settings-1" };

/* How it went with the daemon. */
struct answer {
	enum { UNCHANGED, CHANGED, FAILED } kind;
	char *text; /* the new launch info, or why there is none */
};

struct question {
	const struct settings *settings;
	char *const *arguments;
	/* For how long the daemon may say nothing, or, in all, until it has said everything. */
	long patience_ms;
	bool in_all;
	/* For how long to wait for a daemon that is not there. */
	long return_ms;
};

static struct answer failed(const char *format, ...) __attribute__((format(printf, 1, 2)));

static struct answer failed(const char *format, ...)
{
	struct answer answer = { .kind = FAILED };
	va_list arguments;

	va_start(arguments, format);
	if (vasprintf(&answer.text, format, arguments) < 0)
		die("out of memory; free some and try again");
	va_end(arguments);
	return answer;
}

static void copy_settled(char *to, const volatile char *from, size_t size)
{
	for (size_t i = 0; i < size; i++)
		to[i] = from[i];
	if (to[0] != '/' || memchr(to, '\0', size) == NULL)
		die("this mesos-containerizer does not know Mesos' own one, which it stands for; run 'jnvdocker mesos install'");
}

static void read_settings(struct settings *settings)
{
	copy_settled(settings->helper, settled.helper, sizeof settings->helper);
	copy_settled(settings->prestart, settled.prestart, sizeof settings->prestart);
	copy_settled(settings->socket, settled.socket, sizeof settings->socket);
}

static void become_helper(const struct settings *settings, char **argv) __attribute__((noreturn));

static void become_helper(const struct settings *settings, char **argv)
{
	execv(settings->helper, argv);
	die("cannot run '%s': %s; if Mesos' helpers are elsewhere, run 'jnvdocker mesos install' again", settings->helper,
	    strerror(errno));
}

/* ---- files ----------------------------------------------------------------------------------- */

/* False when there is no such file, it can't be read, or it is longer than that. */
static bool read_file(const char *path, size_t limit, struct buffer *into)
{
	char bytes[16384];
	struct stat status;
	ssize_t count = -1;
	/* A pipe in the place of a file must not hold us up. */
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (file < 0)
		return false;
	if (fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
		while (into->length <= limit && ((count = read(file, bytes, sizeof bytes)) > 0 || (count < 0 && errno == EINTR)))
			put_bytes(into, bytes, count > 0 ? (size_t)count : 0);
	}
	close(file);
	return count == 0 && into->length <= limit;
}

static bool contains(const struct buffer *text, const char *word)
{
	return text->length > 0 && memmem(text->data, text->length, word, strlen(word)) != NULL;
}

/* ---- which calls concern the daemon ---------------------------------------------------------- */

/* Where a path ends in /containers/ID, where that begins; else NULL. */
static char *last_container(const char *path)
{
	char *id = strrchr(path, '/');

	if (id == NULL || id[1] == '\0' || id - path < (long)sizeof CONTAINERS - 2)
		return NULL;
	char *containers = id - (sizeof CONTAINERS - 2);
	return has_prefix(containers, CONTAINERS) ? containers : NULL;
}

/*
 * Whether what the agent keeps of a container says anything of GPUs. A wrong yes costs a question; a
 * wrong no would start a container without its GPUs. Where it can't be read, the daemon says what is wrong.
 */
static bool config_may_need_gpus(const char *folder)
{
	static const char *const words[] = { "gpus", "gpu_uuids", "com.nvidia.", "NVIDIA_", NULL };
	struct buffer config = { 0 };
	char *path = joined("%s/config", folder);
	bool found = !read_file(path, MAX_CONFIG, &config);

	for (const char *const *word = words; *word != NULL && !found; word++)
		found = contains(&config, *word);
	free(config.data);
	free(path);
	return found;
}

/* The same of a container and of those that it is nested in, for it may have their GPUs. */
static bool may_need_gpus(const char *runtime_directory)
{
	char *folder = joined("%s", runtime_directory);
	bool found = config_may_need_gpus(folder);

	for (char *end; !found && (end = last_container(folder)) != NULL; ) {
		*end = '\0';
		if (last_container(folder) == NULL)
			break;
		found = config_may_need_gpus(folder);
	}
	free(folder);
	return found;
}

/* Whether this process is in a container that has the driver volume; yes when that can't be seen. */
static bool has_driver_volume(void)
{
	struct buffer mounts = { 0 };
	bool found = !read_file("/proc/self/mountinfo", MAX_MOUNTINFO, &mounts) || contains(&mounts, DRIVER_VOLUME);

	free(mounts.data);
	return found;
}

/* ---- asking the daemon ----------------------------------------------------------------------- */

/* Like receive, with a time at which it must have come; false with errno 0 when the daemon is gone. */
static bool receive_by(int connection, void *into, size_t length, long deadline)
{
	for (size_t got = 0; got < length; ) {
		struct pollfd ready = { .fd = connection, .events = POLLIN };
		long left = deadline - milliseconds();
		int state = left > 0 ? poll(&ready, 1, left) : 0;

		if (state < 0 && errno == EINTR)
			continue;
		if (state == 0)
			errno = ETIMEDOUT;
		if (state <= 0)
			return false;
		ssize_t count = read(connection, (char *)into + got, length - got);
		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0) {
			errno = 0;
			return false;
		}
		got += count;
	}
	return true;
}

static void send_request(int connection, const struct question *question)
{
	char *const docker[] = { "docker", NULL };
	char *const variables[] = { joined("JNVDOCKER_PRESTART=%s", question->settings->prestart), NULL };
	struct buffer request = { 0 };

	put_number(&request, PROTOCOL_VERSION);
	put_number(&request, 0); /* no terminal */
	put_number(&request, 0); /* and so no columns */
	put_string(&request, "/");
	put_list(&request, docker);
	put_list(&request, question->arguments);
	put_list(&request, variables);
	send_frame(connection, FRAME_REQUEST, &request);
	free(request.data);
	free(variables[0]);
}

/* Whether it is what the real helper can be given, if not what the daemon meant. */
static bool is_object(const struct buffer *text)
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

static struct answer answered(uint32_t code, const struct buffer *said)
{
	if (code != 0)
		return failed("jnvdockerd failed with code %u; " LOOK_AT_LOG, code);
	if (said->length == 0)
		return (struct answer){ .kind = UNCHANGED };
	if (!is_object(said))
		return failed("jnvdockerd sent a launch info that is no JSON object; " LOOK_AT_LOG);
	return (struct answer){ .kind = CHANGED, .text = joined("%.*s", (int)said->length, said->data) };
}

/* What was heard of the daemon, or of one after the other. */
struct talk {
	bool heard;      /* so that something may have been done already */
	bool faithful;   /* whether to ask again when it goes away */
	bool deserted;
	long patient_to; /* until when something must be heard */
	struct buffer said;
};

static struct answer deserted(const struct question *question, struct talk *talk)
{
	talk->deserted = errno == 0;
	if (talk->deserted)
		return failed("jnvdockerd went away before it had answered; " LOOK_AT_LOG);
	return failed("jnvdockerd did not answer within %ld s; " LOOK_AT_LOG, question->patience_ms / 1000);
}

static struct answer listen_to(int connection, const struct question *question, struct talk *talk)
{
	for (;;) {
		unsigned char header[5];
		uint32_t code = 0;

		if (!receive_by(connection, header, sizeof header, talk->patient_to))
			return deserted(question, talk);
		talk->heard = true;
		uint32_t length = (uint32_t)header[1] << 24 | (uint32_t)header[2] << 16 | (uint32_t)header[3] << 8 | header[4];
		if (length > MAX_FRAME || talk->said.length + length > MAX_FRAME)
			return failed("jnvdockerd sent a frame of %u bytes; restart jnvdockerd", length);
		char *bytes = allocate(NULL, (size_t)length + 1);
		if (!receive_by(connection, bytes, length, talk->patient_to)) {
			free(bytes);
			return deserted(question, talk);
		}
		if (!question->in_all)
			talk->patient_to = milliseconds() + question->patience_ms;
		switch (header[0]) {
		case FRAME_OUT:
			put_bytes(&talk->said, bytes, length);
			break;
		case FRAME_ERR:
			remark(bytes, length);
			break;
		case FRAME_WAIT:
			talk->faithful = true;
			break;
		case FRAME_EXIT:
			for (uint32_t i = 0; i < length && i < 4; i++)
				code = code << 8 | (unsigned char)bytes[i];
			free(bytes);
			if (length != 4)
				return failed("jnvdockerd sent an exit code of %u bytes; restart jnvdockerd", length);
			return answered(code, &talk->said);
		default:
			free(bytes);
			return failed("jnvdockerd sent a frame of unknown type %u; mesos-containerizer and daemon are of different"
				      " versions, run 'jnvdocker mesos install' again and restart jnvdockerd", header[0]);
		}
		free(bytes);
	}
}

/* A connection, or -1 with errno when there is no daemon and none comes. */
static int await_daemon(const struct question *question, long patient_to)
{
	long deadline = milliseconds() + question->return_ms;

	if (deadline > patient_to)
		deadline = patient_to;
	for (;;) {
		int connection = connect_socket(question->settings->socket, question->patience_ms);

		if (connection >= 0 || (errno != ENOENT && errno != ECONNREFUSED) || question->return_ms == 0 ||
		    milliseconds() >= deadline)
			return connection;
		usleep(RETURN_POLL_MS * 1000);
	}
}

/*
 * Asks until there is an answer. A daemon that was stopped just as we asked has done nothing, and one in
 * whose line we are keeps our place: then the next one is asked.
 */
static struct answer ask(const struct question *question)
{
	struct talk talk = { .patient_to = milliseconds() + question->patience_ms };

	for (int attempt = 1; ; attempt++) {
		int connection = await_daemon(question, talk.patient_to);

		if (connection < 0)
			return failed("no jnvdockerd answers at %s (%s); start it, 'systemctl status jnvdocker' says why it does not run",
				      question->settings->socket, strerror(errno));
		struct server server;

		if (!is_trusted(connection, &server)) {
			close(connection);
			return failed("%s is served by process %d of uid %u and not by root, whom alone root obeys; end that process",
				      question->settings->socket, (int)server.pid, (unsigned)server.uid);
		}
		talk.heard = talk.deserted = false;
		talk.said.length = 0;
		send_request(connection, question);
		struct answer answer = listen_to(connection, question, &talk);
		close(connection);
		if (talk.faithful)
			attempt = 0;
		bool again = talk.deserted && question->return_ms > 0 && (talk.faithful || (!talk.heard && attempt < ATTEMPTS));
		if (!again) {
			free(talk.said.data);
			return answer;
		}
		free(answer.text);
		usleep(RETURN_POLL_MS * 1000);
	}
}

/* ---- refusing -------------------------------------------------------------------------------- */

/* How many bytes a character of UTF-8 has that begins there, 0 when none does. */
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
		if ((at[i] & 0xc0) != 0x80) /* the zero at the end, too */
			return 0;
		code = code << 6 | (at[i] & 0x3f);
	}
	/* Longer than need be, half of a pair, beyond all characters. */
	if ((length == 3 && code < 0x800) || (code >= 0xd800 && code <= 0xdfff) || (length == 4 && code < 0x10000) ||
	    code > 0x10ffff)
		return 0;
	return length;
}

/* As a string of JSON, quotes included. What is no UTF-8 becomes the character for that. */
static void put_json(struct buffer *json, const char *text)
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

static void put_text(struct buffer *buffer, const char *text)
{
	put_bytes(buffer, text, strlen(text));
}

/*
 * The launch info with a command that says the reason and fails, before the container's own. It is written in
 * before the last brace: of a name that comes twice Mesos takes the last, and nothing of this launch is to
 * succeed anyway. A launch that fails by our own exit code would be told as something else.
 */
static char *refusal(const struct settings *settings, const char *launch_info, const char *reason)
{
	static const char blanks[] = " \t\r\n";
	struct buffer text = { 0 };
	size_t end = strlen(launch_info), inner;

	while (end > 0 && strchr(blanks, launch_info[end - 1]) != NULL)
		end--;
	if (end < 2 || launch_info[strspn(launch_info, blanks)] != '{' || launch_info[end - 1] != '}')
		die("%s; besides, " LAUNCH_INFO " is no JSON object: look into the agent's log", reason);
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

/* ---- the two calls --------------------------------------------------------------------------- */

/* Whether the kernel takes a variable or an argument of that name and value: no more than 32 pages. */
static bool fits(const char *name, const char *value)
{
	return strlen(name) + strlen(value) < 32 * (size_t)sysconf(_SC_PAGESIZE);
}

/* The same environment with that variable once, in the place where it was first. */
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

/* The agent launches a container. */
static void edit_launch(const struct settings *settings, const char *runtime_directory, const char *launch_info)
{
	char *const arguments[] = { "mesos", "launch", (char *)runtime_directory, (char *)launch_info, NULL };
	const struct question question = {
		.settings = settings, .arguments = arguments, .patience_ms = SILENCE_MS, .return_ms = RETURN_MS,
	};
	struct answer answer = ask(&question);

	if (answer.kind == UNCHANGED)
		return;
	if (answer.kind == CHANGED && !fits(LAUNCH_INFO "=", answer.text))
		answer = failed("the launch info of this container has %zu bytes with its GPUs, more than the kernel takes in a"
				" variable; give the task fewer variables, volumes or arguments", strlen(answer.text));
	char *text = answer.kind == CHANGED ? answer.text : refusal(settings, launch_info, answer.text);
	if (!fits(LAUNCH_INFO "=", text))
		die("%s", answer.text);
	set_variable(LAUNCH_INFO, text);
}

/* The executor of a command task launches the task itself: all that may change is its environment. */
static void edit_task(const struct settings *settings, char **argument)
{
	char *launch_info = *argument + strlen(LAUNCH_INFO_ARGUMENT);
	char *const arguments[] = { "mesos", "launch-task", launch_info, NULL };
	const struct question question = {
		.settings = settings, .arguments = arguments, .patience_ms = TASK_ANSWER_MS, .in_all = true,
	};
	struct answer answer = ask(&question);

	if (answer.kind == CHANGED && !fits(LAUNCH_INFO_ARGUMENT, answer.text))
		answer = failed("the launch info of this task is longer than the kernel takes in an argument; give it fewer"
				" variables or arguments");
	if (answer.kind == CHANGED)
		*argument = joined(LAUNCH_INFO_ARGUMENT "%s", answer.text);
	if (answer.kind == FAILED) {
		char *words = joined("jnvdocker: %s; LD_LIBRARY_PATH stays as the task has it\n", answer.text);

		remark(words, strlen(words));
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

	read_settings(&settings);
	if (argc >= 2 && strcmp(argv[1], "launch") == 0) {
		const char *runtime_directory = getenv(RUNTIME_DIRECTORY);
		const char *launch_info = getenv(LAUNCH_INFO);
		char **argument = launch_info_argument(argv);

		if (argument != NULL) {
			if (has_driver_volume())
				edit_task(&settings, argument);
		} else if (runtime_directory != NULL && launch_info != NULL && getenv(NAMESPACE_TARGET) == NULL) {
			if (may_need_gpus(runtime_directory))
				edit_launch(&settings, runtime_directory, launch_info);
		}
	}
	become_helper(&settings, argv);
}
