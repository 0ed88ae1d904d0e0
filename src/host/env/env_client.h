#pragma once

#include <optional>
#include <string>

#include "base/command.h"
#include "base/log.h"

namespace muster::env {

/// The options of `sm env --client [--write FILE] [--bucket NAME] [--notebook]`.
struct ClientWish {
  std::optional<std::string> file;
  std::optional<std::string> bucket;
  bool notebook = false;
};
/// Prints the settings with which AWS clients use a muster server. Returns the exit status. It
/// reads nothing but `env` and the files that it would write.
int print_client(const ClientWish& wish, const Env& env, const Log& log);

/// Settings for a client.
struct ClientSettings {
  std::string endpoint;     ///< The server's URL.
  std::string s3_endpoint;  ///< Set if S3 is another server.
  std::string ca_bundle;    ///< CA certificates to trust; empty: the client's default.
  std::string region;
  std::string bucket;     ///< SageMaker's default bucket; without it, the SDKs ask AWS.
  bool has_keys = false;  ///< The access key and its secret are set already.
};

/// From the AWS_* variables; otherwise the defaults of `sm server`. An empty `bucket` becomes
/// sagemaker-<region>-<account>, the account being the server's own.
ClientSettings client_settings(const Env& env, std::string bucket);

/// The file from which SageMaker's SDKs read the role of a notebook machine.
std::string notebook_metadata();

/// Lines for a POSIX shell, without secrets. `file` is the path of job::sagemaker_config; if it is
/// empty, the lines end with its text as a comment.
std::string client_lines(const ClientSettings& settings, const std::string& file);

}  // namespace muster::env
