#pragma once

#include <sys/resource.h>

namespace muster::image {

/// Until this goes, the address space of this process grows by 4 GiB at most, and so much is the
/// limit of programs that it starts: a backstop for what unpacks strangers' images. The process
/// ends with one line on standard error where memory of that size does not do. One at a time in a
/// process, with nothing else going on in it. Without effect where a sanitizer needs the space.
class MemoryLimit {
 public:
  MemoryLimit();
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;
  ~MemoryLimit();

 private:
  rlimit before_{};
  void (*handler_before_)() = nullptr;
  bool is_set_ = false;
};

}  // namespace muster::image
