#include "base/crc.h"

#include <doctest/doctest.h>

#include <string>

namespace muster {

TEST_CASE("crc: CRC-32C has the check values of RFC 3720, in one piece or two") {
  CHECK(crc32c("") == 0);
  CHECK(crc32c("123456789") == 0xE3069283u);  // RFC 3720's check value.
  CHECK(crc32c(std::string(32, '\0')) == 0x8A9136AAu);
  CHECK(crc32c("456789", crc32c("123")) == 0xE3069283u);
}

TEST_CASE("crc: CRCs are equal by tables and by multiplication") {
  std::string bytes;
  for (int i = 0; i < 2000; ++i) bytes += static_cast<char>(i * i / 3 + i);
  const std::string_view all = bytes;
  for (const Crc kind : {Crc::crc32, Crc::crc32c, Crc::crc64nvme})
    for (const std::uint64_t before : {std::uint64_t{0}, std::uint64_t{0xFFFFFFFF}})
      for (std::size_t from = 0; from < 17; ++from)
        for (std::size_t size = 0; size <= 700; ++size) {
          const std::string_view some = all.substr(from, size);
          if (crc_updated(kind, before, some) == crc_by_tables(kind, before, some)) continue;
          FAIL_CHECK("from ", from, ", ", size, " bytes");
        }
}

}  // namespace muster
