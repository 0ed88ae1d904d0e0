#pragma once

#include <string>

#include "base/command.h"
#include "base/result.h"

namespace muster::steward {

/// Stores what a job's hosts left (their result/ folders) in S3, as the job asked: all hosts'
/// models as one model.tar.gz, what they wrote to /opt/ml/output/data as one output.tar.gz; of two
/// files with one name the later host's stays. Or file by file, below model/ and data/.
///
/// `job_folder` holds job.json. `completed`: a model.tar.gz is made even of nothing. Done again, it
/// does nothing: `<job_folder>/uploaded.json` says what was stored, and is returned. One process at
/// a time does it, others wait. Where the server's disk is full it gives {"no_room": WHY}: nothing
/// is lost, to be done again later. Blocks. Errors: of a file or of S3, naming it.
Result<std::string> upload_results(const std::string& job_folder, bool completed, const Env& env);

}  // namespace muster::steward
