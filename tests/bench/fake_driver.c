/* A stand-in for libcuda.so.1 and libnvidia-ml.so.1: memory of the GPU is the machine's, and copies are real.

   FAKE_NO_GPU: cuInit finds none. FAKE_FULL: no memory is left. FAKE_FAR_US: what a copy takes longer when the thread
   may run on more than one processor. */

#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef unsigned long long Address;

int cuGetErrorName(int code, const char **name) { *name = code == 100 ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR"; return 0; }
int cuDriverGetVersion(int *version) { *version = 12040; return 0; }
int cuInit(unsigned flags) { (void)flags; return getenv("FAKE_NO_GPU") ? 100 : 0; }
int cuDeviceGet(int *device, int index) { *device = index; return 0; }
int cuDevicePrimaryCtxRetain(void **context, int device) { (void)device; *context = context; return 0; }
int cuCtxSetCurrent(void *context) { (void)context; return 0; }
int cuCtxSynchronize(void) { return 0; }
int cuMemGetInfo_v2(size_t *left, size_t *total) {
  *total = 1ull << 34;
  *left = getenv("FAKE_FULL") ? 1000 : *total;
  return 0;
}
int cuMemAlloc_v2(Address *address, size_t size) { *address = (Address)malloc(size); return *address ? 0 : 2; }
int cuMemFree_v2(Address address) { free((void *)address); return 0; }
int cuMemHostAlloc(void **address, size_t size, unsigned flags) {
  (void)flags;
  *address = malloc(size);
  return *address ? 0 : 2;
}
int cuMemFreeHost(void *address) { free(address); return 0; }
int cuMemsetD8_v2(Address address, unsigned char value, size_t size) { memset((void *)address, value, size); return 0; }

static int copied(void *target, const void *source, size_t size) {
  cpu_set_t allowed;
  const char *far = getenv("FAKE_FAR_US");
  sched_getaffinity(0, sizeof allowed, &allowed);
  if (far && CPU_COUNT(&allowed) > 1) usleep((unsigned)atoi(far));
  memcpy(target, source, size);
  return 0;
}
int cuMemcpyHtoD_v2(Address there, const void *here, size_t size) { return copied((void *)there, here, size); }
int cuMemcpyDtoH_v2(void *here, Address there, size_t size) { return copied(here, (void *)there, size); }
int cuMemcpyDtoD_v2(Address other, Address one, size_t size) { return copied((void *)other, (void *)one, size); }

int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **device) {
  *device = device;
  return strcmp(address, "0000:65:00.0") ? 6 : 0;
}
int nvmlDeviceGetClockInfo(void *device, int kind, unsigned *answer) { (void)device; *answer = kind == 1 ? 1200 : 1; return 0; }
int nvmlDeviceGetMaxClockInfo(void *device, int kind, unsigned *answer) { (void)device; (void)kind; *answer = 1980; return 0; }
int nvmlDeviceGetPowerUsage(void *device, unsigned *answer) { (void)device; *answer = 250400; return 0; }
int nvmlDeviceGetTemperature(void *device, int kind, unsigned *answer) { (void)device; (void)kind; *answer = 61; return 0; }
int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *bits) { (void)device; *bits = 0x40; return 0; }
