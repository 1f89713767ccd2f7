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
 * See exchange.h for the request and the frames, and ../common/frames.h for the protocol.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base.h"
#include "client.h"
#include "command.h"
#include "daemon.h"
#include "docker.h"
#include "exchange.h"
#include "help.h"

/* How often a request is sent that no daemon answers, and the pause before that. */
enum { ATTEMPTS = 3, RETRY_MS = 5 };
/* The limits of the pause between two rounds of --watch, whatever the daemon requests. */
enum { MIN_PAUSE_MS = 1000, MAX_PAUSE_MS = 3600000 };
/* The limit of a completion, for which the user waits after pressing TAB. */
enum { COMPLETION_MS = 800 };

#ifndef VERSION
#error "the Makefile defines VERSION"
#endif

const int failure_code = EXIT_REFUSED;

/* jnvdocker.command.complete.Answer has it too: docker completes the word as well. */
#define COMPLETED_BY_DOCKER ":docker\n"

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
			usleep(RETRY_MS * 1000);
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
