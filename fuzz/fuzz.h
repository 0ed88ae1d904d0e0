#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace muster {

/// What libFuzzer calls with each input, and replay.cc with each kept one. A target aborts
/// (CHECK_THAT) where something that must hold does not.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

}  // namespace muster
