#include "platform/machine.h"

namespace muster::platform {
namespace {

engine::Local::Options options(const Env& env, const std::string& program, bool outlived) {
  engine::Local::Options options;
  options.state = state_folder(env);
  options.program = program;
  options.env = env;
  options.lifeline = !outlived;
  return options;
}

}  // namespace

std::string state_folder(const Env& env) {
  const Env::const_iterator found = env.find("MUSTER_STATE");
  if (found == env.end() || found->second.empty()) return "/var/lib/muster";
  std::string path = found->second;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

Machine::Machine(loop::Loop& loop, const Env& env, const std::string& program, bool outlived)
    : env_(env), programs_(loop), local_(programs_, options(env, program, outlived)) {}

}  // namespace muster::platform
