#pragma once

#include <sys/types.h>

#include <vector>

#include "base/fd.h"
#include "job/wire/flight_record.h"

namespace muster::sampler {

/// What the Flight Recorder's dumps of the host whose first process is `init` say, as far as there
/// are some (docs/protocols/stacks.md). The job wrote them: links are not followed, only regular
/// files are read, at most 64 of them, of 16 MiB each and 64 MiB together. Blocks.
std::vector<job::Flight> read_flights(pid_t init);
/// Reads the dumps below a host's root folder.
std::vector<job::Flight> flights_below(const Fd& root);

}  // namespace muster::sampler
