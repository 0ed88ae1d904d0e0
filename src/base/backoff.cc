#include "base/backoff.h"

#include <cstdint>
#include <cstring>

#include "base/fd.h"

namespace muster {

double random_chance() {
  const std::string bytes = random_bytes(4);
  std::uint32_t number = 0;
  std::memcpy(&number, bytes.data(), sizeof number);
  return static_cast<double>(number) / 4294967296.0;
}

}  // namespace muster
