/* A stand-in for libnvidia-ml.so.1 that the real pynvml loads.

   CUDA_FAKE_NVML names a text file of `key = value` lines:
     driver = 535.247.01        text of nvmlSystemGetDriverVersion
     cuda = 12020               number of nvmlSystemGetCudaDriverVersion_v2
     count = 8                  number of devices
     error.FUNCTION = 18        that function answers this code; error.3.FUNCTION for device 3 alone
     delay.FUNCTION = 0.5       that function takes so many seconds; delay.3.FUNCTION for device 3 alone
     hang = FUNCTION            that function never returns; hang.3 for device 3 alone
     crash = FUNCTION           that function ends the process by a bad address
     print = TEXT               nvmlInit prints this, as NVIDIA's stub library does
     name = NVIDIA A100         a field of every device; 3.name for device 3 alone
   A field that is not set answers "not supported". Structures with a version word are compared with the sizes of
   nvml.h. The build leaves out the names that the real library of an older driver does not have. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  SUCCESS = 0,
  INVALID_ARGUMENT = 2,
  NOT_SUPPORTED = 3,
  NOT_FOUND = 6,
  INSUFFICIENT_SIZE = 7,
  VERSION_MISMATCH = 25,
  UNKNOWN = 999
};
enum { MAX_LINES = 512, MAX_LENGTH = 256, MIG_BASE = 0x1000, NO_DEVICE = -1 };

typedef int nvmlReturn;
typedef void *Device;

static char keys[MAX_LINES][MAX_LENGTH], values[MAX_LINES][MAX_LENGTH];
static int lines = -1;

static void load(void) {
  char line[2 * MAX_LENGTH];
  const char *path = getenv("CUDA_FAKE_NVML");
  FILE *file = path ? fopen(path, "r") : NULL;
  lines = 0;
  while (file && lines < MAX_LINES && fgets(line, sizeof line, file))
    if (sscanf(line, " %255[^= ] = %255[^\n]", keys[lines], values[lines]) == 2) lines++;
  if (file) fclose(file);
}

static const char *setting(const char *key) {
  if (lines < 0) load();
  for (int line = 0; line < lines; line++)
    if (!strcmp(keys[line], key)) return values[line];
  return NULL;
}

static const char *field(int device, const char *key) {
  char own[MAX_LENGTH];
  snprintf(own, sizeof own, "%d.%s", device, key);
  const char *value = setting(own);
  return value ? value : setting(key);
}

static int number_of(Device device) { return (int)((intptr_t)device % MIG_BASE) - 1; }

/* The setting of a function, for this device first: `error.3.FUNCTION`, else `error.FUNCTION`. */
static const char *setting_of(const char *kind, const char *function, int device) {
  char key[MAX_LENGTH];
  snprintf(key, sizeof key, "%s.%d.%s", kind, device, function);
  const char *value = setting(key);
  snprintf(key, sizeof key, "%s.%s", kind, function);
  return value ? value : setting(key);
}

static int chosen(const char *kind, const char *function, int device) {
  char key[MAX_LENGTH];
  const char *all = setting(kind), *own;
  snprintf(key, sizeof key, "%s.%d", kind, device);
  own = setting(key);
  return (all && !strcmp(all, function)) || (own && !strcmp(own, function));
}

/* What happens before a function does its work: a delay, a hang, a crash, an error. */
static nvmlReturn enter(const char *function, int device) {
  const char *seconds = setting_of("delay", function, device), *code = setting_of("error", function, device);
  if (seconds) usleep((useconds_t)(atof(seconds) * 1e6));
  if (chosen("hang", function, device)) for (;;) pause();
  if (chosen("crash", function, device)) *(volatile int *)8 = 1;
  return code ? atoi(code) : SUCCESS;
}

#define ENTER(device)                                     \
  do {                                                    \
    nvmlReturn code_ = enter(__func__, (device));         \
    if (code_) return code_;                              \
  } while (0)

static nvmlReturn read_number(int device, const char *key, unsigned long long *answer) {
  const char *value = field(device, key);
  if (!value) return NOT_SUPPORTED;
  *answer = strtoull(value, NULL, 0);
  return SUCCESS;
}

static nvmlReturn read_unsigned(int device, const char *key, unsigned *answer) {
  unsigned long long wide;
  nvmlReturn code = read_number(device, key, &wide);
  if (!code) *answer = (unsigned)wide;
  return code;
}

