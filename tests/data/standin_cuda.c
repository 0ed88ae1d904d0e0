/* A stand-in for libcuda.so.1 without a card, for tools/gpu-check (tests/e2e/test_gpu_check.py). A
   process that uses it holds a locked file of STATE, whose text is the MiB that it has; the lock
   goes with the process. The card has 8192 MiB. */

#define _GNU_SOURCE

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static int file = -1;
static size_t bytes;
static unsigned char set;
static char launched[16];

static void note(void) {
  char text[32];
  const int count = snprintf(text, sizeof text, "%zu", bytes >> 20);
  if (ftruncate(file, 0) == 0 && pwrite(file, text, (size_t)count, 0) == count) return;
  abort();
}

int cuInit(unsigned flags) {
  (void)flags;
  char name[] = STATE "/held-XXXXXX";
  file = mkostemp(name, O_CLOEXEC);
  if (file < 0 || flock(file, LOCK_EX) != 0) return 999;
  note();
  return 0;
}

int cuDeviceGetCount(int *count) {
  *count = 1;
  return 0;
}

int cuDeviceGet(int *device, int number) {
  *device = number;
  return 0;
}

int cuDeviceGetName(char *name, int size, int device) {
  (void)device;
  snprintf(name, (size_t)size, "STAND-IN");
  return 0;
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
  (void)device;
  *context = launched;
  return 0;
}

int cuCtxSetCurrent(void *context) {
  return context == launched ? 0 : 201;
}

int cuMemAlloc_v2(unsigned long long *memory, size_t count) {
  if (bytes + count > 8192ull << 20) return 2;
  bytes += count;
  *memory = 4096;
  note();
  return 0;
}

int cuMemsetD8_v2(unsigned long long memory, unsigned char value, size_t count) {
  (void)memory, (void)count;
  set = value;
  return 0;
}

/* All of the card's memory has the value that was set last. */
int cuMemcpyDtoH_v2(void *to, unsigned long long memory, size_t count) {
  (void)memory;
  memset(to, set, count);
  return 0;
}

int cuModuleLoadData(void **module, const void *text) {
  *module = launched;
  return strstr(text, ".entry") ? 0 : 218;
}

int cuModuleGetFunction(void **function, void *module, const char *name) {
  (void)module;
  *function = strdup(name);
  return 0;
}

int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared, void *stream,
                   void **parameters, void **extra) {
  (void)x, (void)y, (void)z, (void)block_x, (void)block_y, (void)block_z, (void)shared;
  (void)stream, (void)parameters, (void)extra;
  snprintf(launched, sizeof launched, "%s", (const char *)function);
  return 0;
}

int cuCtxSynchronize(void) {
  while (strcmp(launched, "spin") == 0) pause();
  usleep(1000);
  return strcmp(launched, "wild") == 0 ? 700 : 0;
}
