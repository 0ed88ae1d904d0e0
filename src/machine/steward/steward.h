#pragma once

#include "base/command.h"

namespace muster::steward {

/// `sm steward --spec FILE [--lifeline FD]` runs one host of a job to its end; `sm steward --sweep
/// [--json] [--all]` removes leftovers of killed stewards. Protocol: docs/protocols/steward.md.
/// Exit code: 0 if all work was done, even if the job failed; 1 if not; 2 for wrong arguments.
int steward_main(const Args& args, const Env& env);

}  // namespace muster::steward
