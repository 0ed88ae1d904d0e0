#pragma once

#include <string>

#include "base/command.h"
#include "base/result.h"

namespace muster::ranks {

/// Writes the library that makes gethostname() return `host` (src/host/hostname/hostname.cc, part
/// of this program) to `folder`. Returns its path, for LD_PRELOAD. It exists as long as `folder`.
/// Errors: `invalid_input` for a name that is too long, a path that LD_PRELOAD does not support, or
/// a folder that is mounted noexec; `system`.
Result<std::string> write_hostname_library(const std::string& folder, const std::string& host);

/// Adds a library before the others in LD_PRELOAD of `env`; does nothing if it is empty.
void add_preload(Env& env, const std::string& library);

}  // namespace muster::ranks
