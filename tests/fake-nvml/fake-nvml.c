/*
 * A libnvidia-ml.so.1 whose machine is a text file, read again whenever it changes. The file's path is written over
 * the text @machine@ in the library, so that a copy of it still finds the machine. Compiled against NVIDIA's own
 * nvml.h, so that a wrong signature or struct does not compile.
 *
 *   driver 535.261.03
 *   cuda 12020
 *   gpu 0000:07:00.0            begins a GPU; what follows is its own
 *   uuid GPU-5c1a1003-...
 *   name NVIDIA A100-SXM4-40GB
 *   memory 42949672960 1073741824 503316480   total, used by programs, kept by the driver (0 if absent)
 *   process 4711 1073741824     one that computes; graphics PID BYTES: one that draws
 *   samples                     how much its processes use it is known
 *   sample 4711 95              of one, in percent
 *   link 0 0000:0f:00.0         the NVLink and the other end
 *   mig-mode 1 1                now, and from the next reset on
 *   xid 79                      an error that happens when the line is added; likewise double-bit-error
 *   mig 3 7 0 MIG-... 10468982784 0 2g.10gb   an instance: place, GPU and compute instance, UUID, memory and what is
 *                               used of it, profile
 *
 * A field without a line is not supported. For any function, before the first GPU or for one GPU:
 *
 *   error nvmlDeviceGetFanSpeed 3     it returns that
 *   delay nvmlInit_v2 2000            it takes that many milliseconds
 *   hang nvmlDeviceGetTemperature     it does not return before the line is gone
 */
#define _GNU_SOURCE
#include <limits.h>
#include <nvml.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>

/* What jnvdocker.nvml.LibNvml assumes. */
_Static_assert(sizeof(nvmlDeviceAttributes_t) == 40 && __builtin_offsetof(nvmlDeviceAttributes_t, computeInstanceSliceCount) == 28,
               "ATTRIBUTES");
_Static_assert(sizeof(nvmlPciInfo_t) == 68 && __builtin_offsetof(nvmlPciInfo_t, busId) == 36, "PCI_INFO");
_Static_assert(sizeof(nvmlProcessInfo_v1_t) == 16, "PROCESS_V1_SIZE");
_Static_assert(sizeof(nvmlProcessInfo_v2_t) == 24, "PROCESS_V2_SIZE");
_Static_assert(__builtin_offsetof(nvmlProcessInfo_v2_t, usedGpuMemory) == 8, "memory of a process");
_Static_assert(sizeof(nvmlProcessUtilizationSample_t) == 32, "SAMPLE_SIZE");
_Static_assert(__builtin_offsetof(nvmlProcessUtilizationSample_t, timeStamp) == 8, "SAMPLE_TIME");
_Static_assert(__builtin_offsetof(nvmlProcessUtilizationSample_t, smUtil) == 16, "SAMPLE_UTILIZATION");
_Static_assert(sizeof(nvmlEventData_t) == 32, "EVENT_DATA_SIZE");
_Static_assert(__builtin_offsetof(nvmlEventData_t, eventType) == 8, "TYPE of an event");
_Static_assert(__builtin_offsetof(nvmlEventData_t, eventData) == 16, "DATA of an event");
_Static_assert(nvmlEventTypeXidCriticalError == 0x8 && nvmlEventTypeDoubleBitEccError == 0x2, "types of events");
_Static_assert(sizeof(nvmlMemory_t) == 24 && sizeof(nvmlBAR1Memory_t) == 24, "long[3]");
_Static_assert(__builtin_offsetof(nvmlMemory_t, used) == 16, "total, free, used");
_Static_assert(sizeof(nvmlMemory_v2_t) == 40 && nvmlMemory_v2 == (40 | 2 << 24), "MEMORY_V2");
_Static_assert(__builtin_offsetof(nvmlMemory_v2_t, used) == 32, "version, total, reserved, free, used");
_Static_assert(__builtin_offsetof(nvmlBAR1Memory_t, bar1Used) == 16, "total, free, used");
_Static_assert(sizeof(nvmlUtilization_t) == 8, "int[2]");

