#define _GNU_SOURCE
#include "daemon.h"

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base.h"
#include "client.h"
#include "docker.h"
#include "help.h"
#include "start.h"

/* How long a client that is queued for GPUs waits for a stopped daemon: an upgrade takes a while. */
enum { RETURN_FOR_ROOT_MS = 10000, RETURN_FOR_OTHERS_MS = 600000, RETURN_POLL_MS = 100 };
/* How long a container that docker can start without GPUs waits for a daemon. */
enum { RESTART_MS = 3000 };

struct gpu_free_command gpu_free_command;
const char *without_daemon;
bool waits_for_proxy;
struct server server;

void die_unserved(const char *format, ...)
{
	va_list arguments;
	char *why;

	va_start(arguments, format);
	if (vasprintf(&why, format, arguments) < 0)
		die("out of memory; free some and try again");
	va_end(arguments);
	if (gpu_free_command.argv == NULL)
		die("%s", why);
	char *text = joined("jnvdocker: warning: %s\njnvdocker: warning: docker starts this container without GPUs\n", why);
	remark(text, strlen(text));

	char **command = allocate(NULL, ((size_t)gpu_free_command.argc + 3) * sizeof *command);
	int count = 0;

	for (int i = 0; i < gpu_free_command.argc; i++) {
		command[count++] = gpu_free_command.argv[i];
		if (i == gpu_free_command.verb) {
			command[count++] = "-e";
			command[count++] = "NVIDIA_VISIBLE_DEVICES=void";
		}
	}
	command[count] = NULL;
	become_docker(count, command);
}

char *run_directory(void)
{
	const char *directory = getenv("JNVDOCKER_RUN_DIR");

	return joined("%s", directory != NULL && *directory != '\0' ? directory : "/run/jnvdocker");
}

char *socket_path(void)
{
	const char *path = getenv("JNVDOCKER_SOCKET");

	return path != NULL && *path != '\0' ? joined("%s", path) : joined("%s/jnvdocker.sock", run_directory());
}

static void die_distrusting(const char *path, const struct server *server) __attribute__((noreturn));

static void die_distrusting(const char *path, const struct server *server)
{
	struct passwd *user = getpwuid(server->uid);

	die("%s is not served by root but by process %d of %s (uid %u), which could make %s run anything; stop that"
	    " process, or let JNVDOCKER_RUN_DIR and JNVDOCKER_SOCKET name root's", path, (int)server->pid,
	    user != NULL ? shown(user->pw_name) : "an unknown user", (unsigned)server->uid,
	    geteuid() == 0 ? "root" : "you");
}

int try_connect(const char *path)
{
	if (strlen(path) > MAX_SOCKET_PATH)
		die("the socket's path is longer than %d bytes: %s; set JNVDOCKER_SOCKET to a shorter one", MAX_SOCKET_PATH,
		    path);
	int connection = connect_socket(path, 0);
	if (connection < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM))
		die("cannot make a socket: %s; " LIMITS, strerror(errno));
	if (connection >= 0 && !is_trusted(connection, &server))
		die_distrusting(path, &server);
	return connection;
}

void die_deserted(void)
{
	die("the daemon at %s went away before it had answered; see its log, then try again", socket_path());
}

static void die_not_allowed(const char *path) __attribute__((noreturn));

static void die_not_allowed(const char *path)
{
	struct stat file;
	struct group *group;

	if (stat(path, &file) < 0)
		die("cannot reach %s: %s; an administrator can let you into its directory", path, strerror(errno));
	group = file.st_gid != 0 ? getgrgid(file.st_gid) : NULL;
	if (group == NULL)
		die("only root may use %s; an administrator must add you to the group docker or jnvdocker, make that group if"
		    " it is absent, and run 'jnvdocker gpu reload'", path);
	die("you may not use %s; an administrator can add you to the group %s, then log in again", path,
	    group->gr_name);
}

/* A daemon that is being restarted answers soon. Other requests are refused at once. */
static int await_another(const char *path)
{
	int reason = errno;

	if (gpu_free_command.argv == NULL)
		return -1;
	char *text = joined("jnvdocker: no daemon answers at %s (%s), waiting %d s for it\n", path, strerror(reason),
			    RESTART_MS / 1000);
	long deadline = milliseconds() + RESTART_MS;
	int connection;

	remark(text, strlen(text));
	free(text);
	do
		usleep(RETURN_POLL_MS * 1000);
	while ((connection = try_connect(path)) < 0 && milliseconds() < deadline);
	return connection;
}

bool is_job(void)
{
	return getenv("JNVDOCKER_JOB") != NULL && getppid() == 1;
}

void die_if_abandoned(void)
{
	struct pollfd input = { .fd = 0 };

	if (waits_for_proxy && poll(&input, 1, 0) > 0)
		exit(EXIT_REFUSED);
}

int await_return(void)
{
	static const char words[] = "jnvdocker: the daemon went away; the request is repeated when it is back\n";
	bool starts_daemon = geteuid() == 0 && !waits_for_proxy;
	long deadline = milliseconds() + (starts_daemon ? RETURN_FOR_ROOT_MS : RETURN_FOR_OTHERS_MS);
	char *path = socket_path();
	int connection;

	remark(words, sizeof words - 1);
	/* This pause also limits the requests to a daemon that accepts connections, but repeatedly goes away. */
	do {
		usleep(RETURN_POLL_MS * 1000);
		die_if_abandoned();
	} while ((connection = try_connect(path)) < 0 && ((is_job() && geteuid() != 0) || milliseconds() < deadline));
	free(path);
	return connection;
}

int connect_daemon(int argc, char **argv)
{
	char *path = socket_path();

	if (path[0] != '/')
		die("the socket's path %s is not absolute; begin JNVDOCKER_RUN_DIR and JNVDOCKER_SOCKET with /", path);
	int connection = try_connect(path);

	if (connection >= 0)
		return connection;
	if (without_daemon != NULL)
		exit(EXIT_REFUSED);
	int reason = errno;
	help_without_daemon(argc, argv);
	errno = reason;
	if (errno == EACCES || errno == EPERM)
		die_not_allowed(path);
	if (geteuid() != 0 || waits_for_proxy) {
		connection = is_job() ? await_return() : await_another(path);
		if (connection >= 0)
			return connection;
		die_unserved("no daemon answers at %s (%s); an administrator can start it: sudo jnvdocker gpu ls", path,
			     strerror(errno));
	}
	return is_systemds() ? start_service(path) : start_daemon(path);
}
