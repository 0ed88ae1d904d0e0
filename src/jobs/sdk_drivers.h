#pragma once

#include <string>
#include <string_view>

#include "job/spec.h"

namespace muster::jobs {

// SDK 3 uploads programs of its own that start a job's script ("drivers"): they want sshd, keys and
// paramiko in the image and count ranks wrongly. Where the image carries muster, its own launchers
// do that work, told by the two files that lie beside the drivers.
//
// Pure. Source: sagemaker 3.27.0, model_trainer.py, templates.py, distributed_drivers/.

/// Where the job's drivers lie, "s3://bucket/…/sm_drivers"; empty if it does not start with them.
std::string drivers_url(const job::Spec& spec);

/// Puts the launcher that `sourcecode` and `distributed` (the texts of sourcecode.json and
/// distributed.json) ask for in place of the drivers. False, and `spec` is as it was, for what only
/// the drivers know: commands of the user's own, distributions of other classes, what is no JSON.
bool take_over(job::Spec& spec, std::string_view sourcecode, std::string_view distributed);

}  // namespace muster::jobs