enum { MAX_DEVICES = 64, MAX_INSTANCES = 8, MAX_LINES = 4096, MAX_LINE = 160 };

struct nvmlDevice_st {
    char address[32]; /* empty for what concerns the whole machine */
    int instance;     /* of a MIG device, its place; else -1 */
    unsigned first, last; /* its lines, if there are any */
};

static struct nvmlDevice_st devices[MAX_DEVICES * (1 + MAX_INSTANCES)];
static unsigned device_count;
static struct nvmlDevice_st machine = { "", -1, 0, 0 };
static char lines[MAX_LINES][MAX_LINE];
static unsigned line_count;
static char path[PATH_MAX] = "@machine@";
static struct stat seen; /* the file as it was read; changes may come in one tick of its time */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int initialized;

static nvmlDevice_t slot(const char *address, int instance)
{
    for (unsigned i = 0; i < device_count; i++)
        if (strcmp(devices[i].address, address) == 0 && devices[i].instance == instance)
            return &devices[i];
    if (device_count == sizeof devices / sizeof *devices)
        abort();
    nvmlDevice_t device = &devices[device_count++];
    snprintf(device->address, sizeof device->address, "%s", address);
    device->instance = instance;
    return device;
}

/* Reads the file if it has changed. A file that is not there is a machine without a driver. */
static void read_machine(void)
{
    struct stat status;
    FILE *file;

    if (stat(path, &status) != 0 || (file = fopen(path, "re")) == NULL) {
        line_count = 0;
        seen = (struct stat){ 0 };
        return;
    }
    if (memcmp(&status.st_mtim, &seen.st_mtim, sizeof seen.st_mtim) != 0 || status.st_ino != seen.st_ino ||
        status.st_size != seen.st_size) {
        nvmlDevice_t at = &machine;
        seen = status;
        line_count = 0;
        for (unsigned i = 0; i < device_count; i++)
            devices[i].first = devices[i].last = 0;
        machine.first = machine.last = 0;
        while (line_count < MAX_LINES && fgets(lines[line_count], MAX_LINE, file) != NULL) {
            char *line = lines[line_count], address[32];
            line[strcspn(line, "#\n")] = '\0';
            if (sscanf(line, "gpu %31s", address) == 1) {
                at = slot(address, -1);
                at->first = line_count;
            }
            at->last = ++line_count;
        }
    }
    fclose(file);
}

/* The rest of the n-th line that begins with these words, or NULL. */
static const char *find(nvmlDevice_t device, const char *words, unsigned n)
{
    size_t length = strlen(words);

    for (unsigned i = device->first; i < device->last; i++) {
        const char *line = lines[i] + strspn(lines[i], " ");
        if (strncmp(line, words, length) == 0 && (line[length] == ' ' || line[length] == '\0') && n-- == 0)
            return line + length + strspn(line + length, " ");
    }
    return NULL;
}

static void pause_for(long milliseconds)
{
    struct timespec time = { milliseconds / 1000, milliseconds % 1000 * 1000000 };
    pthread_mutex_unlock(&mutex);
    nanosleep(&time, NULL);
    pthread_mutex_lock(&mutex);
    read_machine();
}

/* Begins a call, with the mutex held; the answer, if it is not NVML_SUCCESS, is the call's. */
static nvmlReturn_t enter(nvmlDevice_t device, const char *function)
{
    nvmlDevice_t all[] = { &machine, device };
    const char *text;
    char words[96];

    pthread_mutex_lock(&mutex);
    read_machine();
    for (unsigned i = 0; i < 2; i++) {
        snprintf(words, sizeof words, "delay %s", function);
        if ((text = find(all[i], words, 0)) != NULL)
            pause_for(atol(text));
        snprintf(words, sizeof words, "hang %s", function);
        while (find(all[i], words, 0) != NULL)
            pause_for(20);
        snprintf(words, sizeof words, "error %s", function);
        if ((text = find(all[i], words, 0)) != NULL)
            return atoi(text);
    }
    if (line_count == 0)
        return NVML_ERROR_DRIVER_NOT_LOADED;
    if (!initialized && strncmp(function, "nvmlInit", 8) != 0)
        return NVML_ERROR_UNINITIALIZED;
    if (device->address[0] != '\0' && device->first == device->last)
        return NVML_ERROR_GPU_IS_LOST;
    return NVML_SUCCESS;
}