static nvmlReturn read_text(const char *value, char *answer, unsigned length) {
  if (!value) return NOT_SUPPORTED;
  snprintf(answer, length, "%s", value);
  return SUCCESS;
}

nvmlReturn nvmlInitWithFlags(unsigned flags) {
  (void)flags;
  if (setting("print")) {
    printf("%s\n", setting("print"));
    fflush(stdout);
  }
  ENTER(NO_DEVICE);
  return SUCCESS;
}

const char *nvmlErrorString(nvmlReturn code) {
  static char text[MAX_LENGTH];
  snprintf(text, sizeof text, "Error %d", code);
  return text;
}

nvmlReturn nvmlSystemGetDriverVersion(char *text, unsigned length) {
  ENTER(NO_DEVICE);
  return read_text(setting("driver"), text, length);
}

nvmlReturn nvmlSystemGetCudaDriverVersion_v2(int *number) {
  ENTER(NO_DEVICE);
  return read_unsigned(NO_DEVICE, "cuda", (unsigned *)number);
}

nvmlReturn nvmlSystemGetCudaDriverVersion(int *number) {
  ENTER(NO_DEVICE);
  return read_unsigned(NO_DEVICE, "cuda", (unsigned *)number);
}

nvmlReturn nvmlDeviceGetCount_v2(unsigned *count) {
  ENTER(NO_DEVICE);
  return read_unsigned(NO_DEVICE, "count", count) ? UNKNOWN : SUCCESS;
}

nvmlReturn nvmlDeviceGetHandleByIndex_v2(unsigned index, Device *device) {
  ENTER((int)index);
  *device = (Device)(intptr_t)(index + 1);
  return SUCCESS;
}

nvmlReturn nvmlDeviceGetName(Device device, char *text, unsigned length) {
  ENTER(number_of(device));
  return read_text(field(number_of(device), "name"), text, length);
}

nvmlReturn nvmlDeviceGetVbiosVersion(Device device, char *text, unsigned length) {
  ENTER(number_of(device));
  return read_text(field(number_of(device), "vbios"), text, length);
}

nvmlReturn nvmlDeviceGetUUID(Device device, char *text, unsigned length) {
  ENTER(number_of(device));
  int slot = (int)((intptr_t)device / MIG_BASE);
  const char *prefix = slot ? "MIG" : "GPU";
  snprintf(text, length, "%s-%08x-0000-0000-0000-%012x", prefix, number_of(device), slot);
  return SUCCESS;
}

typedef struct {
  char legacy[16];
  unsigned domain, bus, device, id, subsystem;
  char address[32];
} Pci;

nvmlReturn nvmlDeviceGetPciInfo_v3(Device device, Pci *pci) {
  ENTER(number_of(device));
  memset(pci, 0, sizeof *pci);
  return read_text(field(number_of(device), "pci_address"), pci->address, sizeof pci->address);
}

nvmlReturn nvmlDeviceGetCudaComputeCapability(Device device, int *major, int *minor) {
  ENTER(number_of(device));
  const char *value = field(number_of(device), "compute_capability");
  return value && sscanf(value, "%d.%d", major, minor) == 2 ? SUCCESS : NOT_SUPPORTED;
}

typedef struct {
  unsigned long long total, free, used;
} Memory;

typedef struct {
  unsigned version;
  unsigned long long total, reserved, free, used;
} Memory2;

static int driver_branch(void) { return setting("driver") ? atoi(setting("driver")) : 999; }

static nvmlReturn memory_of(int device, Memory2 *memory) {
  if (read_number(device, "memory_bytes", &memory->total)) return NOT_SUPPORTED;
  if (read_number(device, "memory_used_bytes", &memory->used)) memory->used = 0;
  if (read_number(device, "memory_reserved_bytes", &memory->reserved)) memory->reserved = 0;
  memory->free = memory->total - memory->used - memory->reserved;
  return SUCCESS;
}

/* From 510 on "used" is allocated and reserved memory together; before, reserved memory is in neither figure. */
nvmlReturn nvmlDeviceGetMemoryInfo(Device device, Memory *memory) {
  Memory2 own;
  ENTER(number_of(device));
  if (memory_of(number_of(device), &own)) return NOT_SUPPORTED;
  memory->total = driver_branch() < 510 ? own.total - own.reserved : own.total;
  memory->used = driver_branch() < 510 ? own.used : own.used + own.reserved;
  memory->free = own.free;
  return SUCCESS;
}

