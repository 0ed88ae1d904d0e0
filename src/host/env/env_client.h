#pragma once

#include <optional>
#include <string>

#include "base/command.h"
#include "base/log.h"

namespace muster::env {

/// What `sm env --client [--write FILE] [--bucket NAME] [--notebook]` asks for.
struct ClientWish {
  std::optional<std::string> file;
  std::optional<std::string> bucket;
  bool notebook = false;
};
/// Prints what AWS's clients need to use a muster server; the exit status. It reads nothing but
/// `env` and the files that it would write.
int print_client(const ClientWish& wish, const Env& env, const Log& log);

/// Settings for a client.
struct ClientSettings {
  std::string endpoint;     ///< The server's URL.
  std::string s3_endpoint;  ///< If S3 is elsewhere.
  std::string ca_bundle;    ///< Whom to trust; empty: whom the client does anyway.
  std::string region;
  std::string bucket;     ///< SageMaker's default bucket: its SDKs would ask AWS itself for one.
  bool has_keys = false;  ///< The access key and its secret are set already.
};

/// By the AWS_* variables, else as `sm server` is without a config. An empty `bucket` becomes
/// sagemaker-<region>-<account>, the account being the server's own.
ClientSettings client_settings(const Env& env, std::string bucket);

/// The file by which SageMaker's SDKs know the role of a notebook machine.
std::string notebook_metadata();

/// Lines for a POSIX shell, without secrets. `file` is the path of job::sagemaker_config; if it is
/// empty, the lines end with its text as a comment.
std::string client_lines(const ClientSettings& settings, const std::string& file);

}  // namespace muster::env
