// Opens a device node for reading and writing and says "ok", or the error's name: ENXIO where no driver
// stands behind the node, EPERM where the device cgroup forbids it.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: tryopen PATH\n");
        return 2;
    }
    if (open(argv[1], O_RDWR | O_NONBLOCK | O_CLOEXEC) >= 0) {
        puts("ok");
        return 0;
    }
    puts(strerrorname_np(errno));
    return 1;
}
