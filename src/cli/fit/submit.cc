// `sm submit`

#include <memory>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/fields.h"
#include "base/files/given_path.h"
#include "base/process/local_time.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/cli.h"
#include "cli/exit_code_of.h"
#include "cli/fit/given_line.h"
#include "cli/fit/places.h"
#include "cli/fit/submit_request.h"
#include "cli/fit/submit_upload.h"
#include "cli/server_client.h"
#include "cli/view/job_log.h"
#include "cli/view/job_view.h"
#include "command/line.h"
#include "platform/job_name.h"

namespace muster::cli {
namespace {

/// Everything that is known before a server is asked.
struct Submission {
  SubmitOptions options;
  SubmitFiles files;
  Json request;  ///< What --json-file holds; else null.
};

Result<Submission> prepare(SubmitWords words) {
  Submission submission;
  if (words.json_file.empty())
    TRY(add_value_files(words.files, words.environment, words.hyperparameters, words.texts));
  submission.options = TRY(submit_options(words));
  SubmitOptions& options = submission.options;
  const std::string cwd = TRY(current_folder());
  if (!options.json_file.empty()) {
    const Result<std::string> text = read_given(absolute(options.json_file, cwd));
    if (!text) return fail(Errc::invalid_input, text.error().text).in("--json-file");
    Result<Json> request = request_from(*text, options.name);
    if (!request) return request.error().in(options.json_file);
    submission.request = *std::move(request);
    options.name = member_text(submission.request, "TrainingJobName");
    return submission;
  }
  submission.files = TRY(find_files(options, cwd));
  if (!options.name.empty()) return submission;
  const UnixMillis now = wall_time();
  const std::string from = options.script.empty() ? options.image : submission.files.script;
  options.name = platform::default_job_name(from, now, hex(random_bytes(2)));
  return submission;
}

/// Whether the server would take the job. One that cannot say is asked when all is uploaded.
loop::Task<Result<void>> ask_first(Client& client, Json request) {
  std::string target = "SageMaker.CheckTrainingJob";
  const Result<Json> taken =
      co_await client.api.call(std::move(target), std::move(request), ApiClient::Patience::none);
  if (taken || taken.error().text.starts_with("UnknownOperationException"))
    co_return Result<void>();
  co_return taken.error();
}

/// The request, with what it needs uploaded.
loop::Task<Result<Json>> request_for(Client& client, Submission submission) {
  if (!submission.request.is_null()) co_return submission.request;
  const Result<std::string> account = co_await client.api.account();
  if (!account) co_return account.error();
  bool needs_bucket = submission.options.output.empty() || !submission.files.folder.empty() ||
                      !submission.files.checkpoints.empty();
  for (const auto& [name, place] : submission.files.inputs) needs_bucket |= !is_s3(place);
  std::string bucket;
  if (needs_bucket) {
    Result<std::string> made = co_await client.api.default_bucket(*account);
    if (!made) co_return made.error();
    bucket = *std::move(made);
  }
  SubmitPlaces places = places_for(submission.options, submission.files, bucket);
  Json request = create_request(submission.options, places, *account);
  Json asked = request;
  const Result<void> taken = co_await ask_first(client, std::move(asked));
  if (!taken) co_return taken.error();
  const Result<void> stored =
      co_await upload(client, std::move(submission.files), std::move(places));
  if (!stored) co_return stored.error();
  co_return request;
}

loop::Task<Result<int>> submit(Client& client, Submission submission) {
  const std::string name = submission.options.name;
  const bool wait = submission.options.wait;
  const bool json = submission.options.json;
  const bool raw = submission.options.raw;
  const SubmitOptions& given = submission.options;
  const std::string note = apart_note(given.script, given.launch, given.hosts,
                                      given.hyperparameters.all, given.environment);
  if (!note.empty()) client.complain(note);
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
      name + " continues to run; sm logs -f " + name + " follows it, sm stop " + name + " stops it";
  if (!json) client.complain("job " + name);
  const JobLogOptions how{.follow = true, .json = json, .raw = raw};
  const Result<int> code = co_await show_log(client, name, how);
  co_return code;
}

void bind(command::Line& line, SubmitWords& words) {
  line.text("SCRIPT", words.script);
  line.text("--name", words.name);
  line.text("--source-dir", words.source_folder);
  line.text("--image", words.image);
  line.text("--instance-type", words.instance_type);
  line.text("--volume-size", words.volume_size);
  line.text("--hosts", words.hosts);
  bind(line, words.launch);
  line.texts("--input", words.inputs);
  line.texts("--hyperparameter", words.hyperparameters);
  line.texts("--text-hyperparameter", words.texts);
  line.texts("--metric", words.metrics);
  line.texts("--env", words.environment);
  line.text("--hyperparameters", words.files.hyperparameters);
  line.text("--env-file", words.files.environment);
  line.text("--output", words.output);
  line.text("--checkpoints", words.checkpoints);
  line.texts("--tag", words.tags);
  line.text("--timeout", words.timeout);
  line.text("--priority", words.priority);
  line.text("--network", words.network);
  line.flag("--encrypt", words.encrypted);
  line.text("--json-file", words.json_file);
  line.flag("--wait", words.wait);
  line.flag("--raw", words.raw);
  line.flag("--utc", words.utc);
  line.flag("--json", words.json);
  line.flag("--print-file", words.print_file);
}

}  // namespace

int submit_main(const Args& typed, const Env& env) {
  const command::Page& page = command::page_of("submit");
  command::Line line(page);
  SubmitWords words;
  bind(line, words);
  if (const std::string now = new_submit_line(typed, page); !now.empty())
    return tell(command::wrong_line(page, "--script has been removed; use: " + now));
  const Result<Args> args = with_job_file(page, typed);
  if (!args) return tell(command::wrong_line(page, args.error().text));
  if (const std::optional<command::Stop> stop = line.parse(*args)) return tell(*stop);
  if (words.utc) use_utc();
  const Result<Submission> submission = prepare(words);
  if (!submission) return tell(command::wrong_line(page, submission.error().text));
  if (words.print_file) return print_job_file(page, *args);
  return run_client("sm submit", env, [&](Client& client) { return submit(client, *submission); });
}

}  // namespace muster::cli
