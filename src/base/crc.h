#pragma once

#include <cstdint>
#include <string_view>

namespace muster {

/// Cyclic redundancy checks; all three reverse the bits. Pure.
enum class Crc { crc32, crc32c, crc64nvme };

/// CRC-32C (Castagnoli) of `bytes`; `start` continues an earlier one.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t start = 0);

/// The register after `bytes`; the caller inverts it at the start and at the end. Handles many
/// bytes per cycle if the processor has carry-less multiplication, otherwise eight per step.
std::uint64_t crc_updated(Crc kind, std::uint64_t crc, std::string_view bytes);

/// Like crc_updated(), but without the carry-less multiplication; for the test.
std::uint64_t crc_by_tables(Crc kind, std::uint64_t crc, std::string_view bytes);

/// The register `crc` after `zeros` more zero bytes.
std::uint64_t crc_shifted(Crc kind, std::uint64_t crc, std::uint64_t zeros);

}  // namespace muster
