// Holds device nodes open, as a program that uses a GPU does, until it is ended. They are opened as mere
// places in the tree (O_PATH), since no driver stands behind the nodes of a simulated host.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: holdopen PATH...\n");
        return 2;
    }
    for (int i = 1; i < argc; i++) {
        if (open(argv[i], O_PATH | O_CLOEXEC) < 0) {
            perror(argv[i]);
            return 1;
        }
    }
    for (;;)
        pause();
}
