// `sm submit`

#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/apps.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/exit_codes.h"
#include "cli/job_log.h"
#include "cli/job_view.h"
#include "cli/submit_request.h"
#include "cli/submit_upload.h"
#include "platform/job_name.h"

namespace muster::cli {
namespace {

/// Everything that is known before a server is asked.
struct Submission {
  SubmitOptions options;
  SubmitFiles files;
  Json request;  ///< Of --json-file; else null.
};

Result<Submission> prepare(const SubmitWords& words) {
  Submission submission;
  submission.options = TRY(submit_options(words));
  SubmitOptions& options = submission.options;
  if (!options.json_file.empty()) {
    const Result<std::string> text = read_file(options.json_file);
    if (!text) return fail(Errc::invalid_input, text.error().text).in("--json-file");
    Result<Json> request = request_from(*text, options.name);
    if (!request) return request.error().in(options.json_file);
    submission.request = *std::move(request);
    options.name = member_text(submission.request, "TrainingJobName");
    return submission;
  }
  const std::unique_ptr<char, void (*)(void*)> here(::getcwd(nullptr, 0), ::free);
  if (!here) return fail(Errc::invalid_input, errno_text("this folder"));
  submission.files = TRY(find_files(options, here.get()));
  if (!options.name.empty()) return submission;
  const UnixMillis now = wall_time();
  const std::string from = options.script.empty() ? options.image : submission.files.script;
  options.name = platform::default_job_name(from, now, hex(random_bytes(2)));
  return submission;
}

/// The request, with what it needs uploaded.
loop::Task<Result<Json>> request_for(Client& client, Submission submission) {
  if (!submission.request.is_null()) co_return submission.request;
  const Result<std::string> account = co_await client.api.account();
  if (!account) co_return account.error();
  bool needs_bucket = submission.options.output.empty() || !submission.files.folder.empty();
  for (const auto& [name, place] : submission.files.inputs) needs_bucket |= !is_s3(place);
  std::string bucket;
  if (needs_bucket) {
    Result<std::string> made = co_await client.api.default_bucket(*account);
    if (!made) co_return made.error();
    bucket = *std::move(made);
  }
  SubmitOptions options = submission.options;
  const Result<SubmitPlaces> places =
      co_await upload(client, std::move(options), std::move(submission.files), std::move(bucket));
  if (!places) co_return places.error();
  co_return create_request(submission.options, *places, *account);
}

loop::Task<Result<int>> submit(Client& client, Submission submission) {
  const std::string name = submission.options.name;
  const bool wait = submission.options.wait;
  const bool json = submission.options.json;
  const bool raw = submission.options.raw;
  Result<Json> request = co_await request_for(client, std::move(submission));
  if (!request) co_return request.error();
  std::string target = "SageMaker.CreateTrainingJob";
  const Result<Json> made =
      co_await client.api.call(std::move(target), *std::move(request), ApiClient::Patience::none);
  if (!made) co_return made.error();
  if (!wait) {
    Json told{{"TrainingJobName", name}, {"TrainingJobArn", member_text(*made, "TrainingJobArn")}};
    client.out.text() += json ? visible_json(to_text(told)) + "\n" : visible_line(name) + "\n";
    co_return exit_success;
  }
  client.farewell =
      name + " goes on; sm logs -f " + name + " follows it, sm stop " + name + " stops it";
  if (!json) client.complain("job " + name);
  const JobLogOptions how{.follow = true, .json = json, .raw = raw};
  const Result<int> code = co_await show_log(client, name, how);
  co_return code;
}

}  // namespace

void add_submit(CLI::App& app, SubmitWords& words) {
  app.description("Gives a training job to the server that AWS_ENDPOINT_URL names.");
  app.footer(
      "examples:\n"
      "  sm submit --script train.py --wait\n"
      "      run train.py on one host of the server and follow it\n"
      "  sm submit mnist-1 --script train.py --source-dir code --hosts 3 --processes-per-host 2 "
      "\\\n"
      "      --input train=data/train --input test=s3://bucket/test --hyperparameter epochs=2\n"
      "      code and data/train are uploaded; 6 MPI processes on 3 hosts\n"
      "  sm submit --json-file job.json\n"
      "      the file holds CreateTrainingJob's input, as for the AWS CLI\n"
      "\n"
      "It prints the job's name. Uploads go to the bucket sagemaker-REGION-ACCOUNT, as the "
      "SageMaker\n"
      "SDK's. Ctrl-C leaves a submitted job alone. Exit codes: 0 submitted, with --wait as the "
      "job\n"
      "ended (0 completed, 1 failed or stopped, 4 timed out), 2 wrong input or key, 3 no answer "
      "from\n"
      "the server.");
  const auto text = [&](const char* name, std::string& into, const char* help, const char* type) {
    app.add_option(name, into, help)->type_name(type);
  };
  const auto texts = [&](const char* name, std::vector<std::string>& into, const char* help,
                         const char* type) {
    app.add_option(name, into, help)->allow_extra_args(false)->type_name(type);
  };
  text("NAME", words.name, "the job's name (default: the script's name and the time)", "NAME");
  text("--script", words.script, "the program to train with, a path in the source folder", "FILE");
  text("--source-dir", words.source_folder,
       "folder with the code, or s3://…/sourcedir.tar.gz (default: the script alone)", "DIR");
  text("--image", words.image, "the hosts' image (default: host, the server's own programs)",
       "NAME");
  text("--instance-type", words.instance_type, "what each host gets (default: local)", "TYPE");
  text("--hosts", words.hosts, "number of hosts, 1 to 250 (default 1)", "N");
  text("--processes-per-host", words.processes_per_host,
       "MPI processes on each host; more than one in all runs the script under MPI", "N");
  app.add_flag("--mpi", words.mpi, "run under MPI also with one process");
  text("--custom-mpi-options", words.custom_mpi_options, "more options for mpirun, in one text",
       "TEXT");
  texts("--input", words.inputs, "an input channel: s3://… or a folder, which is uploaded",
        "NAME=DIR");
  texts("--hyperparameter", words.hyperparameters,
        "given to the script as --NAME VALUE; JSON values keep their type, all else is text",
        "NAME=VALUE");
  texts("--env", words.environment, "a variable of the hosts' environment", "NAME=VALUE");
  text("--output", words.output, "where the model goes (default: the default bucket)", "S3URL");
  text("--timeout", words.timeout, "stop the job after so many seconds (default a day)", "SECONDS");
  text("--json-file", words.json_file, "the job as CreateTrainingJob's input; only NAME counts too",
       "FILE");
  app.add_flag("--wait", words.wait, "follow the job to its end");
  app.add_flag("--raw", words.raw, raw_help);
  app.add_flag("--json", words.json,
               "print one JSON object, with --wait one for each line of the log");
}

int submit_main(const Args& args, const Env& env) {
  SubmitWords words;
  CLI::App app("", "sm submit");
  add_submit(app, words);
  if (const std::optional<Stop> stop = parse(app, args))
    return print_stop(stop->exit_code, stop->text);
  const Result<Submission> submission = prepare(words);
  if (!submission) {
    const Stop stop = wrong_line(app, submission.error().text);
    return print_stop(stop.exit_code, stop.text);
  }
  return run_client("sm submit", env, [&](Client& client) { return submit(client, *submission); });
}

}  // namespace muster::cli
