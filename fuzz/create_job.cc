// CreateTrainingJob, from the body of a request to what stewards run: whatever it says, muster's
// own part is the server's. The input is a JSON object that is merged into a request that is fine.
#include <nlohmann/json.hpp>
#include <string_view>

#include "aws/api/json_protocol.h"
#include "aws/api/validate.h"
#include "base/text.h"
#include "fuzz.h"
#include "server/jobs/job_spec.h"

namespace muster {

namespace {

constexpr const char* fine = R"({
  "TrainingJobName": "job",
  "RoleArn": "arn:aws:iam::000000000000:role/r",
  "AlgorithmSpecification": {"TrainingImage": "host", "TrainingInputMode": "File"},
  "HyperParameters": {"sagemaker_submit_directory": "\"s3://b/job/source/sourcedir.tar.gz\""},
  "InputDataConfig": [{"ChannelName": "train", "DataSource": {"S3DataSource": {
      "S3DataType": "S3Prefix", "S3Uri": "s3://b/train"}}}],
  "OutputDataConfig": {"S3OutputPath": "s3://b/out"},
  "CheckpointConfig": {"S3Uri": "s3://b/ck"},
  "ResourceConfig": {"InstanceType": "ml.c5.xlarge", "InstanceCount": 1, "VolumeSizeInGB": 1},
  "StoppingCondition": {"MaxRuntimeInSeconds": 600}})";

const jobs::JobConfig& config() {
  static const jobs::JobConfig read =
      *jobs::job_config_from(Json::parse(R"({"capacity": {"ml.c5.xlarge": 50}})"));
  return read;
}

/// What nothing in a request is likely to say.
jobs::JobPlaces places() {
  jobs::JobPlaces all;
  all.python = "/server/python";
  all.interpreter = {"/server/lib"};
  all.path = "/server/bin";
  all.hidden = {"/server/data"};
  all.s3 = {.endpoint = "http://server",
            .region = "server",
            .credentials_file = "/server/data/keys/job",
            .ca_file = "/server/roots"};
  return all;
}

/// Muster's own part, as stewards read it; limits of groups, of which there may be any number,
/// apart.
Json own_part(const job::Spec& spec) {
  Json own = to_json(spec).at("Muster");
  own.erase("GroupMemoryBytes");
  own.erase("GroupCpuMillis");
  own.erase("GroupGpus");
  return own;
}

void check_rights(const job::Spec& asked) {
  const Result<access::KeyPolicy> policy = jobs::policy_of(asked);
  if (!policy) return;
  CHECK_THAT(policy->limited, "a job's key has its limits");
  for (const access::Place& place : policy->writes) {
    const bool folder = place.extent == access::Extent::folder;
    CHECK_THAT(!place.key.empty(), "no whole bucket to write");
    CHECK_THAT(folder ? place.key.ends_with('/') : place.extent == access::Extent::object,
               "a folder or one object");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Json honest =
      own_part(*jobs::job_spec(api::job_request(Json::parse(fine))->spec, config(), places()));
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const Result<Json, aws::Refusal> read = api::read_json(body);
  if (!read) return 0;
  Json request = Json::parse(fine);
  request.merge_patch(*read);
  if (!api::validate("sagemaker", "CreateTrainingJob", request)) return 0;
  static_cast<void>(api::only_known("sagemaker", "UpdateTrainingJob", request));
  const Result<api::JobRequest, aws::Refusal> asked = api::job_request(request);
  if (!asked || !jobs::check_request(*asked, config())) return 0;
  CHECK_THAT(asked->hosts().size() == job::host_names(asked->spec.instance_count).size(), "hosts");
  check_rights(asked->spec);
  const Result<job::Spec> spec = jobs::job_spec(asked->spec, config(), places());
  if (!spec) return 0;
  CHECK_THAT(own_part(*spec) == honest, "muster's own part is the server's");
  for (const job::HostGroup& group : spec->groups)
    CHECK_THAT(group.memory_bytes == 0 && group.gpus == 0, "and so is what groups get");
  for (const job::InputChannel& channel : spec->input)
    CHECK_THAT(channel.folder.empty() && !channel.s3.url.empty(), "a channel is of S3");
  const Result<job::Spec> again = job::spec_from(to_json(*spec));
  CHECK_THAT(again && *again == *spec, "a steward reads what the server wrote");
  return 0;
}

}  // namespace muster
