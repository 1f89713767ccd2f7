#define _GNU_SOURCE
#include "start.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base.h"
#include "client.h"
#include "daemon.h"
#include "docker.h"

enum { START_TIMEOUT_MS = 60000, START_POLL_MS = 5, OTHER_DAEMON_MS = 5000 };

#define SERVICE "jnvdocker.service"
#define SOCKET "jnvdocker.socket"

/* Our own directory contains jnvdockerd too, wherever the tree was moved. */
static char *daemon_program(void)
{
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

	if (length < 0)
		die("cannot read /proc/self/exe: %s; mount /proc", strerror(errno));
	self[length] = '\0';
	*strrchr(self, '/') = '\0';
	return joined("%s/jnvdockerd", self);
}

static char **daemon_environment(void)
{
	char **kept = NULL;
	size_t count = 0;

	for (char **variable = environ; *variable != NULL; variable++) {
		if (!has_prefix(*variable, "PATH=") && !has_prefix(*variable, "LANG=") && !has_prefix(*variable, "JNVDOCKER_"))
			continue;
		if (has_prefix(*variable, ROUNDS "="))
			continue;
		kept = allocate(kept, (count + 2) * sizeof *kept);
		kept[count++] = *variable;
	}
	kept = allocate(kept, (count + 1) * sizeof *kept);
	kept[count] = NULL;
	return kept;
}

/* Linux before 5.9 has no close_range, and some sandboxes deny it. */
static void close_from(int first)
{
	DIR *open_ones;
	const struct dirent *entry;

	if (syscall(SYS_close_range, first, ~0U, 0) == 0)
		return;
	open_ones = opendir("/proc/self/fd");
	if (open_ones == NULL)
		_exit(EXIT_REFUSED);
	while ((entry = readdir(open_ones)) != NULL) {
		int number = atoi(entry->d_name);

		if (number >= first && number != dirfd(open_ones))
			close(number);
	}
	closedir(open_ones);
}

/* In the daemon's process: cut every tie to the user's session, then run it. */
static void run_daemon(const char *program, int log, int alive) __attribute__((noreturn));

static void run_daemon(const char *program, int log, int alive)
{
	static const int limits[] = { RLIMIT_AS, RLIMIT_CPU, RLIMIT_DATA, RLIMIT_FSIZE, RLIMIT_NOFILE, RLIMIT_NPROC };
	char *const arguments[] = { (char *)program, NULL };
	int nothing = open("/dev/null", O_RDWR);
	sigset_t none;

	if (chdir("/") < 0 || nothing < 0)
		_exit(EXIT_REFUSED);
	/* The limits of the user's shell are not meant for a daemon. */
	for (unsigned i = 0; i < sizeof limits / sizeof *limits; i++) {
		struct rlimit limit;

		if (getrlimit(limits[i], &limit) == 0) {
			limit.rlim_cur = limit.rlim_max;
			setrlimit(limits[i], &limit);
		}
	}
	/* Descriptor 3 stays open while the daemon lives; if it closes early, the client detects a failed start. */
	alive = fcntl(alive, F_DUPFD, 10);
	log = fcntl(log, F_DUPFD, 10);
	dup2(nothing, 0);
	dup2(log, 1);
	dup2(log, 2);
	dup2(alive, 3);
	close_from(4);
	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execve(program, arguments, daemon_environment());
	dprintf(2, "jnvdocker: cannot run '%s': %s\n", program, strerror(errno));
	_exit(EXIT_REFUSED);
}

/*
 * Starts the daemon in a session of its own. The returned descriptor reads end-of-file once the daemon has ended.
 */
static int spawn_daemon(const char *program, const char *log_path)
{
	int alive[2];
	int log = fd_above_stdio(open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640));

	if (log < 0)
		die_unserved("cannot write the daemon's log %s: %s; remove what is there", log_path, strerror(errno));
	make_pipe(alive);
	pid_t child = fork();
	if (child < 0)
		die("cannot start jnvdockerd: %s; " LIMITS, strerror(errno));
	if (child == 0) {
		setsid();
		if (fork() == 0)
			run_daemon(program, log, alive[1]);
		_exit(0);
	}
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		continue;
	close(log);
	close(alive[1]);
	return alive[0];
}

