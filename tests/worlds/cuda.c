/*
 * Computes on every GPU that CUDA finds, by the driver's own interface: adds 1 to a million numbers and checks them.
 * Prints the number of GPUs and their UUIDs. With SECONDS it keeps the GPUs open that long.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { COUNT = 1 << 20, BLOCK = 1024 };

static const char *const kernel =
    ".version 6.0\n.target sm_30\n.address_size 64\n"
    ".visible .entry add(.param .u64 numbers) {\n"
    "  .reg .b32 %r<6>; .reg .b64 %d<4>;\n"
    "  ld.param.u64 %d1, [numbers]; cvta.to.global.u64 %d2, %d1;\n"
    "  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n"
    "  mad.lo.s32 %r4, %r1, %r2, %r3; mul.wide.s32 %d3, %r4, 4; add.s64 %d2, %d2, %d3;\n"
    "  ld.global.u32 %r5, [%d2]; add.s32 %r5, %r5, 1; st.global.u32 [%d2], %r5;\n"
    "  ret;\n}\n";

static void *cuda;

static void *entry(const char *name)
{
    void *found = dlsym(cuda, name);

    if (found == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return found;
}

static void check(int result, const char *call)
{
    const char *text = "?";

    if (result == 0)
        return;
    int (*get_text)(int, const char **) = (int (*)(int, const char **))entry("cuGetErrorString");
    get_text(result, &text);
    fprintf(stderr, "%s: error %d, %s\n", call, result, text);
    exit(1);
}

/* A call of CUDA by its parameters' types; their values follow. */
#define CALL(name, types, ...) check(((int(*) types)entry(#name))(__VA_ARGS__), #name)

static void compute(int number)
{
    static int numbers[COUNT];
    unsigned char uuid[16];
    void *context, *module, *function;
    unsigned long long memory;
    int device;

    CALL(cuDeviceGet, (int *, int), &device, number);
    CALL(cuDeviceGetUuid, (unsigned char *, int), uuid, device);
    CALL(cuCtxCreate_v2, (void **, unsigned, int), &context, 0, device);
    CALL(cuMemAlloc_v2, (unsigned long long *, size_t), &memory, sizeof numbers);
    for (int i = 0; i < COUNT; i++)
        numbers[i] = i;
    CALL(cuMemcpyHtoD_v2, (unsigned long long, const void *, size_t), memory, numbers, sizeof numbers);
    CALL(cuModuleLoadData, (void **, const void *), &module, kernel);
    CALL(cuModuleGetFunction, (void **, void *, const char *), &function, module, "add");
    void *parameters[] = { &memory };
    CALL(cuLaunchKernel,
         (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **), function,
         COUNT / BLOCK, 1, 1, BLOCK, 1, 1, 0, NULL, parameters, NULL);
    CALL(cuMemcpyDtoH_v2, (void *, unsigned long long, size_t), numbers, memory, sizeof numbers);
    for (int i = 0; i < COUNT; i++) {
        if (numbers[i] != i + 1) {
            fprintf(stderr, "number %d is %d\n", i, numbers[i]);
            exit(1);
        }
    }
    printf("GPU-%02x%02x%02x%02x\n", uuid[0], uuid[1], uuid[2], uuid[3]);
}

int main(int argc, char **argv)
{
    int count;

    cuda = dlopen("libcuda.so.1", RTLD_NOW);
    if (cuda == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    CALL(cuInit, (unsigned), 0);
    CALL(cuDeviceGetCount, (int *), &count);
    printf("%d\n", count);
    for (int i = 0; i < count; i++)
        compute(i);
    fflush(stdout);
    if (argc > 1)
        sleep((unsigned)atoi(argv[1]));
    return 0;
}
