#pragma once

#include "base/command.h"

namespace muster::env {

/// `sm key job`: prints a new key of a job. A file that standard output leads to becomes one of its
/// owner alone. The exit status.
int print_job_key(const Args& args);

}  // namespace muster::env
