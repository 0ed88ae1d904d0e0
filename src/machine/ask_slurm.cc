#include "machine/ask_slurm.h"

#include "base/text.h"
#include "supervise/programs.h"

namespace muster::machine {
namespace {

/// A controller that is down is given up after 9 s by Slurm itself.
constexpr std::chrono::seconds answer_limit{30};
/// What Programs keeps of an answer.
constexpr std::size_t answer_bytes_max = 1u << 20;

Env bare(Env env) {
  std::erase_if(env, [](const auto& variable) {
    return variable.first.starts_with("SQUEUE_") || variable.first.starts_with("SINFO_");
  });
  env.insert_or_assign("SLURM_TIME_FORMAT", std::string("standard"));
  env.insert_or_assign("LC_ALL", std::string("C.UTF-8"));
  return env;
}

/// The last line, without the command's own name before it.
std::string last_words(const std::string& said, const std::string& name) {
  const std::string text = trim(said);
  std::string line = to_utf8(text.substr(text.rfind('\n') + 1));
  for (const std::string& start : {name + ": ", std::string("error: ")})
    if (line.starts_with(start)) line = line.substr(start.size());
  return line;
}

}  // namespace

loop::Task<Result<std::string>> ask_slurm(loop::Loop& loop, Env env, Args argv) {
  const std::string name = argv.at(0);
  supervise::Programs programs(loop);
  Command command{.argv = std::move(argv), .env = bare(std::move(env)), .cwd = "/"};
  Result<supervise::Programs::Done> done =
      co_await programs.run(std::move(command), answer_limit, true);
  if (!done && done.error().code == Errc::not_found)
    co_return fail(Errc::unsupported,
                   "there is no " + name + " here: Slurm's commands are on a cluster's nodes");
  if (!done) co_return done.error();
  // An unknown user is such an error, and squeue's exit code is 0 all the same.
  if (!done->outcome.success() || done->err.find(name + ": error: ") != std::string::npos) {
    const std::string said = last_words(done->err, name);
    co_return fail(Errc::system, "Slurm's " + name + " says: " +
                                     (said.empty() ? job::describe(done->outcome) : said));
  }
  if (done->out.size() >= answer_bytes_max)
    co_return fail(Errc::system, "Slurm tells of more than a MiB of jobs: ask for one --user");
  co_return std::move(done->out);
}

}  // namespace muster::machine
