/* The program of gpu-check's image: it finds the driver's library at run time and links nothing of
   CUDA's. Built by `make gpu-check`. */

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void *library;

static int call(const char *name, int code) {
  if (code != 0) printf("%s: error %d\n", name, code);
  return code;
}

#define FIND(name) dlsym(library, #name)

int main(void) {
  library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == NULL) {
    printf("%s\n", dlerror());
    return 1;
  }
  int (*cuInit)(unsigned) = FIND(cuInit);
  int (*cuDeviceGetCount)(int *) = FIND(cuDeviceGetCount);
  int (*cuDevicePrimaryCtxRetain)(void **, int) = FIND(cuDevicePrimaryCtxRetain);
  int (*cuCtxSetCurrent)(void *) = FIND(cuCtxSetCurrent);
  int (*cuMemAlloc_v2)(unsigned long long *, size_t) = FIND(cuMemAlloc_v2);
  int (*cuMemsetD8_v2)(unsigned long long, unsigned char, size_t) = FIND(cuMemsetD8_v2);
  int (*cuMemcpyDtoH_v2)(void *, unsigned long long, size_t) = FIND(cuMemcpyDtoH_v2);
  int count = 0;
  void *context = NULL;
  unsigned long long memory = 0;
  unsigned char back[4096], want[4096];
  memset(want, 7, sizeof want);
  memset(back, 0, sizeof back);
  if (call("cuInit", cuInit(0)) || call("cuDeviceGetCount", cuDeviceGetCount(&count)) ||
      call("cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain(&context, 0)) ||
      call("cuCtxSetCurrent", cuCtxSetCurrent(context)) ||
      call("cuMemAlloc", cuMemAlloc_v2(&memory, sizeof back)) ||
      call("cuMemsetD8", cuMemsetD8_v2(memory, 7, sizeof back)) ||
      call("cuMemcpyDtoH", cuMemcpyDtoH_v2(back, memory, sizeof back)))
    return 1;
  if (count != 1 || memcmp(back, want, sizeof back) != 0) {
    printf("%d cards, or wrong bytes\n", count);
    return 1;
  }
  printf("passed\n");
  return 0;
}
