#include "platform/machine.h"

namespace muster::platform {
namespace {

engine::Local::Options local_options(const Env& env, const Machine::Options& given) {
  engine::Local::Options options;
  options.state = state_folder(env);
  options.program = given.program;
  options.env = env;
  options.lifeline = !given.outlived;
  if (given.first_user_id) options.id_base = *given.first_user_id;
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

Machine::Machine(loop::Loop& loop, const Env& env, const Options& options)
    : env_(env), programs_(loop), local_(programs_, local_options(env, options)) {}

}  // namespace muster::platform