static nvmlReturn_t leave(nvmlReturn_t result)
{
    pthread_mutex_unlock(&mutex);
    return result;
}

/* Reads the numbers of a line; returns how many there are. */
static int numbers(nvmlDevice_t device, const char *key, unsigned long long found[4])
{
    const char *text = find(device, key, 0);
    if (text == NULL)
        return 0;
    int count = 0;
    char *end;
    while (count < 4) {
        found[count] = strtoull(text, &end, 0);
        if (end == text)
            break;
        text = end;
        count++;
    }
    return count;
}

static nvmlReturn_t copy(const char *text, char *to, unsigned length)
{
    if (text == NULL)
        return NVML_ERROR_NOT_SUPPORTED;
    if (strlen(text) >= length)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    strcpy(to, text);
    return NVML_SUCCESS;
}

/* A call whose answer is a number of a line. */
#define NUMBER(function, type, key, index)                                            \
    nvmlReturn_t function(nvmlDevice_t device, type *value)                           \
    {                                                                                 \
        unsigned long long found[4];                                                  \
        nvmlReturn_t result = enter(device, #function);                               \
        if (result == NVML_SUCCESS && numbers(device, key, found) <= (index))         \
            result = NVML_ERROR_NOT_SUPPORTED;                                        \
        if (result == NVML_SUCCESS)                                                   \
            *value = (type)found[index];                                              \
        return leave(result);                                                         \
    }

/* The same, with a selector, such as a clock's: the index-th number of the line is that of selector index. */
#define SELECTED(function, selector, type, key)                                       \
    nvmlReturn_t function(nvmlDevice_t device, selector which, type *value)           \
    {                                                                                 \
        unsigned long long found[4];                                                  \
        nvmlReturn_t result = enter(device, #function);                               \
        if (result == NVML_SUCCESS && numbers(device, key, found) <= (int)which)      \
            result = NVML_ERROR_NOT_SUPPORTED;                                        \
        if (result == NVML_SUCCESS)                                                   \
            *value = (type)found[which];                                              \
        return leave(result);                                                         \
    }

NUMBER(nvmlDeviceGetBrand, nvmlBrandType_t, "brand", 0)
NUMBER(nvmlDeviceGetArchitecture, nvmlDeviceArchitecture_t, "architecture", 0)
NUMBER(nvmlDeviceGetNumGpuCores, unsigned, "cores", 0)
NUMBER(nvmlDeviceGetMemoryBusWidth, unsigned, "memory-bus", 0)
NUMBER(nvmlDeviceGetMinorNumber, unsigned, "minor", 0)
NUMBER(nvmlDeviceGetPowerUsage, unsigned, "power", 0)
NUMBER(nvmlDeviceGetEnforcedPowerLimit, unsigned, "power", 1)
NUMBER(nvmlDeviceGetFanSpeed, unsigned, "fan", 0)
NUMBER(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long, "throttling", 0)
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, unsigned, "pcie", 0)
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, unsigned, "pcie", 1)
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, unsigned, "pcie", 2)
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, unsigned, "pcie", 3)
NUMBER(nvmlDeviceGetRetiredPagesPendingStatus, nvmlEnableState_t, "retired", 2)
NUMBER(nvmlDeviceGetComputeMode, nvmlComputeMode_t, "compute-mode", 0)
NUMBER(nvmlDeviceGetPersistenceMode, nvmlEnableState_t, "persistence", 0)
SELECTED(nvmlDeviceGetClockInfo, nvmlClockType_t, unsigned, "clocks")
SELECTED(nvmlDeviceGetMaxClockInfo, nvmlClockType_t, unsigned, "max-clocks")
SELECTED(nvmlDeviceGetTemperature, nvmlTemperatureSensors_t, unsigned, "temperature")
SELECTED(nvmlDeviceGetPcieThroughput, nvmlPcieUtilCounter_t, unsigned, "throughput")

