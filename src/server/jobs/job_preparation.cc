#include "server/jobs/job_preparation.h"

#include <thread>

#include "platform/crowded.h"
#include "server/jobs/aws_image.h"
#include "server/jobs/remote_function.h"
#include "server/jobs/sdk_drivers.h"
#include "server/jobs/training_image.h"
#include "server/jobs/vpc_of_job.h"

namespace muster::jobs {
namespace {

constexpr std::string_view lack_mark = "warning: ";

void add_keys(Env& environment, const aws::Credentials& keys) {
  environment["AWS_ACCESS_KEY_ID"] = keys.access_key;
  environment["AWS_SECRET_ACCESS_KEY"] = keys.secret_key;
  if (!keys.session_token.empty()) environment["AWS_SESSION_TOKEN"] = keys.session_token;
}

/// Unexpected effects of the request, for the job's log.
void add_notes(api::JobRequest& request, const platform::Interpreter& interpreter) {
  std::vector<std::string>& notes = request.spec.notes;
  if (const std::optional<AwsImage> image = aws_image(request.image)) {
    notes.push_back(runs_as(interpreter.program, interpreter.versions));
    const std::string lack = lack_of(*image, interpreter.versions);
    if (!lack.empty()) notes.push_back(std::string(lack_mark) + lack);
  }
}

}  // namespace

std::string lack_in(const std::vector<std::string>& notes) {
  for (const std::string& note : notes)
    if (note.starts_with(lack_mark)) return note.substr(lack_mark.size());
  return {};
}

loop::Task<Result<job::Spec>> JobPreparation::prepare(store::Job job, api::JobRequest request) {
  const Result<TrainingImage, aws::Refusal> meant =
      training_image(request.image, request.credentials_provider, options_.config);
  if (!meant) co_return fail(Errc::invalid_input, meant.error().message);
  JobPlaces places;
  if (!meant->image) {
    const Result<void> found = co_await give_python(request, meant->python, places);
    if (!found) co_return found.error();
  }
  if (!request.without_effect.empty()) request.spec.notes.push_back(request.without_effect);
  places.hidden = options_.hidden;
  give_network(request, places);
  if (Result<void> given = give_vpc(request); !given) co_return given.error();
  const Result<void> given =
      options_.s3 ? give_outside_s3(places) : give_own_s3(job, request, places);
  if (!given) co_return given.error();
  places.environment["TRAINING_JOB_ARN"] = job.arn;
  places.environment["AWS_REGION"] = places.s3.region;
  places.environment["AWS_DEFAULT_REGION"] = places.s3.region;
  // If no host can reach the index, pip wastes 8 s and fills the failure's reason.
  if (places.network == job::Network::none && !function_url(request.spec).empty())
    places.environment.insert_or_assign("PIP_NO_INDEX", std::string("1"));
  Result<job::Spec> spec = job_spec(std::move(request.spec), options_.config, places);
  if (spec && !meant->image && !options_.config.native_drivers) co_await replace_drivers(*spec);
  if (const std::string note = spec ? no_gpu_note(*spec) : ""; !note.empty())
    spec->notes.push_back(note);
  if (spec)
    platform::yield_if_crowded(*spec, static_cast<int>(std::thread::hardware_concurrency()));
  co_return spec;
}

loop::Task<Result<void>> JobPreparation::give_python(api::JobRequest& request, std::string python,
                                                     JobPlaces& places) const {
  Result<platform::Interpreter> interpreter = co_await options_.interpreter(std::move(python));
  if (!interpreter) co_return interpreter.error().in("the image " + request.image);
  add_notes(request, *interpreter);
  places.python = interpreter->program;
  places.interpreter = interpreter->places;
  places.packages = !interpreter->has_packages;
  const Env::const_iterator path = options_.env.find("PATH");
  places.path = platform::path_with(*interpreter, path == options_.env.end() ? "" : path->second);
  co_return Result<void>();
}

loop::Task<> JobPreparation::replace_drivers(job::Spec& spec) const {
  Result<s3wire::S3Url> script = s3wire::parse_s3_url(mpirun_script_url(spec));
  if (script) {
    const Result<std::string> text = co_await options_.read_object(*std::move(script));
    if (text) take_over_mpirun(spec, *text);
    co_return;
  }
  const std::string url = drivers_url(spec);
  if (url.empty()) co_return;
  Result<s3wire::S3Url> source = s3wire::parse_s3_url(url + "/sourcecode.json");
  Result<s3wire::S3Url> distributed = s3wire::parse_s3_url(url + "/distributed.json");
  if (!source || !distributed) co_return;
  const Result<std::string> source_text = co_await options_.read_object(*std::move(source));
  if (!source_text) co_return;
  const Result<std::string> distributed_text =
      co_await options_.read_object(*std::move(distributed));
  if (distributed_text) take_over(spec, *source_text, *distributed_text);
}

/// A job without an outside network has a note with the reason.
void JobPreparation::give_network(api::JobRequest& request, JobPlaces& places) const {
  std::string why_not;
  if (request.isolated)
    why_not = "EnableNetworkIsolation";
  else if (options_.config.network == job::Network::none)
    why_not = "jobs.network of the server's config";
  else if (options_.no_outside)
    why_not = options_.no_outside();
  if (why_not.empty())
    places.network = job::Network::nat;
  else
    request.spec.notes.push_back(std::string(no_network_note) + " (" + why_not + ")");
}

/// The networks may have changed since the job was accepted.
Result<void> JobPreparation::give_vpc(api::JobRequest& request) const {
  const vpc::Networks networks = options_.networks ? options_.networks() : vpc::Networks{};
  request.spec.vpc = TRY(
      vpc_of(request, options_.config, networks).transform_error([](const aws::Refusal& refusal) {
        return fail(Errc::invalid_input, refusal.message);
      }));
  if (!request.subnets.empty() && !request.spec.vpc)
    request.spec.notes.push_back(no_vpc_note(request, networks));
  return {};
}

/// An outside S3 does not know jobs: all of them use its only key.
Result<void> JobPreparation::give_outside_s3(JobPlaces& places) const {
  const aws::Credentials keys = TRY(credentials_of(*options_.s3));
  places.s3 = {.endpoint = options_.s3->endpoint,
               .region = options_.s3->region,
               .credentials_file = options_.s3->credentials_file,
               .ca_file = options_.ca_file};
  places.environment["AWS_ENDPOINT_URL_S3"] = options_.s3->endpoint;
  add_keys(places.environment, keys);
  return {};
}

Result<void> JobPreparation::give_own_s3(const store::Job& job, const api::JobRequest& request,
                                         JobPlaces& places) {
  const aws::Credentials keys =
      TRY(keys_.open(job, request.spec, own_repository(request.image, options_.config)));
  places.s3 = {.endpoint = options_.endpoint,
               .region = options_.region,
               .credentials_file = keys_.file(job.name),
               .ca_file = options_.ca_file,
               .results_credentials_file =
                   request.spec.s3_output.empty() ? "" : keys_.results_file(job.name)};
  places.environment["AWS_ENDPOINT_URL"] = options_.endpoint;
  add_keys(places.environment, keys);
  return {};
}

}  // namespace muster::jobs
