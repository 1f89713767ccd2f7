/* What an engine wants of its runtime: the command line, as runc and crun read it. */
#ifndef JNVDOCKER_CALL_H
#define JNVDOCKER_CALL_H

#include <stdbool.h>

/* What was not given is empty; what was given twice is what was given last, as with the runtimes themselves. */
struct call {
	enum call_kind { CALL_OTHER, CALL_CREATE, CALL_EXEC, CALL_DELETE } kind; /* "run" is a create, too */
	const char *root, *log, *log_format;
	const char *bundle, *config, *pid_file; /* of a create; config is crun's name for another config.json */
	const char *process;                    /* of an exec */
	const char *id;
};

struct call parse_call(char *const *argv);
/* Whether it can be the name of a file in a folder of ours, and nothing else. */
bool is_plain_id(const char *id);

#endif
