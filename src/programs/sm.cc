// The one binary. Under the name `train` it is a container's entry point, else `sm COMMAND`.

#include <nss.h>
#include <openssl/crypto.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>

#include "base/command.h"
#include "base/terminal.h"
#include "cli/cli.h"
#include "env/env_command.h"
#include "operators/operators.h"
#include "ranks/agent.h"
#include "ranks/init.h"
#include "ranks/rank.h"
#include "server/server_main.h"
#include "steward/steward.h"
#include "toolkit/toolkit_command.h"
#include "toolkit/train.h"

extern char** environ;

namespace muster {
namespace {

struct Entry {
  const char* name;
  int (*run)(const Args& args, const Env& env);
  const char* help;  ///< Null for what only muster itself calls.
};

const Entry entries[] = {
    {"fit", cli::fit_main, "run a training job on this machine"},
    {"server", server::server_main, "serve training jobs and S3 to AWS's clients"},
    {"key", server::key_main, "make, list and delete a server's access keys"},
    {"submit", cli::submit_main, "give a server a training job"},
    {"jobs", cli::jobs_main, "list a server's training jobs"},
    {"describe", cli::describe_main, "tell all about a job of a server"},
    {"logs", cli::logs_main, "print or follow the log of a job of a server"},
    {"stop", cli::stop_main, "stop a job of a server"},
    {"train", toolkit::train_main, "the entry point of a training container"},
    {"mpirun", operators::mpirun_main, "on every host alike: one MPI program over all of them"},
    {"torchrun", operators::torchrun_main, "on every host alike: one PyTorch program"},
    {"tf", operators::tf_main, "on every host alike: TensorFlow workers and parameter servers"},
    {"mxnet", operators::mxnet_main, "on every host alike: MXNet workers and servers"},
    {"run", operators::run_on_hosts_main, "on every host alike: a command once on each"},
    {"env", env::env_main, "print the training environment of the job in /opt/ml"},
    {"doctor", cli::doctor_main, "say what this machine lacks and how to install it"},
    {"clean", cli::clean_main, "remove what killed jobs left behind"},
    {"completion", cli::completion_main, "print the completion script of a shell"},
    {"toolkit", toolkit::toolkit_main, nullptr},
    {"rank", ranks::rank_main, nullptr},
    {"init", ranks::init_main, nullptr},
    {"steward", steward::steward_main, nullptr},
};

constexpr int exit_usage = 2;

void print_help(std::FILE* out) {
  std::fputs(
      "muster gathers machines into one training job, the SageMaker way.\n\n"
      "usage: sm COMMAND [ARGS]\n\ncommands:\n",
      out);
  for (const Entry& entry : entries)
    if (entry.help != nullptr) std::fprintf(out, "  %-12s %s\n", entry.name, entry.help);
  std::fputs(
      "\nexamples:\n"
      "  sm fit train.py --source-dir code --hosts 3 --processes-per-host 2 --output out\n"
      "  sm fit --help\n"
      "  sm doctor\n",
      out);
}

/// A static glibc must not load an image's NSS modules, nor OpenSSL an image's configuration.
void keep_to_ourselves() {
  __nss_configure_lookup("hosts", "files dns");
  __nss_configure_lookup("passwd", "files");
  __nss_configure_lookup("group", "files");
  OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

/// What is read here once is all that muster uses; a key does not stay where /proc shows it to
/// whoever runs as the same user.
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

int run(const std::string& called_as, Args args) {
  const std::string name = called_as.substr(called_as.rfind('/') + 1);
  const Env env = environment();
  // mpirun calls its agent by one word, with the host's name as the first argument.
  if (env.contains("MUSTER_AGENT") && !args.empty() && args[0] != "rank")
    return ranks::agent_main(args, env);
  // `train rank`, where the image has no `sm` beside it, is `sm rank`.
  const bool internal = !args.empty() && (args[0] == "rank" || args[0] == "init");
  if (name == "train" && !internal) return toolkit::train_main(args, env);
  if (args.empty() || args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
    print_help(args.empty() ? stderr : stdout);
    return args.empty() ? exit_usage : 0;
  }
  if (args[0] == "--version" || args[0] == "version") {
    std::puts("muster " MUSTER_VERSION);
    return 0;
  }
  const std::string command = args[0];
  args.erase(args.begin());
  for (const Entry& entry : entries)
    if (command == entry.name) return entry.run(args, env);
  static_cast<void>(
      say_line(STDERR_FILENO, "sm", "no command \"" + command + "\"; sm --help lists them"));
  return exit_usage;
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  muster::keep_to_ourselves();
  return muster::run(argc > 0 ? argv[0] : "sm",
                     muster::Args(argv + (argc > 0 ? 1 : 0), argv + argc));
}
