#pragma once

#include "base/command.h"

namespace muster::env {

/// `sm key job`: prints a new job key. If standard output is a file, makes it private to its owner.
/// Returns the exit status.
int print_job_key(const Args& args);

}  // namespace muster::env
