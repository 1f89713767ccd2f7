/* Starting the daemon, or having systemd start it. Only root's client does. */
#ifndef JNVDOCKER_START_H
#define JNVDOCKER_START_H

#include <stdbool.h>

/* Whether systemd starts the daemon of these directories. */
bool is_systemds(void);
/* Has systemd start the daemon. A connection to it; ends the program when there is none. */
int start_service(const char *path);
/* Starts the daemon in a session of its own. A connection to it; ends the program when there is none. */
int start_daemon(const char *path);

#endif
