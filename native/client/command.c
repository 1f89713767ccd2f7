#define _GNU_SOURCE
#include "command.h"

#include <string.h>
#include <unistd.h>

#include "base.h"

static bool is_one_of(const char *text, const char *const *names)
{
	for (; *names != NULL; names++)
		if (strcmp(text, *names) == 0)
			return true;
	return false;
}

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

int first_operand(int argc, char **argv)
{
	int i = 1;

	while (i < argc && argv[i][0] == '-' && argv[i][1] != '\0')
		i += takes_next(argv[i]) ? 2 : 1;
	return i;
}

bool is_our_own(const char *word)
{
	static const char *const ours[] = { "gpu", "k8s", "mesos", "runtime", NULL };

	return is_one_of(word, ours);
}

bool is_volume_setup(int argc, char **argv, int word)
{
	return word + 2 == argc && strcmp(argv[word], "volume") == 0 && strcmp(argv[word + 1], "setup") == 0;
}

bool concerns_daemon(int argc, char **argv)
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

int verb_of(int word, char **argv)
{
	if (strcmp(argv[word], "container") == 0)
		for (word++; argv[word][0] == '-'; word++)
			continue;
	return word;
}

bool is_help(int argc, char **argv)
{
	int i = 1;

	while (i < argc && argv[i][0] == '-' && strcmp(argv[i], "--help") != 0 && strcmp(argv[i], "-h") != 0)
		i += takes_next(argv[i]) ? 2 : 1;
	return i == argc - 1 ? argv[i][0] == '-' || strcmp(argv[i], "help") == 0 : argc == 1;
}

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

bool is_harmless(char **argv)
{
	for (char **argument = argv + 1; *argument != NULL; argument++)
		if (names_gpus(*argument))
			return false;
	for (char **variable = environ; *variable != NULL; variable++)
		if (may_choose(*variable) && names_gpus(*variable))
			return false;
	return true;
}
