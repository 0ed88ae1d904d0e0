#include "toolkit/toolkit_command.h"

#include <unistd.h>

#include <memory>
#include <string>

#include "base/fd.h"
#include "base/log.h"
#include "code/deliver.h"
#include "loop/loop.h"
#include "objects/codeartifact.h"
#include "objects/s3_client.h"
#include "toolkit/run_command.h"

namespace muster::toolkit {
namespace {

constexpr const char* help = R"HELP(usage: sm toolkit COMMAND [ARGS]

What the Python packages sagemaker_training and sagemaker_containers ask muster to do.

  fetch URI FOLDER     bring code to a folder: a folder, a tar.gz or s3://BUCKET/KEY of one; does
                       nothing if the folder is not empty
  download S3URL FILE  fetch one object
  codeartifact-index   print the package index of CA_REPOSITORY_ARN (it holds a token)
  run [--runner RUNNER] [--option NAME=VALUE]... [--report FD] -- ENTRY_POINT [ARGS]
                       run an entry point of the code folder; RUNNER is process, mpi,
                       smdataparallel, torch_distributed or pytorch_xla

exit status: 0, 1 with one line of why, 2 wrong usage; of `run`, the program's.
)HELP";

constexpr int exit_failure = 1;
constexpr int exit_usage = 2;

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
  const Result<objects::S3Url> from = objects::parse_s3_url(request.args[0]);
  if (!from) co_return from.error();
  const std::string path = request.args[1];
  const Result<std::unique_ptr<objects::S3Client>> client =
      objects::S3Client::open(request.loop, request.env, request.log);
  if (!client) co_return client.error();
  Result<void> done = co_await (*client)->download(*from, path);
  co_return done;
}

loop::Task<Result<void>> codeartifact_index(Request request) {
  const Env::const_iterator found = request.env.find("CA_REPOSITORY_ARN");
  const std::string arn = found == request.env.end() ? "" : found->second;
  const Result<std::string> index =
      co_await objects::codeartifact_index(request.loop, request.env, arn);
  if (!index) co_return index.error();
  co_return write_all(STDOUT_FILENO, *index + "\n");
}

struct Command {
  const char* name;
  std::size_t arguments;
  loop::Task<Result<void>> (*run)(Request request);
};
constexpr Command commands[] = {
    {"fetch", 2, fetch}, {"download", 2, download}, {"codeartifact-index", 0, codeartifact_index}};

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
  if (command == "run") return run_main(own, env);
  const Log log(STDERR_FILENO, "sm toolkit", Log::Level::info);
  for (const Command& known : commands)
    if (command == known.name) return run(known, own, env, log);
  log.error("unknown command \"" + command + "\"; see sm toolkit --help");
  return exit_usage;
}

}  // namespace muster::toolkit
