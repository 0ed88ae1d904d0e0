// `sm rerun`

#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "aws/s3client/s3_list.h"
#include "aws/s3wire/s3_url.h"
#include "base/fd.h"
#include "base/fields.h"
#include "base/process/private_folders.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/cli.h"
#include "cli/exit_code_of.h"
#include "cli/fit/again.h"
#include "cli/fit/value_files.h"
#include "cli/job_commands/rerun_request.h"
#include "cli/server_client.h"
#include "cli/view/here.h"
#include "cli/view/job_view.h"
#include "command/line.h"
#include "platform/job_name.h"

namespace muster::cli {
namespace {

/// So many files of a source folder are looked at: it may hold data, too.
constexpr int files_max = 100'000;

struct RerunWords {
  std::string job, name;
  std::vector<std::string> hyperparameters, environment;
  ValueFiles files;
  bool resume = false;
};

void complain(const std::string& text) {
  static_cast<void>(say_line(STDERR_FILENO, "sm rerun", text));
}

void warn_of_newer(const std::string& what, const std::string& which, const std::string& job) {
  complain("warning: " + what + ": " + which + " is newer than " + job);
}

UnixMillis time_of(const Json& job) {
  return member_time(job, "CreationTime").value_or(UnixMillis(0));
}

/// A file of the job's code that changed since `time`; empty: none. What jobs wrote into the same
/// folder is no code.
std::string newer_file(const std::string& folder, UnixMillis time,
                       const std::set<std::string>& left_out) {
  namespace fs = std::filesystem;
  std::error_code error;
  int count = 0;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error);
  for (const fs::recursive_directory_iterator end; !error && at != end && ++count < files_max;
       at.increment(error)) {
    struct stat status {};
    std::string path = at->path();
    if (::lstat(path.c_str(), &status) != 0) continue;
    const std::string name = at->path().filename();
    if (S_ISDIR(status.st_mode)) {
      if (left_out.contains(path) || name == "__pycache__" || name.starts_with("."))
        at.disable_recursion_pending();
      continue;
    }
    const UnixMillis modified(std::int64_t{status.st_mtim.tv_sec} * 1000 +
                              status.st_mtim.tv_nsec / 1'000'000);
    if (modified > time) return path;
  }
  return {};
}

/// The folders that jobs of this machine write to.
std::set<std::string> written_folders(const std::string& state) {
  std::set<std::string> folders;
  const Result<std::vector<places::FoundJob>> jobs = places::find_jobs(state);
  if (!jobs) return folders;
  for (const places::FoundJob& job : *jobs)
    folders.insert(
        {results_of(job.description), value_in_record(job.description, "--checkpoints")});
  return folders;
}

/// The values of --env-file are given again, too.
Result<command::Given> typed_for_fit(RerunWords words) {
  TRY(add_value_files(words.files, words.environment, words.hyperparameters));
  const command::Page& fit = command::page_of("fit");
  command::Given given;
  for (std::string& text : words.hyperparameters)
    given.values.push_back({command::find_flag(fit, "--hyperparameter"), std::move(text)});
  for (std::string& text : words.environment)
    given.values.push_back({command::find_flag(fit, "--env"), std::move(text)});
  return given;
}

int rerun_own(const places::FoundJob& job, const RerunWords& words, const std::string& name,
              const Env& env) {
  const command::Page& page = command::page_of("rerun");
  if (job.living && words.resume)
    return tell(command::wrong_line(
        page, "--resume: " + job.name + " is still running and writing its checkpoints"));
  Result<command::Given> typed = typed_for_fit(words);
  if (!typed) return tell(command::wrong_line(page, typed.error().text));
  const Again next{name, *std::move(typed), words.resume};
  const Result<Args> line = line_again(job.description, next);
  if (!line) return tell(command::wrong_line(page, line.error().text));
  const std::string source = member_text(job.description, "MusterSource");
  const std::string newer = source.empty() ? source
                                           : newer_file(source, time_of(job.description),
                                                        written_folders(state_folder(env)));
  if (!newer.empty()) warn_of_newer("code", newer, job.name);
  complain("job " + name);
  return fit_main(*line, env);
}

/// Error: `not_found` if there are none. Warns of one that is newer than the earlier job.
loop::Task<Result<void>> look_at(Client& client, NamedObjects objects, std::string job,
                                 UnixMillis time) {
  const Result<s3wire::S3Url> url = s3wire::parse_s3_prefix(objects.url);
  if (!url) co_return url.error().in(objects.what);
  const Result<s3client::S3Client*> s3 = client.api.s3();
  if (!s3) co_return s3.error();
  bool found = false;
  std::string token;
  do {
    s3wire::S3Url start = *url;
    std::string next = token;
    const Result<s3client::S3Page> page =
        co_await s3client::list_page((*s3)->state(), std::move(start), std::move(next));
    if (!page) co_return page.error().in(objects.what);
    for (const s3client::S3Object& object : page->objects) {
      if (!objects.many && object.key != url->key) continue;
      found = true;
      // Whether checkpoints are newer says nothing.
      if (object.modified <= time || objects.what == "checkpoints") continue;
      warn_of_newer(objects.what, s3wire::text_of({url->bucket, object.key}), job);
      co_return Result<void>();
    }
    token = objects.many ? page->next : std::string();
  } while (!token.empty());
  if (found) co_return Result<void>();
  co_return fail(Errc::not_found,
                 objects.what + ": " + to_utf8(objects.url) + " of " + job + " no longer exists");
}

loop::Task<Result<int>> rerun_on_server(Client& client, std::string job, NextJob next) {
  const Result<Json> old = co_await describe(client, job, ApiClient::Patience::none);
  if (!old) co_return old.error();
  Json input{{"ResourceArn", member_text(*old, "TrainingJobArn")}};
  std::string target = "SageMaker.ListTags";
  const Result<Json> tags =
      co_await client.api.call(std::move(target), std::move(input), ApiClient::Patience::none);
  if (!tags) co_return tags.error();
  if (next.resume && !has_ended(*old))
    co_return fail(Errc::invalid_input,
                   "--resume: " + job + " is still running and writing its checkpoints");
  Result<Json> request = request_again(*old, tags->value("Tags", Json::array()), next);
  if (!request) co_return request.error();
  for (NamedObjects& objects : objects_of(*request, next.resume)) {
    const Result<void> there = co_await look_at(client, std::move(objects), job, time_of(*old));
    if (!there) co_return there.error();
  }
  target = "SageMaker.CreateTrainingJob";
  const Result<Json> made =
      co_await client.api.call(std::move(target), *std::move(request), ApiClient::Patience::none);
  if (!made) co_return made.error();
  client.out.text() += visible_line(next.name) + "\n";
  co_return exit_success;
}

Result<NextJob> next_job(RerunWords words, const std::string& name) {
  TRY(add_value_files(words.files, words.environment, words.hyperparameters));
  NextJob next{.name = name, .resume = words.resume};
  next.hyperparameters =
      TRY(hyperparameters_from(std::move(words.hyperparameters), {}, "sm rerun"));
  next.environment = TRY(pairs("--env", "NAME=VALUE", words.environment));
  return next;
}

}  // namespace

