// Mounts a file system that answers nothing, as one whose server is gone, until it is ended.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char options[128];
    int fuse;

    if (argc != 2) {
        fprintf(stderr, "usage: hangfs DIRECTORY\n");
        return 2;
    }
    fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (fuse < 0) {
        perror("/dev/fuse");
        return 1;
    }
    snprintf(options, sizeof options, "fd=%d,rootmode=40755,user_id=0,group_id=0,allow_other", fuse);
    if (mount("hangfs", argv[1], "fuse", MS_NOSUID | MS_NODEV, options) < 0) {
        perror(argv[1]);
        return 1;
    }
    puts("mounted");
    fflush(stdout);
    for (;;)
        pause();
}
