/* A stand-in for libnvidia-ml.so.1 that the real pynvml loads.

   FAKE_NVML names a text file of `key = value` lines:
     driver = 535.247.01        text of nvmlSystemGetDriverVersion
     cuda = 12020               number of nvmlSystemGetCudaDriverVersion_v2
     count = 8                  number of devices
     error.FUNCTION = 18        that function answers this code; error.3.FUNCTION for device 3 alone
     hang = FUNCTION            that function never returns
     crash = FUNCTION           that function ends the process by a bad address
     print = TEXT               nvmlInit prints this, as NVIDIA's stub library does
     name = NVIDIA A100         a field of every device; 3.name for device 3 alone
   A field that is not set answers "not supported". */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7, UNKNOWN = 999 };
enum { MAX_LINES = 512, MAX_LENGTH = 256, MIG_BASE = 0x1000, NO_DEVICE = -1 };

typedef int nvmlReturn;
typedef void *Device;

static char keys[MAX_LINES][MAX_LENGTH], values[MAX_LINES][MAX_LENGTH];
static int lines = -1;

static void load(void) {
  char line[2 * MAX_LENGTH];
  const char *path = getenv("FAKE_NVML");
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

/* What happens before a function does its work: a hang, a crash, an error. */
static nvmlReturn enter(const char *function, int device) {
  char key[MAX_LENGTH];
  const char *value = setting("hang");
  if (value && !strcmp(value, function)) for (;;) pause();
  value = setting("crash");
  if (value && !strcmp(value, function)) *(volatile int *)8 = 1;
  snprintf(key, sizeof key, "error.%d.%s", device, function);
  value = setting(key);
  snprintf(key, sizeof key, "error.%s", function);
  if (!value) value = setting(key);
  return value ? atoi(value) : SUCCESS;
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

nvmlReturn nvmlDeviceGetMemoryInfo(Device device, Memory *memory) {
  ENTER(number_of(device));
  if (read_number(number_of(device), "memory_bytes", &memory->total)) return NOT_SUPPORTED;
  if (read_number(number_of(device), "memory_used_bytes", &memory->used)) memory->used = 0;
  memory->free = memory->total - memory->used;
  return SUCCESS;
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

nvmlReturn nvmlDeviceGetNvLinkState(Device device, unsigned link, unsigned *active) {
  unsigned total = 0, up = 0;
  ENTER(number_of(device));
  read_unsigned(number_of(device), "nvlinks_total", &total);
  read_unsigned(number_of(device), "nvlinks_active", &up);
  if (link >= total) return total ? INVALID_ARGUMENT : NOT_SUPPORTED;
  *active = link < up;
  return SUCCESS;
}

typedef struct {
  unsigned char cluster[16];
  nvmlReturn status;
  uint32_t clique;
  unsigned char state;
} Fabric;

nvmlReturn nvmlDeviceGetGpuFabricInfo(Device device, Fabric *fabric) {
  unsigned state;
  ENTER(number_of(device));
  if (read_unsigned(number_of(device), "fabric_state", &state)) return NOT_SUPPORTED;
  memset(fabric, 0, sizeof *fabric);
  fabric->state = (unsigned char)state;
  return SUCCESS;
}

typedef struct {
  unsigned pid;
  unsigned long long memory;
  unsigned instance, compute_instance;
} Process;

static nvmlReturn processes(int device, const char *key, unsigned *count, Process *answer) {
  const char *value = field(device, key);
  unsigned pids[16], there = value ? (unsigned)sscanf(value, "%u %u %u %u", pids, pids + 1, pids + 2, pids + 3) : 0;
  if (there > *count) {
    *count = there;
    return INSUFFICIENT_SIZE;
  }
  *count = there;
  for (unsigned index = 0; index < there; index++) {
    memset(&answer[index], 0, sizeof *answer);
    answer[index].pid = pids[index];
  }
  return SUCCESS;
}

nvmlReturn nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned *count, Process *answer) {
  ENTER(number_of(device));
  return processes(number_of(device), "processes", count, answer);
}

nvmlReturn nvmlDeviceGetGraphicsRunningProcesses_v3(Device device, unsigned *count, Process *answer) {
  ENTER(number_of(device));
  return processes(number_of(device), "graphics_processes", count, answer);
}

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
  unsigned licensed;
  ENTER(number_of(device));
  memset(features, 0, sizeof *features);
  if (read_unsigned(number_of(device), "licensed", &licensed)) return SUCCESS;
  features->supported = 1;
  features->count = 1;
  features->features[0].state = licensed;
  return SUCCESS;
}
