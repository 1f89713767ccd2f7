// Holds a device node open, as a program that uses a GPU does, until it is ended. It is opened as a mere
// place in the tree (O_PATH), since no driver stands behind the nodes of a simulated host.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: holdopen PATH\n");
        return 2;
    }
    if (open(argv[1], O_PATH | O_CLOEXEC) < 0) {
        perror(argv[1]);
        return 1;
    }
    for (;;)
        pause();
}
