/* docker's own files about a container, which are beside the files that it mounts into the container. */
#ifndef JNVDOCKER_DOCKER_H
#define JNVDOCKER_DOCKER_H

#include "query.h"
#include "files.h"
#include "need.h"

/* The limit of a container's texts; the three of them must fit into one frame. */
enum { MAX_TEXT = 4 << 20 };

/*
 * Reads config.v2.json and hostconfig.json of a docker container; leaves them empty for a container of another
 * engine. FAILED when they cannot be read.
 */
struct answer read_docker_files(const char *id, struct texts *texts);
/* Why a file was not read, for a message. */
const char *why_not_read(enum file_state state);

#endif
