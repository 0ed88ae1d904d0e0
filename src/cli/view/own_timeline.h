#pragma once

#include "base/result.h"
#include "job/wire/timeline.h"
#include "net/loop/loop.h"
#include "platform/places/job_record.h"

namespace muster::cli {

/// The timeline of a job of this machine so far, from its hosts' journals.
loop::Task<Result<job::JobTimeline>> own_timeline(loop::Loop& loop, places::FoundJob job);

}  // namespace muster::cli