nvmlReturn nvmlDeviceGetMemoryInfo_v2(Device device, Memory2 *memory) {
  ENTER(number_of(device));
  if (memory->version != (2u << 24 | sizeof *memory)) return VERSION_MISMATCH;
  return memory_of(number_of(device), memory);
}

typedef struct {
  unsigned gpu, memory;
} Utilization;

nvmlReturn nvmlDeviceGetUtilizationRates(Device device, Utilization *rates) {
  ENTER(number_of(device));
  rates->memory = 0;
  return read_unsigned(number_of(device), "utilization_percent", &rates->gpu);
}

nvmlReturn nvmlDeviceGetTemperature(Device device, int sensor, unsigned *celsius) {
  ENTER(number_of(device));
  (void)sensor;
  return read_unsigned(number_of(device), "temperature_c", celsius);
}

typedef struct {
  unsigned version;
  int sensor, celsius;
} Temperature;

nvmlReturn nvmlDeviceGetTemperatureV(Device device, Temperature *temperature) {
  ENTER(number_of(device));
  if (temperature->version != (1u << 24 | sizeof *temperature)) return VERSION_MISMATCH;
  return read_unsigned(number_of(device), "temperature_c", (unsigned *)&temperature->celsius);
}

#define NUMBER(function, key)                                          \
  nvmlReturn function(Device device, unsigned *answer) {               \
    ENTER(number_of(device));                                          \
    return read_unsigned(number_of(device), key, answer);              \
  }

NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, "link_generation_current")
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, "link_generation_max")
NUMBER(nvmlDeviceGetGpuMaxPcieLinkGeneration, "link_generation_device_max")
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, "link_width_current")
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, "link_width_max")
NUMBER(nvmlDeviceGetPcieReplayCounter, "pcie_replays")
NUMBER(nvmlDeviceGetEnforcedPowerLimit, "power_limit_mw")
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, "power_limit_default_mw")
NUMBER(nvmlDeviceGetPersistenceMode, "persistence_mode")
NUMBER(nvmlDeviceGetComputeMode, "compute_mode")
NUMBER(nvmlDeviceGetRetiredPagesPendingStatus, "retired_pages_pending")
NUMBER(nvmlDeviceGetDisplayActive, "display_active")
NUMBER(nvmlDeviceGetVirtualizationMode, "virtualization_mode")

nvmlReturn nvmlDeviceGetEccMode(Device device, unsigned *current, unsigned *pending) {
  ENTER(number_of(device));
  *pending = 0;
  return read_unsigned(number_of(device), "ecc_mode", current);
}

nvmlReturn nvmlDeviceGetTotalEccErrors(Device device, int kind, int counter, unsigned long long *count) {
  ENTER(number_of(device));
  if (kind != 1 || counter != 0) return INVALID_ARGUMENT;
  return read_number(number_of(device), "ecc_uncorrectable", count);
}

nvmlReturn nvmlDeviceGetRemappedRows(Device device, unsigned *corrected, unsigned *uncorrected, unsigned *pending,
                                     unsigned *failed) {
  ENTER(number_of(device));
  *corrected = *uncorrected = 0;
  if (read_unsigned(number_of(device), "remapped_rows_pending", pending)) return NOT_SUPPORTED;
  return read_unsigned(number_of(device), "remapped_rows_failed", failed);
}

nvmlReturn nvmlDeviceGetCurrentClocksThrottleReasons(Device device, unsigned long long *reasons) {
  ENTER(number_of(device));
  return read_number(number_of(device), "throttle_reasons", reasons);
}

nvmlReturn nvmlDeviceGetCurrentClocksEventReasons(Device device, unsigned long long *reasons) {
  ENTER(number_of(device));
  return read_number(number_of(device), "throttle_reasons", reasons);
}

nvmlReturn nvmlDeviceGetMigMode(Device device, unsigned *current, unsigned *pending) {
  ENTER(number_of(device));
  if (read_unsigned(number_of(device), "mig_mode", current)) return NOT_SUPPORTED;
  *pending = *current;
  return SUCCESS;
}

nvmlReturn nvmlDeviceGetMaxMigDeviceCount(Device device, unsigned *count) {
  ENTER(number_of(device));
  *count = 7;
  return SUCCESS;
}

nvmlReturn nvmlDeviceGetMigDeviceHandleByIndex(Device device, unsigned slot, Device *instance) {
  unsigned there = 0;
  ENTER(number_of(device));
  read_unsigned(number_of(device), "mig_instances", &there);
  if (slot >= there) return NOT_FOUND;
  *instance = (Device)((intptr_t)device + (intptr_t)(slot + 1) * MIG_BASE);
  return SUCCESS;
}

