// Records in the directory that it lies in how it was called, as the kernel has it: called.cmdline,
// called.environ, called.status, in called.cwd its directory, and in called.fds each descriptor and where it leads;
// ends with 7.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char directory[PATH_MAX];

static FILE *create(const char *name)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/called.%s", directory, name);
    FILE *file = fopen(path, "we");
    if (file == NULL)
        exit(8);
    return file;
}

static void copy(const char *name)
{
    char path[64], bytes[4096];
    size_t count;
    snprintf(path, sizeof path, "/proc/self/%s", name);
    FILE *from = fopen(path, "re"), *to = create(name);
    while ((count = fread(bytes, 1, sizeof bytes, from)) > 0)
        fwrite(bytes, 1, count, to);
    fclose(from);
    fclose(to);
}

// Before anything else is opened, which would take the place of what is closed.
static void record_descriptors(void)
{
    char path[64], target[PATH_MAX], all[65536] = "";
    for (int number = 0; number < 1024; number++) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", number);
        ssize_t length = readlink(path, target, sizeof target - 1);
        if (length >= 0)
            sprintf(all + strlen(all), "%d %.*s\n", number, (int)length, target);
    }
    FILE *to = create("fds");
    fputs(all, to);
    fclose(to);
}

static void record_directory(void)
{
    char target[PATH_MAX];
    ssize_t length = readlink("/proc/self/cwd", target, sizeof target);
    FILE *to = create("cwd");
    if (length > 0)
        fwrite(target, 1, length, to);
    fclose(to);
}

int main(void)
{
    ssize_t length = readlink("/proc/self/exe", directory, sizeof directory - 1);
    if (length < 0)
        return 9;
    *strrchr(directory, '/') = '\0';
    record_descriptors();
    record_directory();
    copy("cmdline");
    copy("environ");
    copy("status");
    return 7;
}