int rerun_main(const Args& args, const Env& env) {
  const command::Page& page = command::page_of("rerun");
  command::Line line(page);
  RerunWords words;
  line.text("JOB", words.job);
  line.text("--name", words.name);
  line.texts("--hyperparameter", words.hyperparameters);
  line.texts("--env", words.environment);
  line.text("--env-file", words.files.environment);
  line.flag("--resume", words.resume);
  if (const std::optional<command::Stop> stop = line.parse(args)) return tell(*stop);
  if (!words.name.empty())
    if (const Result<void> named = platform::check_job_name(words.name); !named)
      return tell(command::wrong_line(page, named.error().in("--name").text));
  const std::string name =
      !words.name.empty()
          ? words.name
          : platform::default_job_name(stem_of_job(words.job), wall_time(), hex(random_bytes(2)));
  const Result<std::optional<places::FoundJob>> own = own_job(env, words.job);
  if (!own) return end_with("sm rerun", own.error());
  if (*own) return rerun_own(**own, words, name, env);
  const Result<NextJob> next = next_job(words, name);
  if (!next) return tell(command::wrong_line(page, next.error().text));
  return run_client("sm rerun", env,
                    [&](Client& client) { return rerun_on_server(client, words.job, *next); });
}

}  // namespace muster::cli
