#pragma once

#include <string>

#include "base/command.h"
#include "os/supervise/programs.h"

namespace muster::engine {

/// `sm`, and the environment in which it finds S3 and credentials.
struct UploadProgram {
  std::string program;
  Env env;
};

/// Stores the results of a job's hosts, for an engine's Run::upload(): runs `sm steward --upload`
/// on `job_folder`, which has job.json and the results (docs/protocols/steward.md). The program
/// continues if its caller ends; a second run waits for it. Error: its last line, which names the
/// object or the file.
loop::Task<Result<std::string>> upload(supervise::Programs& programs, UploadProgram program,
                                       std::string job_folder, bool completed);
/// True once the results have been stored, by whichever process.
bool is_uploaded(const std::string& job_folder);

}  // namespace muster::engine
