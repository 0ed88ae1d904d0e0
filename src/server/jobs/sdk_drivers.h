#pragma once

#include <string>
#include <string_view>

#include "job/spec.h"

namespace muster::jobs {

// SDK 3 uploads its own programs that start a job's script ("drivers"): they need sshd, keys and
// paramiko in the image, and count ranks wrongly. If the image has muster, its own launchers
// replace them, controlled by the two files next to the drivers.
//
// Pure. Source: sagemaker 3.27.0, model_trainer.py, templates.py, distributed_drivers/.

/// Where the job's drivers lie, "s3://bucket/…/sm_drivers"; empty if it does not start with them.
std::string drivers_url(const job::Spec& spec);

/// Replaces the drivers by the launcher that `sourcecode` and `distributed` (the texts of
/// sourcecode.json and distributed.json) ask for. Returns false and leaves `spec` unchanged for
/// what only the drivers support: the user's own commands, distributions of other classes, invalid
/// JSON.
bool take_over(job::Spec& spec, std::string_view sourcecode, std::string_view distributed);

}  // namespace muster::jobs