/* Two numbers of a line. */
#define PAIR(function, type, key)                                                     \
    nvmlReturn_t function(nvmlDevice_t device, type *one, type *other)                \
    {                                                                                 \
        unsigned long long found[4];                                                  \
        nvmlReturn_t result = enter(device, #function);                               \
        if (result == NVML_SUCCESS && numbers(device, key, found) < 2)                \
            result = NVML_ERROR_NOT_SUPPORTED;                                        \
        if (result == NVML_SUCCESS) {                                                 \
            *one = (type)found[0];                                                    \
            *other = (type)found[1];                                                  \
        }                                                                             \
        return leave(result);                                                         \
    }

PAIR(nvmlDeviceGetCudaComputeCapability, int, "compute-capability")
PAIR(nvmlDeviceGetEncoderUtilization, unsigned, "encoder")
PAIR(nvmlDeviceGetDecoderUtilization, unsigned, "decoder")
PAIR(nvmlDeviceGetEccMode, nvmlEnableState_t, "ecc")
PAIR(nvmlDeviceGetMigMode, unsigned, "mig-mode")

nvmlReturn_t nvmlInit_v2(void)
{
    nvmlReturn_t result = enter(&machine, "nvmlInit_v2");
    initialized += result == NVML_SUCCESS;
    return leave(result);
}

nvmlReturn_t nvmlShutdown(void)
{
    nvmlReturn_t result = enter(&machine, "nvmlShutdown");
    initialized -= result == NVML_SUCCESS;
    return leave(result);
}

const char *nvmlErrorString(nvmlReturn_t result)
{
    switch (result) {
    case NVML_ERROR_UNINITIALIZED: return "Uninitialized";
    case NVML_ERROR_NOT_SUPPORTED: return "Not Supported";
    case NVML_ERROR_DRIVER_NOT_LOADED: return "Driver Not Loaded";
    case NVML_ERROR_NOT_FOUND: return "Not Found";
    case NVML_ERROR_GPU_IS_LOST: return "GPU is lost";
    case NVML_ERROR_RESET_REQUIRED: return "GPU requires reset";
    case NVML_ERROR_LIB_RM_VERSION_MISMATCH: return "Driver/library version mismatch";
    default: return "Unknown Error";
    }
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned length)
{
    nvmlReturn_t result = enter(&machine, "nvmlSystemGetDriverVersion");
    return leave(result != NVML_SUCCESS ? result : copy(find(&machine, "driver", 0), version, length));
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version)
{
    unsigned long long found[4];
    nvmlReturn_t result = enter(&machine, "nvmlSystemGetCudaDriverVersion");
    if (result == NVML_SUCCESS && numbers(&machine, "cuda", found) < 1)
        result = NVML_ERROR_FUNCTION_NOT_FOUND;
    if (result == NVML_SUCCESS)
        *version = (int)found[0];
    return leave(result);
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *address, nvmlDevice_t *device)
{
    nvmlReturn_t result = enter(&machine, "nvmlDeviceGetHandleByPciBusId_v2");
    if (result != NVML_SUCCESS)
        return leave(result);
    if (strlen(address) == 16 && strncmp(address, "0000", 4) == 0)
        address += 4;
    *device = NULL;
    for (unsigned i = 0; i < device_count; i++)
        if (strcasecmp(devices[i].address, address) == 0 && devices[i].instance < 0 &&
            devices[i].first != devices[i].last)
            *device = &devices[i];
    return leave(*device == NULL ? NVML_ERROR_NOT_FOUND : NVML_SUCCESS);
}

struct mig {
    unsigned gpu_instance, compute_instance;
    char uuid[96], profile[24];
    unsigned long long total, used;
};

/* Whether a device is a MIG instance, and what its line says. */
static bool is_mig(nvmlDevice_t device, struct mig *mig)
{
    char words[24];
    const char *text;

    *mig = (struct mig){ 0 };
    snprintf(words, sizeof words, "mig %d", device->instance);
    return device->instance >= 0 && (text = find(device, words, 0)) != NULL &&
           sscanf(text, "%u %u %95s %llu %llu %23s", &mig->gpu_instance, &mig->compute_instance, mig->uuid, &mig->total,
                  &mig->used, mig->profile) >= 3;
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned length)
{
    nvmlReturn_t result = enter(device, "nvmlDeviceGetName");
    struct mig mig;
    char words[128];
    const char *model;

    if (result != NVML_SUCCESS)
        return leave(result);
    model = find(device, "name", 0);
    if (is_mig(device, &mig) && model != NULL) {
        snprintf(words, sizeof words, "%s MIG %s", model, mig.profile);
        model = words;
    }
    return leave(copy(model, name, length));
}

nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned *id)
{
    struct mig mig;
    nvmlReturn_t result = enter(device, "nvmlDeviceGetGpuInstanceId");
    if (result == NVML_SUCCESS && !is_mig(device, &mig))
        result = NVML_ERROR_NOT_SUPPORTED;
    if (result == NVML_SUCCESS)
        *id = mig.gpu_instance;
    return leave(result);
}

nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t device, unsigned *id)
{
    struct mig mig;
    nvmlReturn_t result = enter(device, "nvmlDeviceGetComputeInstanceId");
    if (result == NVML_SUCCESS && !is_mig(device, &mig))
        result = NVML_ERROR_NOT_SUPPORTED;
    if (result == NVML_SUCCESS)
        *id = mig.compute_instance;
    return leave(result);
}

/* 1 for 1c.3g.20gb, 3 for 3g.20gb: the slices that compute. */
nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t device, nvmlDeviceAttributes_t *attributes)
{
    struct mig mig;
    nvmlReturn_t result = enter(device, "nvmlDeviceGetAttributes_v2");
    if (result == NVML_SUCCESS && !is_mig(device, &mig))
        result = NVML_ERROR_NOT_SUPPORTED;
    if (result == NVML_SUCCESS) {
        *attributes = (nvmlDeviceAttributes_t){ .memorySizeMB = mig.total >> 20 };
        sscanf(mig.profile, "%u", &attributes->computeInstanceSliceCount);
    }
    return leave(result);
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned length)
{
    nvmlReturn_t result = enter(device, "nvmlDeviceGetUUID");
    struct mig mig;
    if (result != NVML_SUCCESS)
        return leave(result);
    return leave(copy(is_mig(device, &mig) ? mig.uuid : find(device, "uuid", 0), uuid, length));
}

/* Writes the total, used and reserved bytes of a GPU or a MIG instance. */
static nvmlReturn_t memory_of(nvmlDevice_t device, unsigned long long found[4])
{
    struct mig mig;

    found[2] = 0;
    if (is_mig(device, &mig)) {
        found[0] = mig.total;
        found[1] = mig.used;
    } else if (numbers(device, "memory", found) < 2) {
        return NVML_ERROR_NOT_SUPPORTED;
    }
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
    unsigned long long found[4];
    nvmlReturn_t result = enter(device, "nvmlDeviceGetMemoryInfo");
    if (result == NVML_SUCCESS)
        result = memory_of(device, found);
    if (result == NVML_SUCCESS) {
        found[1] += found[2];
        *memory = (nvmlMemory_t){ .total = found[0], .used = found[1], .free = found[0] - found[1] };
    }
    return leave(result);
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
    unsigned long long found[4];
    nvmlReturn_t result = enter(device, "nvmlDeviceGetMemoryInfo_v2");
    if (result == NVML_SUCCESS && memory->version != nvmlMemory_v2)
        result = NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (result == NVML_SUCCESS)
        result = memory_of(device, found);
    if (result == NVML_SUCCESS)
        *memory = (nvmlMemory_v2_t){ .version = nvmlMemory_v2, .total = found[0], .reserved = found[2],
                                     .used = found[1], .free = found[0] - found[1] - found[2] };
    return leave(result);
}

nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t device, nvmlBAR1Memory_t *memory)
{
    unsigned long long found[4];
    nvmlReturn_t result = enter(device, "nvmlDeviceGetBAR1MemoryInfo");
    if (result == NVML_SUCCESS && numbers(device, "bar1", found) < 2)
        result = NVML_ERROR_NOT_SUPPORTED;
    if (result == NVML_SUCCESS)
        *memory = (nvmlBAR1Memory_t){ .bar1Total = found[0], .bar1Used = found[1], .bar1Free = found[0] - found[1] };
    return leave(result);
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *utilization)
{
    unsigned long long found[4];
    nvmlReturn_t result = enter(device, "nvmlDeviceGetUtilizationRates");
    if (result == NVML_SUCCESS && numbers(device, "utilization", found) < 2)
        result = NVML_ERROR_NOT_SUPPORTED;
    if (result == NVML_SUCCESS)
        *utilization = (nvmlUtilization_t){ .gpu = (unsigned)found[0], .memory = (unsigned)found[1] };
    return leave(result);
}

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t type,
                                         nvmlEccCounterType_t counter, unsigned long long *count)
{
    unsigned long long found[4];
    nvmlReturn_t result = enter(device, "nvmlDeviceGetTotalEccErrors");
    const char *key = counter == NVML_VOLATILE_ECC ? "ecc-errors" : "ecc-errors-ever";
    if (result == NVML_SUCCESS && numbers(device, key, found) <= (int)type)
        result = NVML_ERROR_NOT_SUPPORTED;
    if (result == NVML_SUCCESS)
        *count = found[type];
    return leave(result);
}

/* A line 'ecc-places L1 L2 DEVICE' counts the uncorrected errors since the driver was loaded. */
nvmlReturn_t nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t device, nvmlMemoryErrorType_t type,
                                             nvmlEccCounterType_t counter, nvmlMemoryLocation_t location,
                                             unsigned long long *count)
{
    unsigned long long found[4];
    nvmlReturn_t result = enter(device, "nvmlDeviceGetMemoryErrorCounter");
    if (result == NVML_SUCCESS && (type != NVML_MEMORY_ERROR_TYPE_UNCORRECTED || counter != NVML_VOLATILE_ECC ||
                                   numbers(device, "ecc-places", found) <= (int)location))
        result = NVML_ERROR_NOT_SUPPORTED;
    if (result == NVML_SUCCESS)
        *count = found[location];
    return leave(result);
}

nvmlReturn_t nvmlDeviceGetRetiredPages(nvmlDevice_t device, nvmlPageRetirementCause_t cause, unsigned *count,
                                       unsigned long long *addresses)
{
    unsigned long long found[4];
    nvmlReturn_t result = enter(device, "nvmlDeviceGetRetiredPages");
    unsigned room = *count;
    if (result == NVML_SUCCESS && numbers(device, "retired", found) <= (int)cause)
        result = NVML_ERROR_NOT_SUPPORTED;
    if (result == NVML_SUCCESS) {
        *count = (unsigned)found[cause];
        if (*count > room)
            result = NVML_ERROR_INSUFFICIENT_SIZE;
        for (unsigned i = 0; result == NVML_SUCCESS && i < *count; i++)
            addresses[i] = 0x1000ULL * (i + 1);
    }
    return leave(result);
}

nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned *corrected, unsigned *uncorrected,
                                       unsigned *pending, unsigned *failed)
{
    unsigned long long found[4];
    nvmlReturn_t result = enter(device, "nvmlDeviceGetRemappedRows");
    if (result == NVML_SUCCESS && numbers(device, "remapped", found) < 4)
        result = NVML_ERROR_NOT_SUPPORTED;
    if (result == NVML_SUCCESS) {
        *corrected = (unsigned)found[0];
        *uncorrected = (unsigned)found[1];
        *pending = (unsigned)found[2];
        *failed = (unsigned)found[3];
    }
    return leave(result);
}

