/*
 * nvidia-container-runtime: run by docker, podman and containerd in place of runc or crun.
 *
 * Responsibilities:
 *   - distinguish the creation of a container that may have GPUs from every other call
 *   - such a creation: send config.json to the daemon, and replace it by the one in the answer
 *   - if the daemon refuses, or cannot be reached: refuse, so that the engine's user reads the reason
 *   - under an engine that runs without root: refuse, or keep GPUs away, without the daemon (rootless.c)
 *   - a command in a container of ours: have the daemon add variables, if that takes no time
 *   - in the end become the real runtime, with the same arguments, variables and descriptors
 *   - under other names be hooks: the one that docker requires for --gpus, which only ever refuses; that of our CDI
 *     devices, which has the daemon lease them or refuses; and the one that shows a container its own GPUs alone (gpus.c)
 *
 * Not its business: the contents of a config.json, the choice of GPUs, mounts, device nodes and cgroups. It
 * searches the texts about a container for a few words (need.c); a container without them is started without the
 * daemon, which may be dead; no other container is.
 *
 * Engines start it as root with variables of their own choice; an empty element in their LD_LIBRARY_PATH is
 * the bundle. So it is static, trusts no variable, and has fixed paths: the installer writes them into the copy
 * that it installs.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "query.h"
#include "base.h"
#include "call.h"
#include "docker.h"
#include "files.h"
#include "frames.h"
#include "gpus.h"
#include "need.h"
#include "refusal.h"
#include "rootless.h"

#define INSTALL "jnvdocker runtime install"
/* Docker accepts --gpus only if its PATH has a program of this name. */
#define HOOK "nvidia-container-runtime-hook"
/* The name of this program in our CDI file, as its first argument. */
#define CDI_HOOK "jnvdocker-cdi-hook"
/* And in the config.json of a container with GPUs; it needs no settings. */
#define GPUS_HOOK "jnvdocker-gpus-hook"

/* The limit of the three together, so that they and a few paths fit into one frame. */
enum { MAX_TEXTS = MAX_FRAME - (1 << 20) };
/* The limit of its whole answer, of which it spends at most 2 s on GPUs that are busy. */
#ifndef ANSWER_MS
#define ANSWER_MS 10000
#endif
/* The limit of a hook's data about its container, annotations included. */
enum { MAX_STATE = 1 << 20 };
/* A command is not delayed because of variables. */
enum { EXEC_ANSWER_MS = 1000 };

/*
 * The settings of this host: the installer searches this file for the mark, and writes absolute paths behind it.
 * The mark must occur once in the file, so nothing else here may spell it.
 */
struct settings {
	char mark[32];
	char runtime[4096]; /* the real runtime */
	char markers[4096]; /* a directory with a file named like each container of ours */
	char socket[108];   /* the daemon's socket */
	char wake[108];     /* for datagrams: the id of a container that is being deleted, and the pid that does it */
};

/* Volatile, so that the compiler does not assume the value from before the installer has written. */
static const volatile struct settings settled __attribute__((used)) = { .mark = "jnvdocker-runtime-settings-1" };

static const struct words words = {
	.program = "nvidia-container-runtime",
	.text = "config.json",
	.install = INSTALL,
	.again = "start the container again",
};

static bool read_settings(struct settings *settings)
{
	return copy_embedded_path(settings->runtime, settled.runtime, sizeof settings->runtime) &&
	       copy_embedded_path(settings->markers, settled.markers, sizeof settings->markers) &&
	       copy_embedded_path(settings->socket, settled.socket, sizeof settings->socket) &&
	       copy_embedded_path(settings->wake, settled.wake, sizeof settings->wake);
}

static bool is_ourselves(const char *program)
{
	struct stat own, other;

	return stat("/proc/self/exe", &own) == 0 && stat(program, &other) == 0 && own.st_dev == other.st_dev &&
	       own.st_ino == other.st_ino;
}

static void become_runtime(const struct settings *settings, const struct call *call, char **argv) __attribute__((noreturn));

