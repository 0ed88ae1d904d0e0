// The one binary. Under the name `train` it is a container's entry point, else `sm COMMAND`.

#include <nss.h>
#include <openssl/crypto.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <string>

#include "base/command.h"
#include "base/files/own_folder.h"
#include "base/process/private_folders.h"
#include "base/process/rootless.h"
#include "base/topic.h"
#include "cli/cli.h"
#include "command/aliases.h"
#include "command/commands.h"
#include "command/exit_codes.h"
#include "host/env/env_command.h"
#include "host/env/job_key_command.h"
#include "host/operators/operator_commands.h"
#include "host/ranks/agent.h"
#include "host/ranks/init.h"
#include "host/ranks/rank.h"
#include "host/toolkit/toolkit_command.h"
#include "host/toolkit/train.h"
#include "machine/node/node.h"
#include "machine/sampler/sampler.h"
#include "machine/steward/steward.h"
#include "server/front/server_main.h"

extern char** environ;

namespace muster {
namespace {

enum class State { unused, read, made };

struct Entry {
  const char* name;
  int (*run)(const Args& args, const Env& env);
  State state = State::unused;  ///< What it does with the state folder.
};

int key_main(const Args& args, const Env& env) {
  if (!args.empty() && args[0] == "job") return env::print_job_key({args.begin() + 1, args.end()});
  return server::key_main(args, env);
}

// The commands that people call are also in the table of command/page.h, with their flags and
// texts. Operators except mpirun are rows of the launchers' table.
const Entry entries[] = {
    {"fit", cli::fit_main, State::made},
    {"server", server::server_main, State::made},
    {"key", key_main},
    {"submit", cli::submit_main},
    {"jobs", cli::jobs_main, State::read},
    {"describe", cli::describe_main, State::read},
    {"logs", cli::logs_main, State::read},
    {"timeline", cli::timeline_main, State::read},
    {"trace", cli::trace_main, State::read},
    {"stacks", cli::stacks_main, State::read},
    {"top", cli::top_main, State::read},
    {"wait", cli::wait_main, State::read},
    {"rerun", cli::rerun_main, State::made},
    {"stop", cli::stop_main, State::read},
    {"download", cli::download_main},
    {"ui", cli::ui_main},
    {"delete", cli::delete_main, State::read},
    {"queue", cli::queue_main, State::read},
    {"nodes", cli::nodes_main, State::read},
    {"train", toolkit::train_main},
    {"mpirun", operators::mpirun_main},
    {"preflight", operators::preflight_main},
    {"env", env::env_main},
    {"toolkit", toolkit::toolkit_main},
    {"doctor", cli::doctor_main, State::made},
    {"clean", cli::clean_main, State::read},
    {"explain", command::explain_main},
    {"image", cli::image_main, State::made},
    {"completion", command::completion_main},
    {"man", command::man_main},
    {"help", command::help_main},
    {"version", command::version_main},
    // Only muster itself calls these.
    {"sampler", sampler::sampler_main},
    {"rank", ranks::rank_main},
    {"init", ranks::init_main},
    {"steward", steward::steward_main},
    {"node", node::node_main},
};

/// A static glibc must not load an image's NSS modules, nor OpenSSL an image's configuration.
void keep_to_ourselves() {
  __nss_configure_lookup("hosts", "files dns");
  __nss_configure_lookup("passwd", "files");
  __nss_configure_lookup("group", "files");
  OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

/// The environment is read here once, for all of muster. A key must not stay where /proc shows it
/// to processes of the same user.
Env environment() {
  Env env;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    char* equals = std::strchr(*entry, '=');
    if (equals == nullptr) continue;
    const std::string name(*entry, static_cast<std::size_t>(equals - *entry));
    env.emplace(name, equals + 1);
    if (name == "MUSTER_JOB_KEY") OPENSSL_cleanse(equals + 1, std::strlen(equals + 1));
  }
  return env;
}

/// One line, and no command, where another user could lead muster elsewhere by its own folder.
int run_entry(const Entry& entry, const Args& args, const Env& env) {
  // A user namespace hides who owns root's folders; the process that entered it has checked them.
  if (entry.state == State::unused || rootless_ids(env) > 0) return entry.run(args, env);
  const std::string state = std::filesystem::absolute(state_folder(env));
  if (entry.state == State::read && ::access(state.c_str(), F_OK) != 0) return entry.run(args, env);
  if (const Result<void> own = check_own_folder(state); !own) {
    const Error error = own.error().in("state folder " + state);
    static_cast<void>(say_error(STDERR_FILENO, std::string("sm ") + entry.name, error.text));
    return command::exit_platform;
  }
  return entry.run(args, env);
}

int run(const std::string& called_as, const Args& args) {
  const std::string name = called_as.substr(called_as.rfind('/') + 1);
  const Env env = environment();
  // mpirun calls its agent by one word, with the host's name as the first argument.
  if (env.contains("MUSTER_AGENT") && !args.empty() && args[0] != "rank")
    return ranks::agent_main(args, env);
  // `train rank`, where the image has no `sm` beside it, is `sm rank`.
  const bool internal = !args.empty() && (args[0] == "rank" || args[0] == "init");
  if (args == (name == "train" ? Args{"--version"} : Args{"train", "--version"}))
    return command::version_main({}, env);
  if (name == "train" && !internal) return toolkit::train_main(args, env);
  std::string command = args.empty() ? "" : args[0];
  if (command == "--help" || command == "-h") command = "help";
  if (command == "--version") command = "version";
  if (!args.empty()) command = command::meant_command(command, {args.begin() + 1, args.end()});
  for (const Entry& entry : entries)
    if (command == entry.name) return run_entry(entry, {args.begin() + 1, args.end()}, env);
  if (operators::is_operator(command))
    return operators::operator_main(command, {args.begin() + 1, args.end()}, env);
  return command::no_command_main(args);
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  muster::keep_to_ourselves();
  return muster::run(argc > 0 ? argv[0] : "sm",
                     muster::Args(argv + (argc > 0 ? 1 : 0), argv + argc));
}
