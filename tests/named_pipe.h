#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <string>

#include "base/fd.h"

namespace muster {

/// A pipe with a name, for the script that replaces a steward. Open both ways, so that neither side
/// waits for the other.
inline Fd make_pipe_at(const std::string& path) {
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  REQUIRE(fd);
  return fd;
}

}  // namespace muster
