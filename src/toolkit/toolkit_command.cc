#include "toolkit/toolkit_command.h"

#include <unistd.h>

#include <memory>
#include <string>

#include "base/fd.h"
#include "base/log.h"
#include "calls/conduct_job.h"
#include "code/codeartifact.h"
#include "code/deliver.h"
#include "env/job_files.h"
#include "loop/wait.h"
#include "operators/run_command.h"
#include "s3client/s3_client.h"

namespace muster::toolkit {
namespace {

constexpr const char* help = R"HELP(usage: sm toolkit COMMAND [ARGS]

What the Python packages sagemaker_training and sagemaker_containers ask muster to do.

  fetch URI FOLDER     bring code to a folder: a folder, a tar.gz or s3://BUCKET/KEY of one; does
                       nothing if the folder is not empty
  download S3URL FILE  fetch one object
  upload FILE S3URL    store one
  sync                 upload what appears in output/intermediate to sagemaker_s3_output
                       (SAGEMAKER_S3_OUTPUT) until standard input ends; says "ready" first
  codeartifact-index   print the package index of CA_REPOSITORY_ARN (it holds a token)
  run [--runner RUNNER] [--option NAME=VALUE]... [--python PATH] [--report FD]
      -- ENTRY_POINT [ARGS]
                       run an entry point of the code folder; RUNNER is process, mpi,
                       smdataparallel, torch_distributed or pytorch_xla

exit status: 0, 1 with one line of why, 2 wrong usage; of `run`, the program's.
)HELP";

constexpr int exit_failure = 1;
constexpr int exit_usage = 2;
constexpr Duration upload_wait = std::chrono::minutes(30);

struct Request {
  loop::Loop& loop;
  const Args& args;  ///< The command's own.
  const Env& env;
  const Log& log;
};

loop::Task<Result<void>> fetch(Request request) {
  const std::string uri = request.args[0];
  const std::string folder = request.args[1];
  const Result<code::DeliverReport> report =
      co_await code::deliver(request.loop, request.env, uri, folder, request.log);
  if (!report) co_return report.error();
  co_return Result<void>();
}

loop::Task<Result<void>> download(Request request) {
  const Result<s3wire::S3Url> from = s3wire::parse_s3_url(request.args[0]);
  if (!from) co_return from.error();
  const std::string path = request.args[1];
  const Result<std::unique_ptr<s3client::S3Client>> client =
      s3client::S3Client::open(request.loop, request.env, request.log);
  if (!client) co_return client.error();
  Result<void> done = co_await (*client)->download(*from, path);
  co_return done;
}

loop::Task<Result<void>> upload(Request request) {
  const std::string path = request.args[0];
  const Result<s3wire::S3Url> to = s3wire::parse_s3_url(request.args[1]);
  if (!to) co_return to.error();
  const Result<std::unique_ptr<s3client::S3Client>> client =
      s3client::S3Client::open(request.loop, request.env, request.log);
  if (!client) co_return client.error();
  Result<void> done = co_await (*client)->upload(path, *to);
  co_return done;
}

loop::Task<Result<void>> codeartifact_index(Request request) {
  const Env::const_iterator found = request.env.find("CA_REPOSITORY_ARN");
  const std::string arn = found == request.env.end() ? "" : found->second;
  const Result<std::string> index =
      co_await code::codeartifact_index(request.loop, request.env, arn);
  if (!index) co_return index.error();
  co_return write_all(STDOUT_FILENO, *index + "\n");
}

loop::Task<Result<void>> sync(Request request) {
  const Result<job::Training> training = env::read_training(request.env);
  if (!training) co_return training.error();
  calls::Intermediate::Options options = calls::intermediate_options(*training);
  const Env::const_iterator output = request.env.find("SAGEMAKER_S3_OUTPUT");
  if (output != request.env.end()) options.s3_output = output->second;
  const Result<std::unique_ptr<calls::Intermediate>> intermediate =
      calls::Intermediate::start(request.loop, request.env, request.log, options);
  if (!intermediate) co_return intermediate.error();
  Result<void> said = write_all(STDOUT_FILENO, "ready\n");
  if (!said || *intermediate == nullptr) co_return said;
  loop::Watch input(request.loop, STDIN_FILENO);
  char byte = 0;
  ssize_t count = 1;
  while (count != 0) {
    const bool readable = co_await input.readable();
    if (!readable) break;
    count = ::read(STDIN_FILENO, &byte, 1);
  }
  const TimePoint deadline = Clock::now() + upload_wait;
  co_await (*intermediate)->finish(deadline);
  co_return Result<void>();
}

struct Command {
  const char* name;
  std::size_t arguments;
  loop::Task<Result<void>> (*run)(Request request);
};
constexpr Command commands[] = {{"fetch", 2, fetch},
                                {"download", 2, download},
                                {"upload", 2, upload},
                                {"sync", 0, sync},
                                {"codeartifact-index", 0, codeartifact_index}};

loop::Task<> run_to_end(loop::Task<Result<void>> task, Result<void>& result) {
  result = co_await std::move(task);
}

int run(const Command& command, const Args& args, const Env& env, const Log& log) {
  if (args.size() != command.arguments) {
    log.error(std::string(command.name) + " wants " + std::to_string(command.arguments) +
              " arguments; see sm toolkit --help");
    return exit_usage;
  }
  loop::Loop loop;
  Result<void> result;
  loop.spawn(run_to_end(command.run({loop, args, env, log}), result));
  loop.run();
  if (result) return 0;
  log.error(result.error().text);
  return exit_failure;
}

}  // namespace

int toolkit_main(const Args& args, const Env& env) {
  const std::string command = args.empty() ? "" : args[0];
  if (command == "--help" || command == "-h") return write_all(STDOUT_FILENO, help) ? 0 : 1;
  const Args own(args.begin() + (args.empty() ? 0 : 1), args.end());
  if (command == "run") return operators::run_main(own, env);
  const Log log(STDERR_FILENO, "sm toolkit", Log::Level::info);
  for (const Command& known : commands)
    if (command == known.name) return run(known, own, env, log);
  log.error("unknown command \"" + command + "\"; see sm toolkit --help");
  return exit_usage;
}

}  // namespace muster::toolkit
