#include "os/devices/compute_apps.h"

#include <doctest/doctest.h>

namespace muster::devices {
namespace {

TEST_CASE("compute apps: a line is a process on a card") {
  struct {
    const char* line;
    std::optional<ComputeApp> want;
  } const cases[] = {
      {"00000000:0B:00.0, 531, 2566", ComputeApp{":0b:00.0", 531, 2566LL << 20}},
      {"00000000:0B:00.0, 531, [N/A]", std::nullopt},
      {"00000000:0B:00.0, 531", std::nullopt},
      {"00000000:0B:00.0, 0, 12", std::nullopt},
      {"00000000:0B:00.0, -5, 12", std::nullopt},
      {"00000000:0B:00.0, 531, 99999999999999999999", std::nullopt},
      {"00000000:0B:00.0, 9999999999, 12", std::nullopt},
      {"No running processes found", std::nullopt},
      {"", std::nullopt},
  };
  for (const auto& c : cases) {
    CAPTURE(c.line);
    CHECK(compute_app_from(c.line) == c.want);
  }
}

TEST_CASE("compute apps: programs' words for a lack of a card's memory") {
  CHECK(
      tells_of_card_memory("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 "
                           "GiB. GPU 0 has a total capacity of 79.18 GiB"));
  CHECK(tells_of_card_memory("RuntimeError: CUDA error: out of memory"));
  CHECK(tells_of_card_memory("RESOURCE_EXHAUSTED: Out of memory while trying to allocate"));
  CHECK_FALSE(tells_of_card_memory("MemoryError"));
  CHECK_FALSE(tells_of_card_memory("the kernel killed a process because memory ran out"));
}

}  // namespace
}  // namespace muster::devices
