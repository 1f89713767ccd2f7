/*
 * jnvdocker: what people type in place of docker.
 *
 * Responsibilities:
 *   - commands that cannot start a container: become docker at once, without the daemon
 *   - version, --version and --help: add our own text to docker's
 *   - everything else: send a request to the daemon, obey its frames, in the end become docker
 *   - start the daemon, or have systemd start it, when no daemon answers and the caller is root
 *   - completion in shells: query the daemon, but neither start it nor wait until it runs
 *   - without a daemon: become docker for a container that cannot concern GPUs
 *
 * Not its business: the meaning of docker's options, the choice of GPUs, additions to a container.
 * It decides nothing, so that decisions have a single place, and it executes everything,
 * so that signals, terminal, limits, environment and exit code are the user's own.
 *
 * See frames.h for the protocol.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base.h"
#include "files.h"
#include "frames.h"
#include "help.h"

enum { TERMINAL_IN = 1, TERMINAL_OUT = 2, TERMINAL_ERR = 4, CONTEXT_CONFIGURED = 8 };
enum { CALL_CAPTURES = 1, CALL_HIDES_ERRORS = 2, CALL_CAPTURES_ERRORS = 4, CALL_INHERITS_STDIO = 8,
       CALL_DROPS_LAST_LINE = 16 };
enum { MAX_CAPTURED = 4 << 20, MAX_CONFIG = 1 << 20, MAX_DATA = 1 << 16 };
/* docker's own code for a failure before the container runs; jnvdocker.protocol.ExitCode has it too. */
enum { EXIT_REFUSED = 125 };
/* The codes of shells, and of docker for a container's program. */
enum { EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };
enum { START_TIMEOUT_MS = 60000, START_POLL_MS = 5, OTHER_DAEMON_MS = 5000, ATTEMPTS = 3 };
/* How long a client that is queued for GPUs waits for a stopped daemon: an upgrade takes a while. */
enum { RETURN_FOR_ROOT_MS = 10000, RETURN_FOR_OTHERS_MS = 600000, RETURN_POLL_MS = 100 };
/* How long a container that docker can start without GPUs waits for a daemon. */
enum { RESTART_MS = 3000 };
/* How long a daemon may be silent before the user is notified that the client still waits for it. */
#ifndef SILENCE_NOTICE_MS
#define SILENCE_NOTICE_MS 10000
#endif
/* How long the client waits for a program after the daemon wants no more of its output. */
enum { DRAIN_MS = 2000 };
/* The limits of the pause between two rounds of --watch, whatever the daemon requests. */
enum { MIN_PAUSE_MS = 1000, MAX_PAUSE_MS = 3600000 };
/* The limit of a completion, for which the user waits after pressing TAB. */
enum { COMPLETION_MS = 800 };

/* What copies of this program are recognized by; docker is larger. */
#define MARK "jnvdocker-client-1-in-place-of-docker"
enum { MAX_SELF = 4 << 20 };
/* The variable for programs that are run in place of docker, and its limit, of one digit. */
#define ROUNDS "JNVDOCKER_ROUNDS"
enum { MAX_ROUNDS = 8 };

#define SERVICE "jnvdocker.service"
#define SOCKET "jnvdocker.socket"
#define LIMITS "check the limits of this shell (ulimit -a), then try again"
#define NAME_DOCKER "install docker, or name it in NV_DOCKER"

#ifndef VERSION
#error "the Makefile defines VERSION"
#endif

extern char **environ;

const int failure_code = EXIT_REFUSED;

static bool is_one_of(const char *text, const char *const *names)
{
	for (; *names != NULL; names++)
		if (strcmp(text, *names) == 0)
			return true;
	return false;
}

static void make_pipe(int ends[2])
{
	if (pipe2(ends, O_CLOEXEC) == 0) {
		ends[0] = fd_above_stdio(ends[0]);
		ends[1] = fd_above_stdio(ends[1]);
	}
	if (ends[0] < 0 || ends[1] < 0)
		die("cannot make a pipe: %s; " LIMITS, strerror(errno));
}

/* ---- payloads -------------------------------------------------------------------------------- */

struct reader {
	const unsigned char *at, *end;
};