static void become_runtime(const struct settings *settings, const struct call *call, char **argv)
{
	struct answer why;

	if (is_ourselves(settings->runtime)) {
		why = failed("the runtime to run, '%s', is this nvidia-container-runtime itself; name runc or crun to '" INSTALL "'",
			     settings->runtime);
	} else {
		execv(settings->runtime, argv);
		why = failed("cannot run '%s': %s; if the runtime is elsewhere, run '" INSTALL "' again", settings->runtime,
			     strerror(errno));
	}
	refuse(call, why.text);
}

/* ---- files ----------------------------------------------------------------------------------- */

static bool write_new(int directory, const char *name, const struct stat *like, const char *text)
{
	/* Left over from a process of ours that was killed. */
	unlinkat(directory, name, 0);
	int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	int file = fd_above_stdio(openat(directory, name, flags, 0600));

	if (file < 0)
		return false;
	bool written = write_all(file, text, strlen(text)) && fchown(file, like->st_uid, like->st_gid) == 0 &&
		       fchmod(file, like->st_mode & 07777) == 0;
	int reason = errno;
	if (close(file) != 0 && written) {
		written = false;
		reason = errno;
	}
	errno = reason;
	return written;
}

/*
 * Replaces the contents of a file, atomically. False, with errno, when that fails; then nothing has changed. A
 * process of ours that is killed midway may leave a new file beside the old one; it is removed with the engine's
 * directory, or the next time.
 */
static bool replace_file(int directory, const char *name, const struct stat *old, const char *text)
{
	char *beside = joined("%s.jnvdocker", name);
	bool replaced = write_new(directory, beside, old, text) && renameat(directory, beside, directory, name) == 0;
	int reason = errno;

	if (!replaced)
		unlinkat(directory, beside, 0);
	free(beside);
	errno = reason;
	return replaced;
}

/* Makes a path absolute for processes with another working directory; empty stays empty. */
static char *absolute(const char *path)
{
	char *directory = NULL;

	if (*path == '/' || *path == '\0' || (directory = getcwd(NULL, 0)) == NULL)
		return joined("%s", path);
	char *result = joined("%s/%s", directory, path);
	free(directory);
	return result;
}

/* ---- create ---------------------------------------------------------------------------------- */

/* The directory of a container that is to be created. */
struct bundle {
	int directory;
	const char *path;
	const char *config; /* the name of config.json in it */
};

static struct answer query_create(const struct settings *settings, const struct call *call, const struct bundle *bundle,
			       const struct texts *texts)
{
	char *const arguments[] = {
		"runtime", "create", (char *)call->id, absolute(bundle->path), absolute(call->pid_file), absolute(call->root),
		texts->config.data, texts->container.data, texts->host.data, NULL,
	};
	char *const variables[] = { NULL };

	if (texts->config.length + texts->container.length + texts->host.length > MAX_TEXTS)
		return failed("the texts about this container are longer than what jnvdockerd takes; give it fewer mounts,"
			      " variables or labels");
	return query_daemon(&(struct query){
		.words = &words,
		.socket = settings->socket,
		.arguments = arguments,
		.variables = variables,
		.patience_ms = ANSWER_MS,
		.in_all = true,
		.return_ms = RETURN_MS,
	});
}

/* Terminates it as a string, which the daemon receives in full; false if it cannot be a string. */
static bool end_text(struct buffer *text)
{
	bool whole = text->length == 0 || memchr(text->data, '\0', text->length) == NULL;

	put_bytes(text, "", 1);
	text->length--;
	return whole;
}

/* Writes a config.json that an answer has changed. */
static struct answer changed(const struct bundle *bundle, const struct stat *old, struct answer answer)
{
	if (answer.kind == CHANGED && !replace_file(bundle->directory, bundle->config, old, answer.text))
		return failed("cannot write %s of bundle '%s': %s; make room there, then start the container again",
			      bundle->config, bundle->path, strerror(errno));
	return answer;
}

