#include "base/process/machine_memory.h"

#include <doctest/doctest.h>

namespace muster {
namespace {

TEST_CASE("machine memory: as the kernel prints it") {
  const MachineMemory memory = machine_memory_in(
      "MemTotal:       24607276 kB\nMemFree:         1000 kB\nMemAvailable:   23171580 kB\n"
      "HugePages_Total:       0\n");
  CHECK(memory.bytes == std::int64_t{24607276} * 1024);
  CHECK(memory.available_bytes == std::int64_t{23171580} * 1024);
}

TEST_CASE("machine memory: what is missing or malformed is unknown") {
  const MachineMemory memory = machine_memory_in("MemTotal: many kB\nMemAvailable: 1\n");
  CHECK(memory.bytes == 0);
  CHECK(memory.available_bytes == 0);
}

TEST_CASE("machine memory: of this machine") {
  const Result<MachineMemory> memory = machine_memory();
  REQUIRE(memory);
  CHECK(memory->bytes >= memory->available_bytes);
  CHECK(memory->available_bytes > 0);
}

}  // namespace
}  // namespace muster
