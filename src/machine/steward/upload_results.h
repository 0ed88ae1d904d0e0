#pragma once

#include <string>

#include "base/command.h"
#include "base/result.h"

namespace muster::steward {

/// Stores the results of a job's hosts (their result/ folders) in S3, in the requested form. Either
/// all hosts' models become one model.tar.gz, and their files in /opt/ml/output/data one
/// output.tar.gz; if two files have the same name, the later host's is stored. Or each file becomes
/// an object, below model/ and data/.
///
/// `job_folder` holds job.json. `completed`: a model.tar.gz is created even without files. A
/// repeated call only returns `<job_folder>/uploaded.json`, which lists the stored objects. One
/// process at a time uploads, others wait. If the server's disk is full, returns {"no_room": WHY}:
/// nothing is lost, and the call can be repeated later. Blocks. Errors: of a file or of S3, naming
/// it.
Result<std::string> upload_results(const std::string& job_folder, bool completed, const Env& env);

}  // namespace muster::steward
