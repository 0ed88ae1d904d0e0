#pragma once

#include <string>

#include "base/files/swept.h"
#include "engine/cluster/slurm.h"

namespace muster::cluster {

/// Removes jobs whose engine is gone from Slurm, by their names, and their folders below `state`;
/// kept folders only with `kept_too`. Jobs of a living process stay.
loop::Task<Swept> sweep(Slurm& slurm, std::string state, bool kept_too);

}  // namespace muster::cluster
