#pragma once

#include <string>

#include "base/files/swept.h"
#include "engine/cluster/slurm.h"

namespace muster::cluster {

/// Takes jobs whose engine is gone out of Slurm, by their names, and removes their folders below
/// `state`; those that were kept only with `kept_too`. A job of a living process is passed over.
loop::Task<Swept> sweep(Slurm& slurm, std::string state, bool kept_too);

}  // namespace muster::cluster
