// Processes with many files open, until it is ended: openmany PROCESSES DESCRIPTORS. Says so when all have them.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: openmany PROCESSES DESCRIPTORS\n");
        return 2;
    }
    int processes = atoi(argv[1]), descriptors = atoi(argv[2]), ready[2];
    struct rlimit limit = {descriptors + 16, descriptors + 16};
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0 || pipe(ready) < 0) {
        perror("openmany");
        return 1;
    }
    for (int i = 0; i < processes; i++) {
        pid_t child = fork();
        if (child < 0) {
            perror("fork");
            return 1;
        }
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            // Standard input, output and error, and the pipe's ends, are five.
            for (int have = 5; have < descriptors; have++)
                if (dup(0) < 0)
                    _exit(1);
            if (write(ready[1], "", 1) != 1)
                _exit(1);
            for (;;)
                pause();
        }
    }
    char byte;
    for (int i = 0; i < processes; i++)
        if (read(ready[0], &byte, 1) != 1)
            return 1;
    puts("ready");
    fflush(stdout);
    for (;;)
        pause();
}
