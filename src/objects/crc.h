#pragma once

// Inside objects/ only: the arithmetic of the CRCs that S3 knows. Pure.

#include <cstdint>
#include <string_view>

#include "objects/checksum.h"

namespace muster::objects {

/// The register after `bytes`; of CRC32, CRC32C and CRC64NVME. Whoever begins and ends inverts.
/// Many bytes a cycle where the processor multiplies without carries, else eight in a step.
std::uint64_t crc_updated(Checksum kind, std::uint64_t crc, std::string_view bytes);

/// The same without that instruction; for the test.
std::uint64_t crc_by_tables(Checksum kind, std::uint64_t crc, std::string_view bytes);

/// What a checksum is worth behind which `zeros` zero bytes follow.
std::uint64_t crc_shifted(Checksum kind, std::uint64_t crc, std::uint64_t zeros);

}  // namespace muster::objects
