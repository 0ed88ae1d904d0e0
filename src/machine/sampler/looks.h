#pragma once

#include <chrono>

namespace muster::sampler {

/// Whether a process moves is found out by looks between which it ran for `ran_between`, so many,
/// and so many in all. One that is kept from running gets no less than a slice of some milliseconds
/// once it does run.
constexpr int looks_again = 8, looks_again_most = 64;
constexpr std::chrono::microseconds ran_between{100};

}  // namespace muster::sampler