static struct answer create(const struct settings *settings, const struct call *call, const struct bundle *bundle)
{
	bool plain = is_plain_id(call->id);
	struct texts texts = { 0 };
	struct stat status;
	enum file_state state = read_file(bundle->directory, bundle->config, O_NOFOLLOW, MAX_TEXT, &texts.config, &status);

	if (state != FILE_READ)
		return failed("cannot read %s of bundle '%s': %s; make it a plain file", bundle->config, bundle->path,
			      why_not_read(state));
	struct answer answer = plain ? read_docker_files(call->id, &texts) : (struct answer){ .kind = UNCHANGED };
	if (answer.kind == FAILED)
		return answer;
	if (is_rootless() && end_text(&texts.config))
		return changed(bundle, &status, answer_rootless(&texts));
	if (!may_need_gpus(&texts))
		return answer;
	if (!plain)
		return failed("'%s' cannot be the id of a container with GPUs; take letters, digits and _.+- alone", shown(call->id));
	if (!end_text(&texts.config) || !end_text(&texts.container) || !end_text(&texts.host))
		return failed("a text about this container has a zero byte; create the container again");
	return changed(bundle, &status, query_create(settings, call, bundle, &texts));
}

static void edit_create(const struct settings *settings, const struct call *call)
{
	struct bundle bundle = {
		.path = *call->bundle != '\0' ? call->bundle : ".",
		.config = *call->config != '\0' ? call->config : "config.json",
	};
	bundle.directory = fd_above_stdio(open(bundle.path, O_PATH | O_DIRECTORY | O_CLOEXEC));
	struct answer answer = bundle.directory >= 0 ? create(settings, call, &bundle)
						  : failed("cannot open bundle '%s': %s; name the directory with config.json",
							   bundle.path, strerror(errno));

	if (answer.kind == FAILED)
		refuse(call, answer.text);
	close(bundle.directory);
}

/* ---- exec and delete ------------------------------------------------------------------------- */

/* Whether the daemon has given GPUs to this container, so that its commands and its deletion concern the daemon. */
static bool is_marked(const struct settings *settings, const struct call *call)
{
	if (!is_plain_id(call->id))
		return false;
	char *marker = joined("%s/%s", settings->markers, call->id);
	bool marked = access(marker, F_OK) == 0;
	free(marker);
	return marked;
}

/* On any failure, the command is run as it was given. */
static void edit_exec(const struct settings *settings, const struct call *call)
{
	struct buffer text = { 0 };
	struct stat status;

	if (*call->process == '\0' || !is_marked(settings, call) ||
	    read_file(AT_FDCWD, call->process, O_NOFOLLOW, MAX_TEXT, &text, &status) != FILE_READ || !end_text(&text))
		return;
	char *const arguments[] = { "runtime", "exec", (char *)call->id, absolute(call->process), text.data, NULL };
	char *const variables[] = { NULL };
	struct answer answer = query_daemon(&(struct query){
		.words = &words,
		.socket = settings->socket,
		.arguments = arguments,
		.variables = variables,
		.patience_ms = EXEC_ANSWER_MS,
		.in_all = true,
		.silent = true,
	});
	if (answer.kind == CHANGED)
		replace_file(AT_FDCWD, call->process, &status, answer.text);
}

/* Does not wait for an answer: the daemon notices the container's end itself, if later. The pid stays that of the deletion. */
static void announce_delete(const struct settings *settings, const char *id)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int wake = fd_above_stdio(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	if (wake < 0)
		return;
	memcpy(address.sun_path, settings->wake, sizeof address.sun_path);
	char *text = joined("%s %d", id, (int)getpid());
	sendto(wake, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&address, sizeof address);
	free(text);
	close(wake);
}

/*
 * Docker has runc run its hook for --gpus in containers of any runtime. The daemon has removed it from containers
 * of ours; for any other container nobody would know which GPUs are free, or give it any.
 */
