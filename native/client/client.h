/* What all parts of the client share. */
#ifndef JNVDOCKER_CLIENT_H
#define JNVDOCKER_CLIENT_H

/* docker's own code for a failure before the container runs; jnvdocker.protocol.ExitCode has it too. */
enum { EXIT_REFUSED = 125 };

#define LIMITS "check the limits of this shell (ulimit -a), then try again"

extern char **environ;

#endif
