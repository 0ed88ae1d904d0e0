#include "job/training/client_config.h"

namespace muster::job {
namespace {

/// YAML's single quotes: every character except the quote is literal.
std::string yaml_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace

std::string default_bucket(const std::string& region, const std::string& account) {
  return "sagemaker-" + region + "-" + account;
}

std::string sagemaker_config(const std::string& bucket) {
  return "SchemaVersion: '1.0'\n"
         "SageMaker:\n"
         "  PythonSDK:\n"
         "    Modules:\n"
         "      Session:\n"
         "        DefaultS3Bucket: " +
         yaml_quoted(bucket) + "\n      TelemetryOptOut: true\n";
}

}  // namespace muster::job
