// Loads each library named on the command line and says "ok NAME", or why it cannot be loaded.
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int failed = 0;
    for (int i = 1; i < argc; i++) {
        if (dlopen(argv[i], RTLD_NOW | RTLD_GLOBAL) != NULL) {
            printf("ok %s\n", argv[i]);
        } else {
            puts(dlerror());
            failed = 1;
        }
    }
    return failed;
}