static uint32_t get_number(struct reader *reader)
{
	const unsigned char *at = reader->at;

	if (reader->end - at < 4)
		die("the daemon sent a frame that is cut short; restart jnvdockerd");
	reader->at += 4;
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static char *get_string(struct reader *reader)
{
	uint32_t length = get_number(reader);
	char *text;

	if (length > (size_t)(reader->end - reader->at))
		die("the daemon sent a string that is cut short; restart jnvdockerd");
	text = allocate(NULL, (size_t)length + 1);
	memcpy(text, reader->at, length);
	text[length] = '\0';
	reader->at += length;
	return text;
}

/* A list of at least one string, terminated by NULL. */
static char **get_arguments(struct reader *reader)
{
	uint32_t count = get_number(reader);
	char **texts;

	if (count == 0 || count > (size_t)(reader->end - reader->at) / 4)
		die("the daemon sent a command of %u words; restart jnvdockerd", count);
	texts = allocate(NULL, ((size_t)count + 1) * sizeof *texts);
	for (uint32_t i = 0; i < count; i++)
		texts[i] = get_string(reader);
	texts[count] = NULL;
	return texts;
}

/* ---- the docker program ---------------------------------------------------------------------- */

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

/*
 * Counts how often docker and this program have run each other: a script named docker that runs us in place of the
 * real docker would do so for ever. Ends the program when that is clear.
 */
static void count_rounds(void)
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

/*
 * The words that stand for docker: NV_DOCKER's, else docker itself. Docker may be missing where it is not needed:
 * our own commands are useful on a host without it.
 */
static char **docker_command(bool needed)
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

static void become(char **argv) __attribute__((noreturn));

static void become(char **argv)
{
	execvp(argv[0], argv);
	int reason = errno;
	die("cannot run '%s': %s; " NAME_DOCKER, shown(argv[0]), strerror(reason));
}

/* The docker command as typed, terminated by NULL. */
static char **typed_docker(int argc, char **argv)
{
	char **command = docker_command(true);
	size_t count = 0;

	while (command[count] != NULL)
		count++;
	command = allocate(command, (count + argc) * sizeof *command);
	memcpy(command + count, argv + 1, argc * sizeof *argv);
	return command;
}

static void become_docker(int argc, char **argv) __attribute__((noreturn));

static void become_docker(int argc, char **argv)
{
	become(typed_docker(argc, argv));
}

/* Becomes a program that is not docker, with more variables in its environment. */
static void become_program(struct reader payload) __attribute__((noreturn));

static void become_program(struct reader payload)
{
	for (uint32_t count = get_number(&payload); count > 0; count--)
		putenv(get_string(&payload));
	char **argv = get_arguments(&payload);

	unsetenv(ROUNDS);
	execvp(argv[0], argv);
	int reason = errno;
	fprintf(stderr, "jnvdocker: cannot run '%s': %s; name a program in PATH, or give its path\n",
		shown(argv[0]), strerror(reason));
	exit(reason == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE);
}

/* ---- which commands concern the daemon ------------------------------------------------------- */

/* Whether one of docker's global options takes the next argument as its value. */
static bool takes_next(const char *option)
{
	static const char *const names[] = {
		"--config", "--context", "--host", "--log-level", "--tlscacert", "--tlscert", "--tlskey", NULL,
	};

	if (option[1] == '-')
		return is_one_of(option, names);
	for (const char *letter = option + 1; *letter != '\0'; letter++)
		if (strchr("cHl", *letter) != NULL)
			return letter[1] == '\0';
	return false;
}

/* The index of docker's command among the arguments, after the global options. */
static int first_operand(int argc, char **argv)
{
	int i = 1;

	while (i < argc && argv[i][0] == '-' && argv[i][1] != '\0')
		i += takes_next(argv[i]) ? 2 : 1;
	return i;
}

static bool is_our_own(const char *word)
{
	static const char *const ours[] = { "gpu", "k8s", "mesos", "runtime", NULL };

	return is_one_of(word, ours);
}

/* Whether it is 'volume setup' of nvidia-docker 1.0's first releases, which made the driver volume. */
static bool is_volume_setup(int argc, char **argv, int word)
{
	return word + 2 == argc && strcmp(argv[word], "volume") == 0 && strcmp(argv[word + 1], "setup") == 0;
}

/*
 * Whether the daemon decides on the command: one that starts or creates a container, or one of our own. A wrong yes
 * costs a query; a wrong no would start a container without its GPUs.
 */
static bool concerns_daemon(int argc, char **argv)
{
	int i = first_operand(argc, argv);
	static const char *const starts[] = { "run", "create", NULL };

	if (i >= argc)
		return false;
	if (strcmp(argv[i], "container") == 0) {
		/* Docker runs 'container --help run IMAGE' as if --help were missing. */
		for (i++; i < argc && argv[i][0] == '-'; i++)
			continue;
		return i < argc && is_one_of(argv[i], starts);
	}
	return is_one_of(argv[i], starts) || is_our_own(argv[i]) || is_volume_setup(argc, argv, i);
}

/* The index of run or create among the arguments, if the word there concerns the daemon. */
static int verb_of(int word, char **argv)
{
	if (strcmp(argv[word], "container") == 0)
		for (word++; argv[word][0] == '-'; word++)
			continue;
	return word;
}

/* ---- completion ------------------------------------------------------------------------------ */

/* jnvdocker.command.complete.Answer has it too: docker completes the word as well. */
#define COMPLETED_BY_DOCKER ":docker\n"

/* What is printed for the shell if the daemon does not complete the word; NULL for any command but a completion. */
static const char *without_daemon;

static void complete_without_daemon(int status, void *unused)
{
	(void)unused;
	if (status != 0)
		write_all(1, without_daemon, strlen(without_daemon));
}

static void stop_completion(int number)
{
	(void)number;
	complete_without_daemon(EXIT_REFUSED, NULL);
	_exit(EXIT_REFUSED);
}

static bool is_completion(int argc, char **argv)
{
	return argc > 4 && strcmp(argv[1], "gpu") == 0 && strcmp(argv[2], "__complete") == 0 &&
	       strcmp(argv[3], "--") == 0;
}

/*
 * Prepares the completion of a word in a shell, 'gpu __complete -- WORDS...', of which the last is being typed. From
 * now on nothing is written to standard error, and the program ends soon. It ends at once where docker alone can
 * complete the word.
 */
static void prepare_completion(int argc, char **argv)
{
	const struct itimerval limit = { .it_value = { .tv_usec = COMPLETION_MS * 1000 } };
	const struct sigaction stop = { .sa_handler = stop_completion };
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	/* The dashes stand for the program's name; the typed word does not count. */
	char **words = argv + 3;
	int last = argc - 4;
	char *typed = words[last];

	if (nothing < 0 || dup2(nothing, 2) < 0)
		exit(EXIT_REFUSED);
	words[last] = NULL;
	int word = first_operand(last, words);
	bool ours = word < last && is_our_own(words[word]);
	bool queries = word == last ? typed[0] != '-' : concerns_daemon(last, words);
	words[last] = typed;
	without_daemon = ours ? "" : COMPLETED_BY_DOCKER;
	on_exit(complete_without_daemon, NULL);
	if (!queries)
		exit(EXIT_REFUSED);
	sigaction(SIGALRM, &stop, NULL);
	setitimer(ITIMER_REAL, &limit, NULL);
}

/* ---- version and help ------------------------------------------------------------------------ */

/* Whether the help text of all of docker's commands is requested. */
static bool is_help(int argc, char **argv)
{
	int i = 1;

	while (i < argc && argv[i][0] == '-' && strcmp(argv[i], "--help") != 0 && strcmp(argv[i], "-h") != 0)
		i += takes_next(argv[i]) ? 2 : 1;
	return i == argc - 1 ? argv[i][0] == '-' || strcmp(argv[i], "help") == 0 : argc == 1;
}

/*
 * Has docker print its text in full, and prints ours behind it on the same stream: if docker succeeds, or in any case.
 * Docker's version fails where no engine answers.
 */
static void add(int stream, bool always, const char *text, int argc, char **argv) __attribute__((noreturn));

static void add(int stream, bool always, const char *text, int argc, char **argv)
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

static void help(int argc, char **argv) __attribute__((noreturn));

static void help(int argc, char **argv)
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

/* ---- without a daemon ------------------------------------------------------------------------ */

/* Prints the help that is requested and ends the program, if any is: help starts no daemon. */
static void help_without_daemon(int argc, char **argv)
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

/* The typed command, if docker may run it without a daemon; else NULL. */
static struct {
	int argc;
	char **argv;
	int verb;
} gpu_free_command;

/* Whether a text concerns GPUs, judging by its words: a wrong yes refuses a container. */
static bool names_gpus(const char *text)
{
	static const char *const words[] = { "gpu", "nvidia", "195", "privileged", "device", "runtime", NULL };

	for (const char *const *word = words; *word != NULL; word++)
		if (strcasestr(text, *word) != NULL)
			return true;
	return false;
}

/* Whether a variable that is sent to the daemon may choose GPUs, an engine or its runtime. */
static bool may_choose(const char *variable)
{
	return has_prefix(variable, "NV_") || has_prefix(variable, "NVIDIA_") || has_prefix(variable, "DOCKER_") ||
	       has_prefix(variable, "JNVDOCKER_GPU");
}

static bool is_harmless(char **argv)
{
	for (char **argument = argv + 1; *argument != NULL; argument++)
		if (names_gpus(*argument))
			return false;
	for (char **variable = environ; *variable != NULL; variable++)
		if (may_choose(*variable) && names_gpus(*variable))
			return false;
	return true;
}

/*
 * Ends the program because no daemon can be reached: with a refusal, or as docker; the container then gets no GPU,
 * whatever its image requests and whatever runtime the engine has.
 */
__attribute__((noreturn, format(printf, 1, 2))) static void die_unserved(const char *format, ...)
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

/* ---- the connection -------------------------------------------------------------------------- */

static char *run_directory(void)
{
	const char *directory = getenv("JNVDOCKER_RUN_DIR");

	return joined("%s", directory != NULL && *directory != '\0' ? directory : "/run/jnvdocker");
}

static char *socket_path(void)
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

/* The daemon that was connected to last. */
static struct server server;

/* A connected socket, or -1 with errno. */
static int try_connect(const char *path)
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

static void die_deserted(void) __attribute__((noreturn));

static void die_deserted(void)
{
	die("the daemon at %s went away before it had answered; see its log, then try again", socket_path());
}

/* ---- starting the daemon --------------------------------------------------------------------- */

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

static int start_daemon(const char *path)
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

static bool is_systemds(void)
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

static int start_service(const char *path)
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

/* ---- finding the daemon ---------------------------------------------------------------------- */

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

/*
 * Whether this is the process of a job's unit, which systemd has started: a job is not submitted once more by anybody,
 * so it waits for the daemon however long that takes. What a job starts has the variable, too.
 */
static bool is_job(void)
{
	return getenv("JNVDOCKER_JOB") != NULL && getppid() == 1;
}

/*
 * Whether this is the client of jnvdockerd --proxy: it waits for GPUs as long as the proxy keeps its input open, and
 * starts no daemon, which would have the rights of the proxy.
 */
static bool waits_for_proxy;

static void die_if_abandoned(void)
{
	struct pollfd input = { .fd = 0 };

	if (waits_for_proxy && poll(&input, 1, 0) > 0)
		exit(EXIT_REFUSED);
}

/*
 * A connection to the daemon once it is back, for a watch or for our place in its queue; -1 when it does not come
 * back. The user that stopped it starts it again, or systemd does; after a while root's client starts one, as for
 * any request.
 */
static int await_return(void)
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

static int connect_daemon(int argc, char **argv)
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

/* ---- the request ----------------------------------------------------------------------------- */

static bool is_for_daemon(const char *variable)
{
	static const char *const prefixes[] = {
		"NV_", "NVIDIA_", "DOCKER_", "JNVDOCKER_", "SUDO_", "HOME=", "PATH=", "LD_LIBRARY_PATH=", "TERM=",
		"NO_COLOR=", "CUDA_VISIBLE_DEVICES=", "SLURM_JOB_GPUS=", "SLURM_STEP_GPUS=", "TZ=", "DISPLAY=",
		"WAYLAND_DISPLAY=", NULL,
	};

	for (const char *const *prefix = prefixes; *prefix != NULL; prefix++)
		if (has_prefix(variable, *prefix))
			return true;
	return false;
}

/* The terminal's size; 0 in both directions if there is no terminal. */
static struct winsize terminal_size(void)
{
	struct winsize size;

	for (int descriptor = 1; descriptor <= 2; descriptor++)
		if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
			return size;
	return (struct winsize){ 0 };
}

/*
 * Sends the current height of the terminal in the variable that shells use, LINES; and the locale of characters as
 * LC_CTYPE, whichever variable sets it. A request without a locale comes from an older client.
 */
static void put_variables(struct buffer *request, unsigned rows)
{
	uint32_t count = 2;
	char *lines = joined("LINES=%u", rows);
	char *locale = joined("LC_CTYPE=%s", character_locale());

	for (char **variable = environ; *variable != NULL; variable++)
		count += is_for_daemon(*variable);
	put_number(request, count);
	put_string(request, lines);
	put_string(request, locale);
	for (char **variable = environ; *variable != NULL; variable++)
		if (is_for_daemon(*variable))
			put_string(request, *variable);
	free(locale);
	free(lines);
}

/*
 * Whether the user's docker config may choose an engine other than the default. Only a hint, so that the daemon
 * queries docker for its context only if there may be one and not at every run.
 */
static bool context_configured(void)
{
	const char *directory = getenv("DOCKER_CONFIG");
	const char *home = getenv("HOME");
	char *path, *text;
	ssize_t length = -1;

	if (directory != NULL && *directory != '\0')
		path = joined("%s/config.json", directory);
	else
		path = joined("%s/.docker/config.json", home != NULL ? home : "");
	text = allocate(NULL, MAX_CONFIG + 1);
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (file >= 0) {
		length = read(file, text, MAX_CONFIG);
		close(file);
	}
	text[length > 0 ? length : 0] = '\0';
	/* docker takes the name in any case, and with escapes; what is too long may have it behind. */
	bool found = length == MAX_CONFIG || strcasestr(text, "\"currentContext\"") != NULL || strstr(text, "\\u") != NULL;
	free(text);
	free(path);
	return found;
}

static void send_request(int connection, char **docker, char **argv)
{
	struct buffer request = { 0 };
	struct winsize terminal = terminal_size();
	char *directory = getcwd(NULL, 0);
	uint32_t flags = 0;

	flags |= isatty(0) ? TERMINAL_IN : 0;
	flags |= isatty(1) ? TERMINAL_OUT : 0;
	flags |= isatty(2) ? TERMINAL_ERR : 0;
	flags |= context_configured() ? CONTEXT_CONFIGURED : 0;
	put_number(&request, PROTOCOL_VERSION);
	put_number(&request, flags);
	put_number(&request, terminal.ws_col);
	put_string(&request, directory != NULL ? directory : "");
	put_list(&request, docker);
	put_list(&request, argv + 1);
	put_variables(&request, terminal.ws_row);
	if (request.length > MAX_FRAME)
		die("the command line is longer than %d bytes; shorten it", MAX_FRAME);
	send_frame(connection, FRAME_REQUEST, &request);
	free(request.data);
	free(directory);
}

/* ---- frames ---------------------------------------------------------------------------------- */

/*
 * Runs a program in the child. Its input is empty, so that it cannot consume the container's input, unless the user
 * has typed the command.
 */
static void run_call(char **argv, uint32_t flags, int output, pid_t client) __attribute__((noreturn));

static void run_call(char **argv, uint32_t flags, int output, pid_t client)
{
	int nothing = fd_above_stdio(open("/dev/null", O_RDWR | O_CLOEXEC));

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	/* A client that ended before that sends no signal any more. 0 is a client in another pid namespace. */
	pid_t parent = getppid();
	if (nothing < 0 || (parent != client && parent != 0))
		_exit(EXIT_REFUSED);
	if (flags != CALL_INHERITS_STDIO)
		dup2(nothing, 0);
	/* If the caller closed it, messages are discarded: they must not go to stdout or into a file. */
	if (fcntl(2, F_GETFD) < 0)
		dup2(nothing, 2);
	if (flags != CALL_INHERITS_STDIO)
		dup2(flags & CALL_CAPTURES || (flags & CALL_DROPS_LAST_LINE && !isatty(2)) ? output : 2, 1);
	if (flags & CALL_HIDES_ERRORS)
		dup2(nothing, 2);
	if (flags & CALL_CAPTURES_ERRORS)
		dup2(output, 2);
	execvp(argv[0], argv);
	int reason = errno;
	dprintf(2, "jnvdocker: cannot run '%s': %s\n", shown(argv[0]), strerror(reason));
	_exit(EXIT_REFUSED);
}

/* Reads a pipe to its end, but keeps no more than fits into a frame. */
static void capture(int from, struct buffer *captured)
{
	char bytes[65536];

	for (;;) {
		ssize_t count = read(from, bytes, sizeof bytes);

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return;
		size_t room = MAX_CAPTURED - captured->length;
		put_bytes(captured, bytes, (size_t)count < room ? (size_t)count : room);
	}
}

/* Passes a pipe on to standard error, but for the last line, which it returns. */
static struct buffer pass_on(int from)
{
	struct buffer kept = { 0 };
	char bytes[65536];

	for (;;) {
		ssize_t count = read(from, bytes, sizeof bytes);

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return kept;
		put_bytes(&kept, bytes, (size_t)count);
		/* The end of the line before the last. */
		const char *end = kept.length < 2 ? NULL : memrchr(kept.data, '\n', kept.length - 1);
		if (end == NULL)
			continue;
		size_t whole = (size_t)(end + 1 - kept.data);
		write_all(2, kept.data, whole);
		memmove(kept.data, kept.data + whole, kept.length - whole);
		kept.length -= whole;
	}
}

/* A program that the daemon has ordered, and the end of the pipe that it may write to. */
struct child {
	uint32_t flags;
	char **argv;
	pid_t pid;
	int output;
	struct sigaction inherited;
};

static struct child start_child(struct reader payload)
{
	const struct sigaction standard = { .sa_handler = SIG_DFL };
	struct child child = { .flags = get_number(&payload) };
	int output[2];

	child.argv = get_arguments(&payload);

	pid_t client = getpid();
	make_pipe(output);
	/* If the caller ignores SIGCHLD, a child leaves no exit code. */
	sigaction(SIGCHLD, &standard, &child.inherited);
	child.pid = fork();
	if (child.pid < 0)
		die("cannot run '%s': %s; " LIMITS, shown(child.argv[0]), strerror(errno));
	if (child.pid == 0) {
		sigaction(SIGCHLD, &child.inherited, NULL);
		run_call(child.argv, child.flags, output[1], client);
	}
	close(output[1]);
	child.output = output[0];
	return child;
}

/* Waits for the child's end, reports its exit to the daemon and returns it. */
static int send_result(int connection, struct child child, const struct buffer *captured)
{
	struct buffer result = { 0 };
	int status;

	close(child.output);
	while (waitpid(child.pid, &status, 0) < 0)
		if (errno != EINTR)
			die("cannot wait for '%s': %s; try again", shown(child.argv[0]), strerror(errno));
	sigaction(SIGCHLD, &child.inherited, NULL);
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	put_number(&result, (uint32_t)code);
	put_bytes(&result, captured->data, captured->length);
	send_frame(connection, FRAME_RESULT, &result);
	free(result.data);
	for (char **word = child.argv; *word != NULL; word++)
		free(*word);
	free(child.argv);
	return code;
}

/* The last line of a child's output is for nobody if it succeeds; a terminal has it already. */
static void call_without_last_line(int connection, struct child child)
{
	static const char up_and_erase[] = "\033[A\033[2K";
	const struct buffer nothing = { 0 };
	struct buffer last = pass_on(child.output);
	bool succeeded = send_result(connection, child, &nothing) == 0;

	if (succeeded && isatty(2))
		write_all(2, up_and_erase, sizeof up_and_erase - 1);
	if (!succeeded)
		write_all(2, last.data, last.length);
	free(last.data);
}

static void call(int connection, struct reader payload)
{
	struct child child = start_child(payload);
	struct buffer captured = { 0 };

	if (child.flags & CALL_DROPS_LAST_LINE) {
		call_without_last_line(connection, child);
		return;
	}
	capture(child.output, &captured);
	send_result(connection, child, &captured);
	free(captured.data);
}

/* Whether the daemon, which has sent something, has had enough of a stream, or is gone. */
static bool gives_up(int connection)
{
	char type;
	ssize_t count = recv(connection, &type, 1, MSG_PEEK | MSG_DONTWAIT);

	return count == 0 || (count == 1 && type == FRAME_ENOUGH);
}

/*
 * Reads as much as fits into one frame of a stream. Less is the end of the stream, or what had arrived when the
 * daemon lost its patience: then the result is false.
 */
static bool fill(int from, int connection, struct buffer *data)
{
	static char bytes[MAX_DATA];
	struct pollfd both[] = { { .fd = from, .events = POLLIN }, { .fd = connection, .events = POLLIN } };

	long deadline = -1;

	data->length = 0;
	while (data->length < MAX_DATA) {
		long left = deadline < 0 ? -1 : deadline - milliseconds();
		int ready = deadline >= 0 && left <= 0 ? 0 : poll(both, 2, left);

		if (ready == 0)
			return false;
		if (ready < 0)
			continue;
		if (both[1].revents != 0) {
			/* A program that is about to end by itself reports its own exit. */
			if (gives_up(connection))
				deadline = milliseconds() + DRAIN_MS;
			both[1].fd = -1;
		}
		if (both[0].revents == 0)
			continue;
		ssize_t count = read(from, bytes, MAX_DATA - data->length);

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return true;
		put_bytes(data, bytes, count);
	}
	return true;
}

/* Whether the daemon wants more of a stream. */
static bool more_is_wanted(int connection)
{
	unsigned char header[5];
	struct reader length = { header + 1, header + 5 };

	if (!receive(connection, header, sizeof header))
		die_deserted();
	if ((header[0] != FRAME_MORE && header[0] != FRAME_ENOUGH) || get_number(&length) != 0)
		die("the daemon sent a frame of type %u into a stream; restart jnvdockerd", header[0]);
	return header[0] == FRAME_MORE;
}

/*
 * Like call, for output of any length: sends it in pieces on the daemon's request, so that neither side ever waits
 * for the other to read. If the daemon has had enough, the program is ended; a program that has closed its output
 * ends by itself, for its exit code.
 */
static void stream(int connection, struct reader payload)
{
	struct child child = start_child(payload);
	struct buffer data = { 0 };
	const struct buffer nothing = { 0 };
	bool ended = false;

	while (more_is_wanted(connection)) {
		if (!fill(child.output, connection, &data))
			continue;
		ended = data.length < MAX_DATA;
		send_frame(connection, FRAME_DATA, &data);
	}
	if (!ended)
		kill(child.pid, SIGTERM);
	send_result(connection, child, &nothing);
	free(data.data);
}

/* Waits for the daemon's next frame, or its end. Notifies the user once if that takes long. */
static void wait_for_frame(int connection)
{
	static bool said;
	struct pollfd words = { .fd = connection, .events = POLLIN };

	if (said || poll(&words, 1, SILENCE_NOTICE_MS) != 0)
		return;
	said = true;
	char *path = socket_path();
	char *text = joined("jnvdocker: jnvdockerd (pid %d, at %s) has not answered for %d s; still waiting, Ctrl-C ends that\n",
			    (int)server.pid, path, SILENCE_NOTICE_MS / 1000);
	remark(text, strlen(text));
	free(text);
	free(path);
}

/* Waits for the daemon's next frame, or its end; ends the program when the proxy is gone. */
static void wait_unless_abandoned(int connection)
{
	struct pollfd both[] = { { .fd = connection, .events = POLLIN }, { .fd = 0 } };

	while (poll(both, 2, -1) < 0)
		continue;
	die_if_abandoned();
}

/* The reason to send the request to the daemon once more. */
enum reason {
	UNANSWERED,       /* nothing received, so nothing has been done yet; or not all by a job, which nobody repeats */
	WENT_AWAY,        /* during a watch, or while we were queued, where our place is kept */
	REPEAT,           /* as the daemon ordered */
};

/*
 * Returns only when the request must be sent once more, with the reason.
 *
 * faithful: whether to come back to a daemon that goes away
 * pause: with REPEAT, set to the milliseconds to wait before that
 */
static enum reason obey(int connection, bool faithful, uint32_t *pause)
{
	for (bool received = false; ; received = true) {
		unsigned char header[5];
		struct reader payload = { header + 1, header + 5 };

		/* The user knows that the client is queued, or watches, which may last for hours. */
		if (waits_for_proxy)
			wait_unless_abandoned(connection);
		else if (!faithful)
			wait_for_frame(connection);
		if (!receive(connection, header, sizeof header)) {
			if (received && !faithful && !is_job())
				die_deserted();
			return faithful ? WENT_AWAY : UNANSWERED;
		}
		uint32_t length = get_number(&payload);
		if (length > MAX_FRAME)
			die("the daemon sent a frame of %u bytes; restart jnvdockerd", length);
		char *bytes = allocate(NULL, (size_t)length + 1);
		if (!receive(connection, bytes, length)) {
			if (!faithful && !is_job())
				die_deserted();
			free(bytes);
			return faithful ? WENT_AWAY : UNANSWERED;
		}
		payload.at = (unsigned char *)bytes;
		payload.end = payload.at + length;

		switch (header[0]) {
		case FRAME_OUT:
			if (!write_all(1, bytes, length))
				die("cannot write to standard output: %s; check its destination", strerror(errno));
			break;
		case FRAME_ERR:
			remark(bytes, length);
			break;
		case FRAME_CALL:
			call(connection, payload);
			break;
		case FRAME_STREAM:
			stream(connection, payload);
			break;
		case FRAME_WAIT:
			faithful = true;
			break;
		case FRAME_AGAIN:
			*pause = get_number(&payload);
			free(bytes);
			return REPEAT;
		case FRAME_EXEC:
			become(get_arguments(&payload));
		case FRAME_PROGRAM:
			become_program(payload);
		case FRAME_REFUSE:
			/* The answer to a request that only our OCI runtime sends; a user has typed it. */
			die("%.*s", (int)length, bytes);
		case FRAME_EXIT:
			exit(get_number(&payload) & 0xff);
		default:
			die("the daemon sent a frame of unknown type %u; client and daemon are of different versions, restart jnvdockerd",
			    header[0]);
		}
		free(bytes);
	}
}

/* A new connection after a pause: it may lead to another daemon. */
static int reconnect_after(uint32_t pause)
{
	uint32_t bounded = pause < MIN_PAUSE_MS ? MIN_PAUSE_MS : pause > MAX_PAUSE_MS ? MAX_PAUSE_MS : pause;
	struct timespec rest = { .tv_sec = bounded / 1000, .tv_nsec = bounded % 1000 * 1000000L };
	char *path = socket_path();

	while (nanosleep(&rest, &rest) < 0 && errno == EINTR)
		continue;
	int connection = try_connect(path);
	free(path);
	return connection >= 0 ? connection : await_return();
}

int main(int argc, char **argv)
{
	if (argc < 1)
		die("started without a name for itself; start it as programs are started");
	count_rounds();
	if (is_completion(argc, argv))
		prepare_completion(argc, argv);
	int word = first_operand(argc, argv);
	if (word == argc - 1 && strcmp(argv[word], "version") == 0)
		add(1, true, "\njnvdocker: " VERSION "\n", argc, argv);
	if (argc == 2 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-v") == 0))
		add(1, true, "jnvdocker version " VERSION "\n", argc, argv);
	if (is_help(argc, argv))
		help(argc, argv);
	if (!concerns_daemon(argc, argv))
		become_docker(argc, argv);
	if (!is_our_own(argv[word]) && !is_volume_setup(argc, argv, word) && is_harmless(argv)) {
		gpu_free_command.argc = argc;
		gpu_free_command.argv = argv;
		gpu_free_command.verb = verb_of(word, argv);
	}
	waits_for_proxy = argc == 4 && strcmp(argv[1], "runtime") == 0 && strcmp(argv[2], "wait") == 0;
	char **docker = NULL;
	int connection = -1;
	bool watches = waits_for_proxy;
	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		uint32_t pause;

		if (connection < 0)
			connection = connect_daemon(argc, argv);
		if (docker == NULL)
			docker = docker_command(!is_our_own(argv[word]));
		send_request(connection, docker, argv);
		enum reason reason = obey(connection, watches, &pause);
		close(connection);
		connection = -1;
		switch (reason) {
		case UNANSWERED:
			/* A daemon may be stopped just as it receives a request: send it to the next one. */
			usleep(START_POLL_MS * 1000);
			continue;
		case WENT_AWAY:
			connection = await_return();
			break;
		case REPEAT:
			watches = true;
			connection = reconnect_after(pause);
			break;
		}
		attempt = -1;
	}
	die_deserted();
}
