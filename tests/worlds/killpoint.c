/*
 * Preloaded into a process, counts the calls by which it changes the registry's files and ends the process,
 * or fails the call, at one of them. Those are writing, truncating, syncing and removing a file with
 * /registry.db in its path: the database, its -wal and its -journal. What is written through a mapping
 * (the -shm) is not seen, only that the file was made longer.
 *
 * Or, given a socket's path, counts the moments before and after each call by which the process writes to or
 * reads from what listens there, or from those who have connected when it is that itself. What it forks does not
 * count.
 *
 *   KILLPOINT_SOCKET=PATH     counts that, in place of the registry's files
 *   KILLPOINT_AT=N            the N-th call does not happen: the process is killed as by kill -9
 *   KILLPOINT_TORN=1          with it: if the N-th is a write, half of its bytes are written first
 *   KILLPOINT_ERROR=N:ERRNO[:COUNT]   from the N-th on the calls, or that many of them, fail with that number
 *   KILLPOINT_SWITCH=FILE     only the calls count that are made while this file is there
 *   KILLPOINT_COUNT=FILE      holds the number of calls so far, the last one included
 *
 * System calls are made directly: dlsym allocates, and the first call may come before any constructor.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static long kill_at, fail_from, fail_count = LONG_MAX, calls;
static bool torn;
static int failure;
static const char *count_file, *socket_path, *switch_file;
static pid_t socket_user;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void read_environment(void)
{
    const char *at = getenv("KILLPOINT_AT");
    const char *error = getenv("KILLPOINT_ERROR");
    kill_at = at != NULL ? atol(at) : 0;
    torn = getenv("KILLPOINT_TORN") != NULL;
    count_file = getenv("KILLPOINT_COUNT");
    socket_path = getenv("KILLPOINT_SOCKET");
    switch_file = getenv("KILLPOINT_SWITCH");
    socket_user = getpid();
    if (error != NULL && sscanf(error, "%ld:%d:%ld", &fail_from, &failure, &fail_count) < 2) {
        fprintf(stderr, "killpoint: KILLPOINT_ERROR=%s is not N:ERRNO[:COUNT]\n", error);
        _exit(2);
    }
}

static bool is_registry(const char *path)
{
    return socket_path == NULL && strstr(path, "/registry.db") != NULL;
}

static bool is_registry_fd(int fd)
{
    char link[32], path[PATH_MAX];
    int before = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    errno = before;
    if (length < 0) {
        return false;
    }
    path[length] = '\0';
    return is_registry(path);
}

static bool is_socket_fd(int fd)
{
    struct sockaddr_un peer = {0}, own = {0};
    socklen_t length = sizeof peer - 1, own_length = sizeof own - 1;
    int before = errno;
    bool is = socket_path != NULL && getpid() == socket_user &&
              getpeername(fd, (struct sockaddr *)&peer, &length) == 0 &&
              getsockname(fd, (struct sockaddr *)&own, &own_length) == 0 &&
              (strcmp(peer.sun_path, socket_path) == 0 || strcmp(own.sun_path, socket_path) == 0);
    errno = before;
    return is;
}

static void keep_count(void)
{
    char text[24];
    int length = snprintf(text, sizeof text, "%ld\n", calls);
    int fresh = calls == 1 ? O_TRUNC : 0; /* the process before may have got further */
    int fd = open(count_file, O_WRONLY | O_CREAT | O_CLOEXEC | fresh, 0600);
    if (fd < 0 || syscall(SYS_write, fd, text, length) != length) {
        abort();
    }
    close(fd);
}

static _Noreturn void die(void)
{
    kill(getpid(), SIGKILL);
    for (;;) {
        pause();
    }
}

struct write {
    int fd;
    const char *bytes;
    size_t length;
    const off_t *offset; /* or NULL: where the file stands */
};

static ssize_t do_write(const struct write *write, size_t length)
{
    if (write->offset == NULL) {
        return syscall(SYS_write, write->fd, write->bytes, length);
    }
    return syscall(SYS_pwrite64, write->fd, write->bytes, length, *write->offset);
}

/* Returns whether the call may happen; else errno is set. The write is NULL for calls of another kind. */
static bool passes(const struct write *write)
{
    bool fails;
    if (switch_file != NULL && syscall(SYS_faccessat, AT_FDCWD, switch_file, F_OK) != 0) {
        return true;
    }
    pthread_mutex_lock(&mutex);
    calls++;
    fails = fail_from > 0 && calls >= fail_from && calls - fail_from < fail_count;
    if (count_file != NULL) {
        keep_count();
    }
    if (calls == kill_at) {
        if (torn && write != NULL) {
            do_write(write, write->length / 2);
        }
        die(); /* with the mutex held: no other thread gets any further */
    }
    pthread_mutex_unlock(&mutex);
    if (fails) {
        errno = failure;
    }
    return !fails;
}

static ssize_t counted_write(struct write write)
{
    if (is_registry_fd(write.fd) && !passes(&write))
        return -1;
    return do_write(&write, write.length);
}

ssize_t write(int fd, const void *bytes, size_t length)
{
    return counted_write((struct write){fd, bytes, length, NULL});
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset)
{
    return counted_write((struct write){fd, bytes, length, &offset});
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t offset) __attribute__((alias("pwrite")));

ssize_t send(int fd, const void *bytes, size_t length, int flags)
{
    bool counts = is_socket_fd(fd);
    if (counts && !passes(NULL))
        return -1;
    ssize_t sent = syscall(SYS_sendto, fd, bytes, length, flags, NULL, 0);
    return counts && !passes(NULL) ? -1 : sent;
}

ssize_t read(int fd, void *bytes, size_t length)
{
    bool counts = is_socket_fd(fd);
    if (counts && !passes(NULL))
        return -1;
    ssize_t got = syscall(SYS_read, fd, bytes, length);
    return counts && !passes(NULL) ? -1 : got;
}

int ftruncate(int fd, off_t length)
{
    return is_registry_fd(fd) && !passes(NULL) ? -1 : (int)syscall(SYS_ftruncate, fd, length);
}

int ftruncate64(int fd, off_t length) __attribute__((alias("ftruncate")));

int fsync(int fd)
{
    return is_registry_fd(fd) && !passes(NULL) ? -1 : (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    return is_registry_fd(fd) && !passes(NULL) ? -1 : (int)syscall(SYS_fdatasync, fd);
}

int unlink(const char *path)
{
    return is_registry(path) && !passes(NULL) ? -1 : (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}
