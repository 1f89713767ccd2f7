/* docker's own files about a container, which lie beside the ones that it mounts into it. */
#ifndef JNVDOCKER_DOCKER_H
#define JNVDOCKER_DOCKER_H

#include "ask.h"
#include "files.h"
#include "need.h"

/* No text of a container is longer; the three of them must go into one frame. */
enum { MAX_TEXT = 4 << 20 };

/*
 * Reads config.v2.json and hostconfig.json of a container of docker's; leaves them empty for a container of
 * another engine. FAILED when they cannot be read.
 */
struct answer read_docker_files(const char *id, struct texts *texts);
/* Why a file was not read, for a message. */
const char *why_not_read(enum file_state state);

#endif