static int listed(const char *numbers, unsigned wanted) {
  unsigned number;
  int length;
  for (; numbers && sscanf(numbers, "%u%n", &number, &length) == 1; numbers += length)
    if (number == wanted) return 1;
  return 0;
}

nvmlReturn nvmlDeviceGetNvLinkState(Device device, unsigned link, unsigned *active) {
  unsigned total = 0, up = 0;
  ENTER(number_of(device));
  read_unsigned(number_of(device), "nvlinks_total", &total);
  read_unsigned(number_of(device), "nvlinks_active", &up);
  if (link >= total) return total ? INVALID_ARGUMENT : NOT_SUPPORTED;
  if (listed(field(number_of(device), "nvlinks_masked"), link)) return NOT_SUPPORTED;
  *active = link < up;
  return SUCCESS;
}

typedef struct {
  unsigned char cluster[16];
  nvmlReturn status;
  uint32_t clique;
  unsigned char state;
} Fabric;

typedef struct {
  unsigned version;
  Fabric info;
  uint32_t health;
} Fabric2;

static nvmlReturn fabric_of(int device, Fabric *fabric) {
  unsigned state, status = 0;
  if (read_unsigned(device, "fabric_state", &state)) return NOT_SUPPORTED;
  read_unsigned(device, "fabric_status", &status);
  memset(fabric, 0, sizeof *fabric);
  fabric->state = (unsigned char)state;
  fabric->status = (nvmlReturn)status;
  return SUCCESS;
}

nvmlReturn nvmlDeviceGetGpuFabricInfo(Device device, Fabric *fabric) {
  ENTER(number_of(device));
  return fabric_of(number_of(device), fabric);
}

nvmlReturn nvmlDeviceGetGpuFabricInfoV(Device device, Fabric2 *fabric) {
  ENTER(number_of(device));
  if (fabric->version != (2u << 24 | sizeof *fabric)) return VERSION_MISMATCH;
  return fabric_of(number_of(device), &fabric->info);
}

/* `process_bytes` is the size of an entry: 16 in the oldest call, 24 today, 32 in the first releases of 535. */
static nvmlReturn processes(int device, const char *key, unsigned size, unsigned *count, unsigned char *answer) {
  const char *list = field(device, key);
  unsigned pids[MAX_LINES], there = 0;
  int length;
  read_unsigned(device, "process_bytes", &size);
  for (; list && there < MAX_LINES && sscanf(list, "%u%n", &pids[there], &length) == 1; list += length) there++;
  if (there > *count) {
    *count = there;
    return INSUFFICIENT_SIZE;
  }
  *count = there;
  for (unsigned index = 0; index < there; index++) {
    unsigned long long memory = 1ULL << 30;
    memset(answer + index * size, 0, size);
    memcpy(answer + index * size, &pids[index], sizeof pids[index]);
    memcpy(answer + index * size + 8, &memory, sizeof memory);
    if (size >= 24) memset(answer + index * size + 16, 0xff, 8);
  }
  return SUCCESS;
}

#define PROCESSES(function, key, size)                                           \
  nvmlReturn function(Device device, unsigned *count, unsigned char *answer) {   \
    ENTER(number_of(device));                                                    \
    return processes(number_of(device), key, size, count, answer);               \
  }

PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3, "processes", 24)
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v2, "processes", 24)
PROCESSES(nvmlDeviceGetComputeRunningProcesses, "processes", 16)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3, "graphics_processes", 24)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v2, "graphics_processes", 24)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses, "graphics_processes", 16)

typedef struct {
  unsigned code, state;
  char license[128], product[128];
  unsigned enabled;
  struct {
    uint32_t year;
    uint16_t month, day, hour, minute, second;
    uint8_t status;
  } expiry;
} Feature;

typedef struct {
  int supported;
  unsigned count;
  Feature features[3];
} Features;

nvmlReturn nvmlDeviceGetGridLicensableFeatures_v4(Device device, Features *features) {
  unsigned licensed, enabled = 1;
  ENTER(number_of(device));
  memset(features, 0, sizeof *features);
  if (read_unsigned(number_of(device), "licensed", &licensed)) return SUCCESS;
  read_unsigned(number_of(device), "license_enabled", &enabled);
  features->supported = 1;
  features->count = 2; /* the second is one that this GPU does not use */
  features->features[0].state = licensed;
  features->features[0].enabled = enabled;
  return SUCCESS;
}
