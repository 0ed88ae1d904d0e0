#pragma once

#include <string>

#include "base/command.h"
#include "supervise/programs.h"

namespace muster::engine {

/// `sm`, and the environment in which it finds S3 and credentials.
struct UploadProgram {
  std::string program;
  Env env;
};

/// Stores what the hosts of a job left, for an engine's Run::upload(): `sm steward --upload` on
/// `job_folder`, where job.json and the hosts' results lie (docs/protocols/steward.md). The program
/// goes on without its caller if it must: whoever runs it again waits for its end. Error: its last
/// line, which names the object or the file.
loop::Task<Result<std::string>> upload(supervise::Programs& programs, UploadProgram program,
                                       std::string job_folder, bool completed);
/// True once that was done, by whomever.
bool is_uploaded(const std::string& job_folder);

}  // namespace muster::engine
