/* An engine's call of its runtime: the command line, parsed as runc and crun do. */
#ifndef JNVDOCKER_CALL_H
#define JNVDOCKER_CALL_H

#include <stdbool.h>

/* Options that were not given are empty; of repeated ones the last counts, as in the runtimes themselves. */
struct call {
	enum call_kind { CALL_OTHER, CALL_CREATE, CALL_EXEC, CALL_DELETE } kind; /* "run" and "restore" are creates, too */
	const char *root, *log, *log_format;
	const char *bundle, *config, *pid_file; /* of a create; config is crun's option for another config.json */
	const char *process;                    /* of an exec */
	const char *id;
};

struct call parse_call(char *const *argv);
/* Whether it is usable as the name of a file in a directory of ours, and as nothing else. */
bool is_plain_id(const char *id);

#endif
