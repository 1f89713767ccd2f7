#define _GNU_SOURCE
#include "call.h"

#include <string.h>

#include "base.h"

enum { MAX_ID = 255 };

/* An option with a value; its letter is 0 if it has none. Options that are not listed take no separate value. */
struct option {
	const char *name;
	char letter;
	const char **value; /* or NULL: ignored */
};

/*
 * Finds the option that a word is, in any form that runc (Go's flag package: one dash or two) and crun (argp:
 * -bDIR) accept.
 *
 * value: the rest of the same word, or NULL
 */
static const struct option *find_option(const struct option *options, const char *word, const char **value)
{
	const char *name = word + (word[1] == '-' ? 2 : 1);
	size_t length = strcspn(name, "=");

	*value = name[length] == '=' ? name + length + 1 : NULL;
	for (const struct option *option = options; option->name != NULL; option++)
		if (strlen(option->name) == length && strncmp(option->name, name, length) == 0)
			return option;
	if (word[1] == '-')
		return NULL;
	for (const struct option *option = options; option->name != NULL; option++) {
		if (option->letter == '\0' || option->letter != word[1])
			continue;
		if (length > 1)
			*value = word + 2;
		return option;
	}
	return NULL;
}

static bool is_option(const char *word)
{
	return word[0] == '-' && word[1] != '\0';
}

/* The word after an option, with its value if that is a word of its own. */
static char *const *take_option(const struct option *option, const char *value, char *const *word)
{
	if (value == NULL && *++word == NULL)
		return word;
	if (option->value != NULL)
		*option->value = value != NULL ? value : *word;
	return word + 1;
}

static enum call_kind kind_of(const char *word)
{
	if (strcmp(word, "create") == 0 || strcmp(word, "run") == 0 || strcmp(word, "restore") == 0)
		return CALL_CREATE;
	if (strcmp(word, "exec") == 0)
		return CALL_EXEC;
	return strcmp(word, "delete") == 0 ? CALL_DELETE : CALL_OTHER;
}

/*
 * The word that is the command, or NULL. An unknown global option may be followed by its value: so the next word
 * counts as the command only if it is one of ours. A wrong guess must not let a create through.
 */
static char *const *find_command(char *const *word, struct call *call)
{
	const struct option options[] = {
		{ "root", 0, &call->root }, { "log", 0, &call->log }, { "log-format", 0, &call->log_format },
		{ "criu", 0, NULL }, { "rootless", 0, NULL }, { "cgroup-manager", 0, NULL }, { "log-level", 0, NULL },
		{ NULL, 0, NULL },
	};
	static const char *const switches[] = { "--debug", "-debug", "--systemd-cgroup", "-systemd-cgroup", NULL };
	const char *value;

	while (*word != NULL && is_option(*word)) {
		if (strcmp(*word, "--") == 0)
			return word[1] != NULL ? word + 1 : NULL;
		const struct option *option = find_option(options, *word, &value);
		if (option != NULL) {
			word = take_option(option, value, word);
			continue;
		}
		bool known = value != NULL;
		for (const char *const *name = switches; *name != NULL && !known; name++)
			known = strcmp(*word, *name) == 0;
		word++;
		if (!known && *word != NULL && !is_option(*word) && kind_of(*word) == CALL_OTHER)
			word++;
	}
	return *word != NULL ? word : NULL;
}

/*
 * Reads the words after the command. In a create and a delete, options may follow the container; in an exec, the
 * container's own command follows.
 */
static void parse_command(char *const *word, struct call *call)
{
	const struct option create[] = {
		{ "bundle", 'b', &call->bundle }, { "config", 'f', &call->config }, { "pid-file", 0, &call->pid_file },
		{ "console-socket", 0, NULL }, { "pidfd-socket", 0, NULL }, { "preserve-fds", 0, NULL },
		/* of a restore */
		{ "image-path", 0, NULL }, { "work-path", 0, NULL }, { "manage-cgroups-mode", 0, NULL }, { "empty-ns", 0, NULL },
		{ "network-lock", 0, NULL }, { "lsm-profile", 0, NULL }, { "lsm-mount-context", 0, NULL }, { NULL, 0, NULL },
	};
	const struct option exec[] = {
		{ "process", 'p', &call->process }, { "pid-file", 0, NULL }, { "console-socket", 0, NULL },
		{ "pidfd-socket", 0, NULL }, { "cwd", 0, NULL }, { "env", 'e', NULL }, { "user", 'u', NULL },
		{ "additional-gids", 'g', NULL }, { "process-label", 0, NULL }, { "apparmor", 0, NULL },
		{ "cap", 'c', NULL }, { "preserve-fds", 0, NULL }, { "cgroup", 0, NULL }, { NULL, 0, NULL },
	};
	static const struct option none[] = { { NULL, 0, NULL } };
	const struct option *options = call->kind == CALL_CREATE ? create : call->kind == CALL_EXEC ? exec : none;
	bool more_options = true;
	const char *value;

	while (*word != NULL) {
		if (!more_options || !is_option(*word)) {
			call->id = *word++;
			if (call->kind == CALL_EXEC)
				return;
		} else if (strcmp(*word, "--") == 0) {
			more_options = false;
			word++;
		} else {
			const struct option *option = find_option(options, *word, &value);
			word = option != NULL ? take_option(option, value, word) : word + 1;
		}
	}
}

struct call parse_call(char *const *argv)
{
	struct call call = {
		.root = "", .log = "", .log_format = "", .bundle = "", .config = "", .pid_file = "", .process = "", .id = "",
	};
	char *const *command = argv[0] == NULL ? NULL : find_command(argv + 1, &call);

	if (command != NULL) {
		call.kind = kind_of(*command);
		if (call.kind != CALL_OTHER)
			parse_command(command + 1, &call);
	}
	return call;
}

bool is_plain_id(const char *id)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	static const char all[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-";
	size_t length = strlen(id);

	return length > 0 && length <= MAX_ID && strchr(letters, id[0]) != NULL && strspn(id, all) == length;
}
