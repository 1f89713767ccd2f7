// Prints the CUDA version that a libcuda, named on the command line, says that it supports: 12020 for 12.2.
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int version = 0;
    void *libcuda = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    int (*get)(int *) = libcuda != NULL ? (int (*)(int *))dlsym(libcuda, "cuDriverGetVersion") : NULL;
    if (get == NULL || get(&version) != 0) {
        puts(libcuda == NULL ? dlerror() : "no answer");
        return 1;
    }
    printf("%d\n", version);
    return 0;
}
