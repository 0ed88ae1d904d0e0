#include "aws/api/job_request.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "aws/api/inputs.h"
#include "aws/api/without_effect.h"

namespace muster::api {
namespace {

Result<void, aws::Refusal> check_channel(const Json& channel, std::size_t number) {
  const std::string where = "InputDataConfig[" + std::to_string(number) + "]";
  const Json& source = inside(channel, {"DataSource", "S3DataSource"});
  if (source.empty())
    return invalid(where +
                   ".DataSource: this server reads channels only from S3; use S3DataSource");
  if (text_of(source, "S3DataType") == "AugmentedManifestFile")
    return invalid(
        where + ".S3DataType: AugmentedManifestFile requires Pipe mode, which is not supported; " +
        "use S3Prefix or ManifestFile");
  if (text_of(channel, "InputMode") == "Pipe")
    return invalid(where + ".InputMode Pipe is not supported; use File");
  return {};
}

Result<void, aws::Refusal> check_resources(const Json& resources) {
  const auto is_whole = [](const Json& group) {
    return !text_of(group, "InstanceType").empty() &&
           integer_of(group, "InstanceCount").value_or(0) >= 1;
  };
  const Json& groups = elements(resources, "InstanceGroups");
  const bool fits =
      groups.empty() ? is_whole(resources) : std::all_of(groups.begin(), groups.end(), is_whole);
  if (!fits)
    return invalid("ResourceConfig: expected InstanceType and InstanceCount, or InstanceGroups");
  return {};
}

Result<std::string, aws::Refusal> credentials_provider(const Json& repository) {
  const std::string arn = text_of(inside(repository, {"TrainingRepositoryAuthConfig"}),
                                  "TrainingRepositoryCredentialsProviderArn");
  if (!arn.empty() && text_of(repository, "TrainingRepositoryAccessMode") != "Vpc")
    return invalid(
        "TrainingRepositoryAuthConfig requires TrainingRepositoryAccessMode Vpc, not Platform");
  return arn;
}

}  // namespace

std::vector<std::string> JobRequest::hosts() const {
  std::vector<std::string> names;
  for (int number = 1; number <= spec.instance_count; ++number)
    names.push_back("algo-" + std::to_string(number));
  return names;
}

Result<JobRequest, aws::Refusal> job_request(const Json& input) {
  const Json& algorithm = inside(input, {"AlgorithmSpecification"});
  if (text_of(algorithm, "TrainingInputMode") == "Pipe")
    return invalid("TrainingInputMode Pipe is not supported; use File");
  TRY(check_resources(inside(input, {"ResourceConfig"})));
  std::size_t number = 0;
  for (const Json& channel : elements(input, "InputDataConfig"))
    TRY(check_channel(channel, number++));
  JobRequest request;
  request.spec = TRY(job::spec_asked_for(input).transform_error(
      [](const Error& error) { return invalid(error.text); }));
  request.spec.encrypted = flag_of(input, "EnableInterContainerTrafficEncryption");
  request.without_effect = without_effect(input);
  request.isolated = flag_of(input, "EnableNetworkIsolation");
  request.subnets = texts_of(inside(input, {"VpcConfig"}), "Subnets");
  request.security_groups = texts_of(inside(input, {"VpcConfig"}), "SecurityGroupIds");
  request.image = text_of(algorithm, "TrainingImage");
  request.credentials_provider =
      TRY(credentials_provider(inside(algorithm, {"TrainingImageConfig"})));
  for (const Json& metric : elements(algorithm, "MetricDefinitions"))
    request.metrics.push_back({text_of(metric, "Name"), text_of(metric, "Regex")});
  return request;
}

Result<JobRequest> job_request_from(std::string_view stored) {
  const Json input = TRY(parse_json(stored));
  return job_request(input).transform_error(
      [](const aws::Refusal& refusal) { return fail(Errc::invalid_input, refusal.message); });
}

}  // namespace muster::api
