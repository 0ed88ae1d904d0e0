#include <unistd.h>

#include "base/terminal.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/exit_codes.h"
#include "command/line.h"
#include "loop/tasks.h"
#include "machine/machine.h"

namespace muster::cli {
namespace {

struct CleanOptions {
  bool all = false;
  bool json = false;
};

loop::Task<> clean(loop::Loop& loop, machine::Machine& machine, CleanOptions options, int& code) {
  const Result<std::string> swept = co_await machine.sweep(options.all, options.json);
  if (swept) {
    const std::string text = trim(*swept).empty() ? "nothing to remove\n" : *swept;
    code = say(STDOUT_FILENO, text) ? exit_success : exit_platform;
  } else {
    static_cast<void>(say_line(STDERR_FILENO, "sm clean", swept.error().text));
    code = exit_platform;
  }
  loop.stop();
}

}  // namespace

int clean_main(const Args& args, const Env& env) {
  command::Line line(command::page_of("clean"));
  CleanOptions options;
  line.flag("--all", options.all);
  line.flag("--json", options.json);
  if (const std::optional<command::Stop> stop = line.parse(args)) return tell(*stop);
  if (::geteuid() != 0) {
    static_cast<void>(say_line(STDERR_FILENO, "sm clean", "needs root: run it with sudo"));
    return exit_platform;
  }
  loop::Loop loop;
  machine::Machine machine(loop, env, {});
  int code = exit_platform;
  loop::Tasks tasks(loop);
  tasks.start(clean(loop, machine, options, code));
  loop.run();
  return code;
}

}  // namespace muster::cli
