#include "host/toolkit/toolkit_command.h"

#include <unistd.h>

#include <memory>
#include <string>
#include <variant>

#include "aws/s3client/s3_client.h"
#include "base/fd.h"
#include "base/log.h"
#include "command/line.h"
#include "host/calls/conduct_job.h"
#include "host/code/codeartifact.h"
#include "host/code/deliver.h"
#include "host/env/job_files.h"
#include "host/operators/run_command.h"
#include "net/loop/tasks.h"
#include "net/loop/wait.h"

namespace muster::toolkit {
namespace {

constexpr int exit_failure = 1;

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
  const TimePoint deadline = Clock::now() + calls::upload_wait;
  co_await (*intermediate)->finish(deadline);
  co_return Result<void>();
}

struct Command {
  const char* name;
  loop::Task<Result<void>> (*run)(Request request);
};
constexpr Command commands[] = {{"fetch", fetch},
                                {"download", download},
                                {"upload", upload},
                                {"sync", sync},
                                {"codeartifact-index", codeartifact_index}};

loop::Task<> run_to_end(loop::Task<Result<void>> task, Result<void>& result) {
  result = co_await std::move(task);
}

int run(const Command& command, const Args& words, const Env& env, const Log& log) {
  loop::Loop loop;
  Result<void> result;
  loop::Tasks tasks(loop);
  tasks.start(run_to_end(command.run({loop, words, env, log}), result));
  loop.run();
  if (result) return 0;
  log.error(result.error().text);
  return exit_failure;
}

}  // namespace

int toolkit_main(const Args& args, const Env& env) {
  const Log log(STDERR_FILENO, "sm toolkit", Log::Level::info);
  const std::variant<const command::Page*, command::Stop> below =
      command::command_below("toolkit", args);
  if (const command::Stop* stop = std::get_if<command::Stop>(&below)) return tell(*stop, log);
  const command::Page& page = *std::get<const command::Page*>(below);
  const Args own(args.begin() + 1, args.end());
  if (args[0] == "run") return operators::run_main(own, env);
  command::Line line(page);
  Args words(page.operands.size());
  for (std::size_t i = 0; i < words.size(); ++i) line.text(page.operands[i].name, words[i]);
  if (const std::optional<command::Stop> stop = line.parse(own)) return tell(*stop, log);
  for (const Command& known : commands)
    if (args[0] == known.name) return run(known, words, env, log);
  CHECK_THAT(false, "every command below toolkit is one of these");
  return exit_failure;
}

}  // namespace muster::toolkit
