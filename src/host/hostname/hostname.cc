// libmuster-hostname.so: programs of an MPI job preload it if their container's host name is not
// the job's (algo-1, …). `sm` contains it and writes a copy for each host with that host's name in
// it (host/ranks/hostname_library.h), so a call needs no look-up.
//
// It must load into any process of any image, under glibc and musl alike: no C library is linked,
// no versioned symbol is needed, nothing runs at load. uname() stays the kernel's: the reference
// (sagemaker-training 5.1.4, gethostname.c) too overrides gethostname() alone.

#include <cerrno>
#include <cstddef>

extern "C" {

// glibc's and musl's own way to the calling thread's errno.
__attribute__((weak)) int* __errno_location();

// host/ranks/hostname_library.cc finds these bytes and replaces them with the name, padded with
// NULs. volatile: the compiler must not assume their value.
__attribute__((visibility("hidden"))) volatile const char muster_host_name[256] =
    "libmuster-hostname.so: the host's name is written over this text";

/// As in glibc: copies as much as fits, and returns ENAMETOOLONG if the name with its NUL does not
/// fit.
__attribute__((visibility("default"))) int gethostname(char* name, std::size_t size) {
  std::size_t at = 0;
  for (; at < size && at < sizeof(muster_host_name); ++at) {
    name[at] = muster_host_name[at];
    if (name[at] == '\0') return 0;
  }
  if (__errno_location != nullptr) *__errno_location() = ENAMETOOLONG;
  return -1;
}

/// The function that glibc's headers call instead of gethostname() under _FORTIFY_SOURCE if they do
/// not know the size.
__attribute__((visibility("default"))) int __gethostname_chk(char* name, std::size_t size,
                                                             std::size_t room) {
  if (size > room) __builtin_trap();
  return gethostname(name, size);
}

}  // extern "C"