static void act_as_hook(const struct call *call, char *const *argv) __attribute__((noreturn));

static void act_as_hook(const struct call *call, char *const *argv)
{
	if (argv[1] == NULL || strcmp(argv[1], "prestart") != 0)
		exit(EXIT_SUCCESS);
	refuse(call, "this container was made without jnvdocker's runtime, so --gpus gives it none; make it again by the name that"
		     " 'jnvdocker runtime status' shows: docker run --runtime nvidia --gpus ..., or docker compose up -d"
		     " --force-recreate with 'runtime: nvidia' at its service");
}

static bool read_state(struct buffer *state)
{
	char part[4096];
	ssize_t count;

	while ((count = read(STDIN_FILENO, part, sizeof part)) != 0) {
		if (count > 0)
			put_bytes(state, part, count);
		else if (errno != EINTR)
			return false;
		if (state->length > MAX_STATE) {
			errno = EFBIG;
			return false;
		}
	}
	if (!end_text(state))
		errno = EILSEQ;
	return memchr(state->data, '\0', state->length) == NULL;
}

/*
 * Announces other values of that name, too: the daemon does not trust announcements, and checks whether the
 * container is gone.
 */
static bool announce_id(void *settings, const char *id, size_t length)
{
	char *text = joined("%.*s", (int)length, id);

	if (is_plain_id(text))
		announce_delete(settings, text);
	free(text);
	return false;
}

/*
 * When the hook runs before the start, the container has the nodes already; it is not started unless it has a lease
 * of its GPUs. When the container is gone, others may be waiting for them.
 */
static void act_as_cdi_hook(struct settings *settings, const struct call *call, const char *stage) __attribute__((noreturn));

static void act_as_cdi_hook(struct settings *settings, const struct call *call, const char *stage)
{
	struct buffer state = { 0 };
	bool whole = read_state(&state);

	if (stage != NULL && strcmp(stage, "poststop") == 0) {
		if (whole)
			each_string(&state, "\"id\"", announce_id, settings);
		exit(EXIT_SUCCESS);
	}
	if (!whole) {
		struct answer why = failed("cannot read the state of the container: %s; start it again", strerror(errno));
		refuse(call, why.text);
	}
	char *const arguments[] = { "runtime", "hook", state.data, NULL };
	char *const variables[] = { NULL };
	struct answer answer = is_rootless() ? refused_rootless("it has a CDI device of jnvdocker") : query_daemon(&(struct query){
		.words = &words,
		.socket = settings->socket,
		.arguments = arguments,
		.variables = variables,
		.patience_ms = ANSWER_MS,
		.in_all = true,
		.return_ms = RETURN_MS,
	});
	if (answer.kind == FAILED)
		refuse(call, answer.text);
	exit(EXIT_SUCCESS);
}

static bool is_called(const char *name, const char *wanted)
{
	const char *slash = strrchr(name, '/');

	return strcmp(slash != NULL ? slash + 1 : name, wanted) == 0;
}

int main(int argc, char **argv)
{
	struct settings settings;
	struct call call = parse_call(argv);

	if (argc > 0 && is_called(argv[0], HOOK))
		act_as_hook(&call, argv);
	if (argc > 0 && is_called(argv[0], GPUS_HOOK)) {
		show_own_gpus(argv + 1);
		return EXIT_SUCCESS;
	}
	if (!read_settings(&settings))
		refuse(&call, "this nvidia-container-runtime has no real runtime configured; run '" INSTALL "'");
	if (argc > 0 && is_called(argv[0], CDI_HOOK))
		act_as_cdi_hook(&settings, &call, argv[1]);
	if (call.kind == CALL_CREATE && *call.id != '\0')
		edit_create(&settings, &call);
	if (call.kind == CALL_EXEC)
		edit_exec(&settings, &call);
	if (call.kind == CALL_DELETE && is_marked(&settings, &call))
		announce_delete(&settings, call.id);
	become_runtime(&settings, &call, argv);
}
