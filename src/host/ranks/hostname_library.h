#pragma once

#include <string>

#include "base/command.h"
#include "base/result.h"

namespace muster::ranks {

/// Writes the library that makes gethostname() say `host` (src/host/hostname/hostname.cc, carried
/// in this program) into `folder`; its path, for LD_PRELOAD. It stays as long as `folder` does.
/// Errors: `invalid_input` for a name that does not fit, a folder that LD_PRELOAD cannot name, or
/// one mounted noexec, where no program can load it; `system`.
Result<std::string> write_hostname_library(const std::string& folder, const std::string& host);

/// Puts a library in front of those that `env` has programs preload; nothing if it is empty.
void add_preload(Env& env, const std::string& library);

}  // namespace muster::ranks