/*
 * Whether a daemon of the run directory lives, which may be about to answer: bin/jnvdockerd locks this file. The
 * daemon that we started ends if another was quicker.
 */
static bool daemon_lives(void)
{
	char *path = joined("%s/jnvdockerd.start", run_directory());
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	bool held = file >= 0 && flock(file, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;

	if (file >= 0)
		close(file);
	free(path);
	return held;
}

static bool leads_to(const char *link, const char *name)
{
	char found[64];
	ssize_t length = readlink(link, found, sizeof found - 1);

	found[length < 0 ? 0 : length] = '\0';
	return strcmp(found, name) == 0;
}

/*
 * Whether a daemon that we start would see the host's processes and mounts. One in a container would give out GPUs
 * that the host's daemon has given out; it refuses to start, too (HostNamespaces), after half a second.
 */
static bool is_on_host(void)
{
	const char *variable = getenv("JNVDOCKER_NAMESPACES");
	char mounts[64];
	ssize_t length = readlink("/proc/1/ns/mnt", mounts, sizeof mounts - 1);

	if (variable != NULL && strcmp(variable, "own") == 0)
		return true;
	mounts[length < 0 ? 0 : length] = '\0';
	/*
	 * The kernel's first PID and mount namespaces; the latter has that number since Linux 6.18. Root with fewer
	 * capabilities than the first process cannot read that process's link.
	 */
	return leads_to("/proc/self/ns/pid", "pid:[4026531836]") &&
	       (leads_to("/proc/self/ns/mnt", "mnt:[4026531832]") ||
	        (length > 0 && leads_to("/proc/self/ns/mnt", mounts)));
}

/* Waits for a daemon that is starting. Returns -1 when there is none. */
static int await_starting(const char *path)
{
	long began = milliseconds();
	int connection;

	while ((connection = try_connect(path)) < 0 && daemon_lives()) {
		if (milliseconds() > began + START_TIMEOUT_MS)
			die("another jnvdockerd has %s and does not serve %s; stop it, or set JNVDOCKER_RUN_DIR to another directory",
			    run_directory(), path);
		usleep(START_POLL_MS * 1000);
	}
	return connection;
}

/* Waits until a daemon answers; ends the program when no daemon is left that could. */
static int await_daemon(const char *path, const char *log_path, int alive)
{
	long began = milliseconds();

	for (;;) {
		struct pollfd end = { .fd = alive, .events = POLLIN };
		bool ended = poll(&end, 1, START_POLL_MS) > 0;

		if (ended)
			usleep(START_POLL_MS * 1000);

		int connection = try_connect(path);

		if (connection >= 0)
			return connection;
		if (ended && !daemon_lives())
			die_unserved("jnvdockerd did not start; read why in its log, %s", log_path);
		if (ended && milliseconds() > began + OTHER_DAEMON_MS)
			die("another jnvdockerd has %s and does not serve %s; stop it, or set JNVDOCKER_RUN_DIR to another directory",
			    run_directory(), path);
		if (milliseconds() > began + START_TIMEOUT_MS)
			die_unserved("jnvdockerd does not answer at %s after %d s; its log may say why: %s", path,
			             START_TIMEOUT_MS / 1000, log_path);
	}
}

int start_daemon(const char *path)
{
	char *directory = joined("%s", path);
	char *slash = strrchr(directory, '/');

	if (slash == directory)
		die("the socket's path %s names no directory of its own; set JNVDOCKER_SOCKET to another", path);
	*slash = '\0';
	if (!is_on_host())
		die_unserved("no daemon answers at %s, and one in this container would not see who uses the host's GPUs; run it on"
		             " the host", path);
	/* Root's umask may be 077, and the socket's group must reach the socket. */
	if (mkdir(directory, 0755) == 0 ? chmod(directory, 0755) < 0 : errno != EEXIST)
		die_unserved("cannot make the directory %s: %s; fix that, or set JNVDOCKER_RUN_DIR to another one", directory,
		    strerror(errno));

	/* One client at a time: a client that waits here finds the daemon that another one has started. */
	char *lock_path = joined("%s/start.lock", directory);
	int lock = fd_above_stdio(open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
	if (lock < 0 || flock(lock, LOCK_EX) < 0)
		die_unserved("cannot lock %s: %s; fix that, or set JNVDOCKER_RUN_DIR to another directory", lock_path,
		    strerror(errno));
	int connection = await_starting(path);
	if (connection < 0) {
		char *program = daemon_program();
		char *log_path = joined("%s/jnvdockerd.log", directory);

		fprintf(stderr, "jnvdocker: no daemon at %s, starting %s\n", path, program);
		int alive = spawn_daemon(program, log_path);
		connection = await_daemon(path, log_path, alive);
		close(alive);
	}
	close(lock);
	return connection;
}

/* ---- having systemd start the daemon --------------------------------------------------------- */

/* Whether the directories differ from those of the service, which does not know our environment. */
static bool directories_moved(void)
{
	static const char *const movers[] = {
		"JNVDOCKER_RUN_DIR", "JNVDOCKER_SOCKET", "JNVDOCKER_STATE_DIR", "JNVDOCKER_CONFIG", "JNVDOCKER_PLUGIN_DIR",
		"JNVDOCKER_PLUGIN_NAME", "JNVDOCKER_HOST_ROOT", "JNVDOCKER_DOCKER_SOCKET", NULL,
	};

	for (const char *const *mover = movers; *mover != NULL; mover++) {
		const char *value = getenv(*mover);

		if (value != NULL && *value != '\0')
			return true;
	}
	return false;
}

static bool unit_installed(void)
{
	static const char *const directories[] = {
		"/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
		"/lib/systemd/system", NULL,
	};
	bool found = false;

	for (const char *const *directory = directories; *directory != NULL && !found; directory++) {
		char *unit = joined("%s/" SERVICE, *directory);

		found = access(unit, F_OK) == 0;
		free(unit);
	}
	return found;
}

bool is_systemds(void)
{
	struct stat manager;

	return !directories_moved() && stat("/run/systemd/system", &manager) == 0 && S_ISDIR(manager.st_mode) && unit_installed();
}

/* The exit code of systemctl, of which the caller may see no message. */
static int run_systemctl(char *const arguments[], bool silent)
{
	const struct sigaction standard = { .sa_handler = SIG_DFL };
	struct sigaction inherited;
	int status;

	/* If the caller ignores SIGCHLD, a child leaves no exit code. */
	sigaction(SIGCHLD, &standard, &inherited);
	pid_t child = fork();
	if (child < 0)
		die("cannot start systemctl: %s; " LIMITS, strerror(errno));
	if (child == 0) {
		int nothing = fd_above_stdio(open("/dev/null", O_RDWR | O_CLOEXEC));

		dup2(nothing, 0);
		if (silent)
			dup2(nothing, 2);
		dup2(2, 1);
		execve("/usr/bin/systemctl", arguments, daemon_environment());
		execve("/bin/systemctl", arguments, daemon_environment());
		dprintf(2, "jnvdocker: cannot run /usr/bin/systemctl: %s\n", strerror(errno));
		_exit(EXIT_REFUSED);
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			die("cannot wait for systemctl: %s; try again", strerror(errno));
	sigaction(SIGCHLD, &inherited, NULL);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int start_service(const char *path)
{
	fprintf(stderr, "jnvdocker: no daemon at %s, starting " SERVICE "\n", path);
	/* A service that has failed too often may not be started before. */
	run_systemctl((char *const[]) { "systemctl", "reset-failed", SERVICE, SOCKET, NULL }, true);
	/* Ends when the daemon serves or has failed. */
	int code = run_systemctl((char *const[]) { "systemctl", "start", SERVICE, NULL }, false);
	int connection = try_connect(path);

	if (connection < 0 && code != 0)
		die_unserved("systemctl start " SERVICE " failed (exit code %d); 'systemctl status jnvdocker' and"
		             " 'journalctl -u jnvdocker' say why", code);
	if (connection < 0)
		die(SERVICE " runs and does not serve %s (%s); if it was given another socket, set JNVDOCKER_SOCKET to that,"
		    " else run 'systemctl restart jnvdocker'", path, strerror(errno));
	return connection;
}
