#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/process/private_folders.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/topic.h"
#include "cli/cli.h"
#include "cli/exit_code_of.h"
#include "cli/own_namespace.h"
#include "command/line.h"
#include "net/loop/tasks.h"
#include "platform/places/job_record.h"
#include "platform/places/machine.h"

namespace muster::cli {
namespace {

struct CleanOptions {
  bool all = false;
  bool json = false;
};

/// Jobs of this machine, those on a cluster, and with `all` what is only remembered of them.
loop::Task<Result<Swept>> sweep_all(places::Machine& machine, const Env& env, bool all) {
  Result<Swept> swept = co_await machine.sweep(all);
  if (!swept) co_return swept;
  const Swept cluster = co_await machine.sweep_cluster(all);
  swept->removed.insert(swept->removed.end(), cluster.removed.begin(), cluster.removed.end());
  swept->failed.insert(swept->failed.end(), cluster.failed.begin(), cluster.failed.end());
  if (!all) co_return swept;
  const Result<std::vector<std::string>> gone = places::forget_ended(state_folder(env));
  if (!gone) co_return gone.error();
  for (const std::string& name : *gone) swept->removed.push_back("record " + name);
  co_return swept;
}

loop::Task<> clean(loop::Loop& loop, places::Machine& machine, const Env& env, CleanOptions options,
                   int& code) {
  const Result<Swept> swept = co_await sweep_all(machine, env, options.all);
  if (swept) {
    const std::string lines = options.json ? to_text(to_json(*swept)) + "\n" : lines_of(*swept);
    const bool told = say(STDOUT_FILENO, lines.empty() ? "nothing to remove\n" : lines).has_value();
    code = told && swept->failed.empty() ? exit_success : exit_platform;
  } else {
    static_cast<void>(say_error(STDERR_FILENO, "sm clean", swept.error().text));
    code = exit_platform;
  }
  loop.stop();
}

}  // namespace

int clean_main(const Args& args, const Env& given) {
  command::Line line(command::page_of("clean"));
  CleanOptions options;
  line.flag("--all", options.all);
  line.flag("--json", options.json);
  if (const std::optional<command::Stop> stop = line.parse(args)) return tell(*stop);
  Env env = given;
  if (const std::optional<int> code = enter_own_namespace("sm clean", env, false)) return *code;
  loop::Loop loop;
  places::Machine machine(loop, env, {});
  int code = exit_platform;
  loop::Tasks tasks(loop);
  tasks.start(clean(loop, machine, env, options, code));
  loop.run();
  return code;
}

}  // namespace muster::cli
