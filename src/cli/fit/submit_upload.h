#pragma once

#include <string>

#include "cli/fit/submit_request.h"
#include "cli/server_client.h"

namespace muster::cli {

/// What a job needs of this machine.
struct SubmitFiles {
  std::string
      folder;  ///< The folder with the code; empty: the code is in S3 already, or the job has none.
  std::string script;  ///< In it.
  bool whole = false;  ///< The whole folder, else the script alone.
  Pairs inputs;        ///< Channel, folder or s3://…
  /// A folder with checkpoints to go on from; empty: none are uploaded.
  std::string checkpoints;
};
/// Looks at the disk. Error: `invalid_input`, as find_places() has it.
Result<SubmitFiles> find_files(const SubmitOptions& options, const std::string& cwd);

/// Where code and inputs go that are not in S3 yet: below s3://<bucket>/<job>/ as the SageMaker SDK
/// has it, the code as source/sourcedir.tar.gz, the files of a channel below input/<channel>/,
/// those of checkpoints below checkpoints/. Pure.
SubmitPlaces places_for(const SubmitOptions& options, const SubmitFiles& files,
                        const std::string& bucket);

/// Stores them there. On a terminal standard error shows how far it is. Errors: of the files, with
/// the path; of S3, with the URL.
loop::Task<Result<void>> upload(Client& client, SubmitFiles files, SubmitPlaces places);

}  // namespace muster::cli
