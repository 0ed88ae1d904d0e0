#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/json.h"
#include "cli/fit/launch_choice.h"
#include "cli/fit/value_files.h"
#include "cli/values.h"
#include "job/limits.h"

namespace muster::cli {

/// `sm submit` as it is typed.
struct SubmitWords {
  std::string name, json_file, script, source_folder, image, instance_type;
  std::string hosts, output, checkpoints, timeout, volume_size, priority, network;
  LaunchWords launch;
  std::vector<std::string> inputs, hyperparameters, texts, environment, metrics, tags;
  ValueFiles files;
  bool encrypted = false, wait = false, json = false, raw = false, utc = false, print_file = false;
};

/// Options of `sm submit`. Paths as the user wrote them. Pure: values only.
struct SubmitOptions {
  std::string name;           ///< Empty: made from the script's name and the time.
  std::string json_file;      ///< Then nothing else of the job counts but `name`.
  std::string script;         ///< Empty: the image's own program.
  std::string source_folder;  ///< A folder or s3://…/sourcedir.tar.gz; empty: the script alone.
  std::string image = "host";
  std::string instance_type = "local";
  int hosts = 1;
  int volume_gib = job::volume_gib_default;
  LaunchChoice launch;
  Pairs inputs;  ///< Channel, folder or s3://…
  Hyperparameters hyperparameters;
  Pairs environment;
  std::vector<job::MetricDefinition> metrics;
  std::string output;       ///< s3://…; empty: the default bucket.
  std::string checkpoints;  ///< s3://… or a folder; empty: none are kept.
  Pairs tags;
  std::chrono::seconds timeout{86400};
  int priority = 0;
  bool isolated = false;   ///< EnableNetworkIsolation.
  bool encrypted = false;  ///< EnableInterContainerTrafficEncryption.
  bool wait = false;
  bool json = false;
  bool raw = false;
};
/// The line to type for one in the form of earlier versions, `NAME --script FILE`; empty for any
/// other. `page`: of `sm submit`. Pure.
std::string new_submit_line(const Args& args, const command::Page& page);

/// Error: `invalid_input`, naming the flag.
Result<SubmitOptions> submit_options(const SubmitWords& words);

/// Where what was uploaded is.
struct SubmitPlaces {
  std::string script;  ///< In the archive.
  std::string code;    ///< s3://…/sourcedir.tar.gz
  Pairs inputs;        ///< Channel, s3://…
  std::string output;
  std::string checkpoints{};  ///< s3://…; empty: none.
};
bool is_s3(const std::string& text);

/// CreateTrainingJob's input, in the form in which the SageMaker SDK's framework classes send it:
/// hyperparameters as JSON if there is a script, else as they are.
Json create_request(const SubmitOptions& options, const SubmitPlaces& places,
                    const std::string& account);

/// The request in a file, with the name from the command line, if it is set. Error:
/// `invalid_input`: it is not a JSON object, or neither has a name.
Result<Json> request_from(const std::string& text, const std::string& name);

}  // namespace muster::cli
