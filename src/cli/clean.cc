#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/private_folders.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/topic.h"
#include "cli/cli.h"
#include "cli/exit_codes.h"
#include "cli/own_namespace.h"
#include "command/line.h"
#include "loop/tasks.h"
#include "machine/job_record.h"
#include "machine/machine.h"

namespace muster::cli {
namespace {

struct CleanOptions {
  bool all = false;
  bool json = false;
};

/// What `sweep` told, and the records that were removed besides.
std::string with_records(std::string swept, const std::vector<std::string>& records, bool json) {
  Json told = json ? parse_json(swept).value_or(Json()) : Json();
  for (const std::string& name : records) {
    if (json) told["removed"].push_back("record " + name);
    if (!json) swept += "removed record " + name + "\n";
  }
  return json && told.is_object() ? to_text(told) + "\n" : swept;
}

loop::Task<> clean(loop::Loop& loop, machine::Machine& machine, const Env& env,
                   CleanOptions options, int& code) {
  Result<std::string> swept = co_await machine.sweep(options.all, options.json);
  if (swept && options.all) {
    const Result<std::vector<std::string>> gone = machine::forget_ended(state_folder(env));
    swept = gone ? Result<std::string>(with_records(*swept, *gone, options.json)) : gone.error();
  }
  if (swept) {
    const std::string text = trim(*swept).empty() ? "nothing to remove\n" : *swept;
    code = say(STDOUT_FILENO, text) ? exit_success : exit_platform;
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
  machine::Machine machine(loop, env, {});
  int code = exit_platform;
  loop::Tasks tasks(loop);
  tasks.start(clean(loop, machine, env, options, code));
  loop.run();
  return code;
}

}  // namespace muster::cli
