#pragma once

// Inside local/ only.

#include <string>

#include "base/result.h"
#include "engine/chapter.h"
#include "engine/engine.h"

namespace muster::local {

/// A job's current attempt, noted for a later engine (docs/protocols/job-folder.md).
struct AttemptNote {
  int number = 1;
  engine::Chapters chapters{};  ///< Where its part of each journal begins.
  engine::Tally tally{};        ///< What the earlier ones came to.
};

Result<void> write_note(const std::string& job_folder, const AttemptNote& note);
/// The first attempt has no note. Errors: `protocol`, `system`.
Result<AttemptNote> read_note(const std::string& job_folder);

}  // namespace muster::local
