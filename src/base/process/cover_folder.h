#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace muster {

/// Mounts memory over `folder`, in the calling process's own mounts, and shows in it all that was
/// there at the same places, but for the entries `hidden`: so that entries can be made where the
/// machine takes none. What comes to be in the machine's folder later is not seen.
/// Errors: the kernel's; `invalid_input` for a folder of more than 4096 entries.
Result<void> cover_folder(const std::string& folder, const std::vector<std::string>& hidden);

}  // namespace muster