static nvmlReturn_t processes(nvmlDevice_t device, const char *function, const char *key, unsigned *count,
                              nvmlProcessInfo_v1_t *old, nvmlProcessInfo_v2_t *found)
{
    nvmlReturn_t result = enter(device, function);
    unsigned room = *count, n = 0;
    const char *text;

    if (result != NVML_SUCCESS)
        return leave(result);
    for (; (text = find(device, key, n)) != NULL; n++) {
        unsigned pid = 0;
        unsigned long long used = (unsigned long long)NVML_VALUE_NOT_AVAILABLE;
        sscanf(text, "%u %llu", &pid, &used);
        if (n < room && old != NULL)
            old[n] = (nvmlProcessInfo_v1_t){ pid, used };
        if (n < room && found != NULL)
            found[n] = (nvmlProcessInfo_v2_t){ pid, used, 0xFFFFFFFF, 0xFFFFFFFF };
    }
    *count = n;
    return leave(n > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_t *found)
{
    return processes(device, "nvmlDeviceGetComputeRunningProcesses_v3", "process", count, NULL, found);
}

nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_t *found)
{
    return processes(device, "nvmlDeviceGetGraphicsRunningProcesses_v3", "graphics", count, NULL, found);
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_v1_t *found)
{
    return processes(device, "nvmlDeviceGetComputeRunningProcesses", "process", count, found, NULL);
}

nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_v1_t *found)
{
    return processes(device, "nvmlDeviceGetGraphicsRunningProcesses", "graphics", count, found, NULL);
}

nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t device, nvmlProcessUtilizationSample_t *found,
                                             unsigned *count, unsigned long long since)
{
    nvmlReturn_t result = enter(device, "nvmlDeviceGetProcessUtilization");
    unsigned room = *count, n = 0;
    const char *text;
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    if (result == NVML_SUCCESS && find(device, "samples", 0) == NULL)
        result = NVML_ERROR_NOT_SUPPORTED;
    if (result == NVML_SUCCESS && since / 1000000 > (unsigned long long)now.tv_sec)
        result = NVML_ERROR_INVALID_ARGUMENT;
    if (result != NVML_SUCCESS)
        return leave(result);
    for (; (text = find(device, "sample", n)) != NULL; n++) {
        unsigned pid = 0, percent = 0;
        sscanf(text, "%u %u", &pid, &percent);
        if (n < room)
            /* Later lines are later samples. */
            found[n] = (nvmlProcessUtilizationSample_t){ pid, since + n + 1, percent, 0, 0, 0 };
    }
    *count = n;
    return leave(n > room ? NVML_ERROR_INSUFFICIENT_SIZE : n == 0 ? NVML_ERROR_NOT_FOUND : NVML_SUCCESS);
}

/* A line 'board NAME', 'switch NAME', 'bridge NAME', 'node NAME' says what a GPU is on; those with one have it alike. */
nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t one, nvmlDevice_t other, nvmlGpuTopologyLevel_t *level)
{
    static const struct { const char *key; nvmlGpuTopologyLevel_t level; } levels[] = {
        { "board", NVML_TOPOLOGY_INTERNAL },    { "switch", NVML_TOPOLOGY_SINGLE },
        { "switches", NVML_TOPOLOGY_MULTIPLE }, { "bridge", NVML_TOPOLOGY_HOSTBRIDGE },
        { "node", NVML_TOPOLOGY_NODE },
    };
    nvmlReturn_t result = enter(one, "nvmlDeviceGetTopologyCommonAncestor");
    if (result == NVML_SUCCESS && other->first == other->last)
        result = NVML_ERROR_GPU_IS_LOST;
    if (result == NVML_SUCCESS) {
        *level = NVML_TOPOLOGY_SYSTEM;
        for (unsigned i = sizeof levels / sizeof *levels; i-- > 0;) {
            const char *mine = find(one, levels[i].key, 0), *its = find(other, levels[i].key, 0);
            if (mine != NULL && its != NULL && strcmp(mine, its) == 0)
                *level = levels[i].level;
        }
    }
    return leave(result);
}

static const char *link_end(nvmlDevice_t device, unsigned link)
{
    char words[24];
    snprintf(words, sizeof words, "link %u", link);
    return find(device, words, 0);
}

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned link, nvmlEnableState_t *active)
{
    nvmlReturn_t result = enter(device, "nvmlDeviceGetNvLinkState");
    if (result == NVML_SUCCESS && link_end(device, 0) == NULL)
        result = NVML_ERROR_NOT_SUPPORTED;
    if (result == NVML_SUCCESS)
        *active = link_end(device, link) != NULL ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
    return leave(result);
}

nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned link, nvmlPciInfo_t *pci)
{
    nvmlReturn_t result = enter(device, "nvmlDeviceGetNvLinkRemotePciInfo_v2");
    const char *end = result == NVML_SUCCESS ? link_end(device, link) : NULL;
    if (result == NVML_SUCCESS && end == NULL)
        result = NVML_ERROR_INVALID_ARGUMENT;
    if (result == NVML_SUCCESS) {
        memset(pci, 0, sizeof *pci);
        /* As the driver writes it: the domain with eight digits, in capitals. */
        snprintf(pci->busId, sizeof pci->busId, "0000%.12s", end);
        for (char *c = pci->busId; *c != '\0'; c++)
            if (*c >= 'a' && *c <= 'f')
                *c += 'A' - 'a';
    }
    return leave(result);
}

nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned *count)
{
    unsigned long long found[4];
    nvmlReturn_t result = enter(device, "nvmlDeviceGetMaxMigDeviceCount");
    *count = result == NVML_SUCCESS && numbers(device, "mig-mode", found) >= 2 ? MAX_INSTANCES - 1 : 0;
    return leave(result);
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned index, nvmlDevice_t *instance)
{
    char words[24];
    nvmlReturn_t result = enter(device, "nvmlDeviceGetMigDeviceHandleByIndex");
    snprintf(words, sizeof words, "mig %u", index);
    if (result == NVML_SUCCESS && (index >= MAX_INSTANCES || find(device, words, 0) == NULL))
        result = NVML_ERROR_NOT_FOUND;
    if (result == NVML_SUCCESS) {
        *instance = slot(device->address, (int)index);
        (*instance)->first = device->first;
        (*instance)->last = device->last;
    }
    return leave(result);
}

/* A set of one GPU's events, which are its lines: those that are there already have happened before. */
struct nvmlEventSet_st {
    nvmlDevice_t device;
    unsigned xids, double_bit_errors;
};

static unsigned count(nvmlDevice_t device, const char *key)
{
    unsigned n = 0;
    while (find(device, key, n) != NULL)
        n++;
    return n;
}

nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t device, unsigned long long *types)
{
    nvmlReturn_t result = enter(device, "nvmlDeviceGetSupportedEventTypes");
    *types = nvmlEventTypeAll;
    return leave(result);
}

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set)
{
    nvmlReturn_t result = enter(&machine, "nvmlEventSetCreate");
    if (result == NVML_SUCCESS && (*set = calloc(1, sizeof **set)) == NULL)
        result = NVML_ERROR_MEMORY;
    return leave(result);
}

nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set)
{
    nvmlReturn_t result = enter(device, "nvmlDeviceRegisterEvents");
    if (result == NVML_SUCCESS && types == 0)
        result = NVML_ERROR_INVALID_ARGUMENT;
    if (result == NVML_SUCCESS)
        *set = (struct nvmlEventSet_st){ device, count(device, "xid"), count(device, "double-bit-error") };
    return leave(result);
}

nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned milliseconds)
{
    nvmlReturn_t result = enter(set->device, "nvmlEventSetWait_v2");
    for (unsigned waited = 0; result == NVML_SUCCESS; waited += 20) {
        const char *xid = find(set->device, "xid", set->xids);
        *data = (nvmlEventData_t){ .device = set->device, .gpuInstanceId = 0xFFFFFFFF, .computeInstanceId = 0xFFFFFFFF };
        if (xid != NULL) {
            set->xids++;
            data->eventType = nvmlEventTypeXidCriticalError;
            data->eventData = strtoull(xid, NULL, 0);
            break;
        }
        if (find(set->device, "double-bit-error", set->double_bit_errors) != NULL) {
            set->double_bit_errors++;
            data->eventType = nvmlEventTypeDoubleBitEccError;
            break;
        }
        if (waited >= milliseconds)
            result = NVML_ERROR_TIMEOUT;
        else
            pause_for(20);
    }
    return leave(result);
}

nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set)
{
    nvmlReturn_t result = enter(&machine, "nvmlEventSetFree");
    free(set);
    return leave(result);
}
