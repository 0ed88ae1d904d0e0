#include "env/env_client.h"

#include <unistd.h>

#include <filesystem>
#include <optional>

#include "base/fd.h"
#include "base/log.h"
#include "base/terminal.h"
#include "base/text.h"
#include "job/client_config.h"

namespace muster::env {
namespace {

constexpr const char* help = R"HELP(usage: sm env --client [FLAGS]

Prints the lines that make boto3, the AWS CLI and SageMaker's SDKs use a muster server, by the
AWS_* variables that are set: eval "$(sm env --client --write ~/muster-sagemaker.yaml)"

  --write FILE   also write the config file of SageMaker's SDKs, and name it in the lines: without
                 one they ask AWS itself for the name of their default bucket
  --bucket NAME  the default bucket (sagemaker-REGION-000000000000)
  --notebook     also write /opt/ml/metadata/resource-metadata.json, as SageMaker's notebook
                 machines have it: get_execution_role() without a session finds its role there

examples:
  eval "$(sm env --client)"                                   for boto3 and the AWS CLI
  eval "$(sm env --client --write ~/muster-sagemaker.yaml)"   for SageMaker's SDKs, too

exit status: 0, 1 if a file cannot be written, 2 wrong usage.
)HELP";

constexpr int exit_failure = 1;
constexpr int exit_usage = 2;

// As `sm server` is without a config.
constexpr const char* default_endpoint = "http://127.0.0.1:7700";
constexpr const char* default_region = "us-east-1";
constexpr const char* default_account = "000000000000";

// Source: sagemaker 2.257.7, session.py, NOTEBOOK_METADATA_FILE.
constexpr const char* notebook_folder = "/opt/ml/metadata";
constexpr const char* notebook_file = "/opt/ml/metadata/resource-metadata.json";

struct Flags {
  std::string file;
  std::string bucket;
  bool notebook = false;
  bool help = false;
  std::optional<std::string> wrong;  ///< The argument that is none, or lacks its value.
};

Flags flags_from(const Args& args) {
  Flags flags;
  for (std::size_t at = 0; at < args.size(); ++at) {
    const bool more = at + 1 < args.size() && !args[at + 1].empty();
    if (args[at] == "--help" || args[at] == "-h")
      flags.help = true;
    else if (args[at] == "--write" && more)
      flags.file = args[++at];
    else if (args[at] == "--bucket" && more)
      flags.bucket = args[++at];
    else if (args[at] == "--notebook")
      flags.notebook = true;
    else if (!flags.wrong)
      flags.wrong = args[at];
  }
  return flags;
}

std::string set_or(const Env& env, const char* name, const std::string& otherwise) {
  const Env::const_iterator found = env.find(name);
  return found == env.end() || found->second.empty() ? otherwise : found->second;
}

/// A file that says something else is somebody's own.
Result<void> write_config(const std::string& file, const std::string& text) {
  std::error_code failed;
  if (std::filesystem::exists(file, failed)) {
    if (TRY(read_file(file)) == text) return {};
    return fail(Errc::invalid_input, file + ": it is there already and says something else");
  }
  return write_file(file, text);
}

std::string export_line(const std::string& name, const std::string& value) {
  return "export " + name + "=" + shell_quoted({value}) + "\n";
}

}  // namespace

ClientSettings client_settings(const Env& env, std::string bucket) {
  ClientSettings settings;
  settings.endpoint = set_or(env, "AWS_ENDPOINT_URL", default_endpoint);
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
        "# AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are still to be set: the first start of\n"
        "# `sm server` printed them, and `sm key create` makes others.\n";
  if (!file.empty()) return lines + export_line("SAGEMAKER_USER_CONFIG_OVERRIDE", file);
  lines += "# SageMaker's SDKs want a config file, which --write FILE writes:\n";
  for (const std::string& line : split(trim(job::sagemaker_config(settings.bucket)), '\n'))
    lines += "#   " + line + "\n";
  return lines;
}

namespace {

Result<void> write_files(const Flags& flags, const std::string& config,
                         const ClientSettings& settings) {
  if (!config.empty()) TRY(write_config(config, job::sagemaker_config(settings.bucket)));
  if (!flags.notebook) return {};
  TRY(make_folders(notebook_folder));
  return write_config(notebook_file, notebook_metadata());
}

}  // namespace

int env_client_main(const Args& args, const Env& env) {
  const Log log(STDERR_FILENO, "sm env", Log::Level::info);
  const Flags flags = flags_from(args);
  if (flags.wrong) {
    const bool known = flags.wrong == "--write" || flags.wrong == "--bucket";
    const std::string what =
        known ? *flags.wrong + " wants a value" : "unknown argument \"" + *flags.wrong + "\"";
    log.error(what + "; see sm env --client --help");
    return exit_usage;
  }
  if (flags.help) return write_all(STDOUT_FILENO, help) ? 0 : exit_failure;
  const ClientSettings settings = client_settings(env, flags.bucket);
  const std::string file = flags.file.empty() ? "" : std::filesystem::absolute(flags.file).string();
  const Result<void> written = write_files(flags, file, settings);
  if (!written) {
    log.error(written.error().text);
    return exit_failure;
  }
  return say(STDOUT_FILENO, client_lines(settings, file)) ? 0 : exit_failure;
}

}  // namespace muster::env
