#include "host/env/env_client.h"

#include <unistd.h>

#include <filesystem>

#include "base/files/given_path.h"
#include "base/port.h"
#include "base/terminal.h"
#include "base/text.h"
#include "command/exit_codes.h"
#include "job/training/client_config.h"

namespace muster::env {
namespace {

// The defaults of `sm server`.
constexpr const char* default_region = "us-east-1";
constexpr const char* default_account = "000000000000";

// SDK 1.72.1 sets STS's endpoint itself, and requires a notebook instance's name in the file.
constexpr const char* sdk_1_line =
    "# SageMaker's SDK 1.x asks AWS for role and bucket anyway. With it, use\n"
    "# get_execution_role(muster.session()) and muster.session().default_bucket().\n";

// Source: sagemaker 2.257.7, session.py, NOTEBOOK_METADATA_FILE.
constexpr const char* notebook_folder = "/opt/ml/metadata";
constexpr const char* notebook_file = "/opt/ml/metadata/resource-metadata.json";

std::string set_or(const Env& env, const char* name, const std::string& otherwise) {
  const Env::const_iterator found = env.find(name);
  return found == env.end() || found->second.empty() ? otherwise : found->second;
}

/// A file with other content belongs to the user.
Result<void> write_config(const std::string& file, const std::string& text) {
  std::error_code failed;
  if (std::filesystem::exists(file, failed)) {
    if (TRY(read_given(file)) == text) return {};
    return fail(Errc::invalid_input, file + ": already exists with different content");
  }
  return write_given(file, text);
}

std::string export_line(const std::string& name, const std::string& value) {
  return "export " + name + "=" + shell_quoted({value}) + "\n";
}

}  // namespace

ClientSettings client_settings(const Env& env, std::string bucket) {
  ClientSettings settings;
  settings.endpoint =
      set_or(env, "AWS_ENDPOINT_URL", "http://127.0.0.1:" + std::to_string(server_port));
  settings.s3_endpoint = set_or(env, "AWS_ENDPOINT_URL_S3", "");
  settings.ca_bundle = set_or(env, "AWS_CA_BUNDLE", "");
  settings.region = set_or(env, "AWS_REGION", set_or(env, "AWS_DEFAULT_REGION", default_region));
  settings.bucket = std::move(bucket);
  if (settings.bucket.empty())
    settings.bucket = job::default_bucket(settings.region, default_account);
  settings.has_keys = !set_or(env, "AWS_ACCESS_KEY_ID", "").empty() &&
                      !set_or(env, "AWS_SECRET_ACCESS_KEY", "").empty();
  return settings;
}

std::string notebook_metadata() {
  return std::string(R"({"ExecutionRoleArn":"arn:aws:iam::)") + default_account +
         ":role/muster\"}\n";
}

std::string client_lines(const ClientSettings& settings, const std::string& file) {
  std::string lines = export_line("AWS_ENDPOINT_URL", settings.endpoint);
  if (!settings.s3_endpoint.empty())
    lines += export_line("AWS_ENDPOINT_URL_S3", settings.s3_endpoint);
  if (!settings.ca_bundle.empty()) lines += export_line("AWS_CA_BUNDLE", settings.ca_bundle);
  lines += export_line("AWS_REGION", settings.region) +
           export_line("AWS_DEFAULT_REGION", settings.region) +
           export_line("AWS_EC2_METADATA_DISABLED", "true");
  if (!settings.has_keys)
    lines +=
        "# AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set: `sm server`\n"
        "# printed them when it first started; `sm key create` creates new ones.\n";
  if (!file.empty()) return lines + export_line("SAGEMAKER_USER_CONFIG_OVERRIDE", file);
  lines += "# SageMaker's SDKs need a config file, which --write FILE writes:\n";
  for (const std::string& line : split(trim(job::sagemaker_config(settings.bucket)), '\n'))
    lines += "#   " + line + "\n";
  return lines;
}

namespace {

Result<void> write_files(const ClientWish& wish, const std::string& config,
                         const ClientSettings& settings) {
  if (!config.empty()) TRY(write_config(config, job::sagemaker_config(settings.bucket)));
  if (!wish.notebook) return {};
  TRY(make_folders(notebook_folder));
  return write_config(notebook_file, notebook_metadata());
}

}  // namespace

int print_client(const ClientWish& wish, const Env& env, const Log& log) {
  const ClientSettings settings = client_settings(env, wish.bucket.value_or(""));
  const std::string file = wish.file ? std::filesystem::absolute(*wish.file).string() : "";
  const Result<void> written = write_files(wish, file, settings);
  if (!written) {
    log.error(written.error().text);
    return command::exit_failed;
  }
  const std::string lines = client_lines(settings, file) + (wish.notebook ? sdk_1_line : "");
  return say(STDOUT_FILENO, lines) ? command::exit_success : command::exit_failed;
}

}  // namespace muster::env
