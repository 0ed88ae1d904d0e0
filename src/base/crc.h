#pragma once

#include <cstdint>
#include <string_view>

namespace muster {

/// Cyclic redundancy checks, bits reversed as all three have them. Pure.
enum class Crc { crc32, crc32c, crc64nvme };

/// CRC-32C (Castagnoli) of `bytes`; `start` continues an earlier one.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t start = 0);

/// The register after `bytes`; the caller inverts it at the start and at the end. Handles many
/// bytes per cycle if the processor has carry-less multiplication, otherwise eight per step.
std::uint64_t crc_updated(Crc kind, std::uint64_t crc, std::string_view bytes);

/// As crc_updated(), without that instruction; for the test.
std::uint64_t crc_by_tables(Crc kind, std::uint64_t crc, std::string_view bytes);

/// What a checksum is worth behind which `zeros` zero bytes follow.
std::uint64_t crc_shifted(Crc kind, std::uint64_t crc, std::uint64_t zeros);

}  // namespace muster
