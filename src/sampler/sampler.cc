#include "sampler/sampler.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/log.h"
#include "base/text.h"
#include "command/line.h"
#include "loop/tasks.h"
#include "sampler/processes.h"
#include "sampler/py_spy.h"
#include "supervise/programs.h"
#include "supervise/spawn.h"

namespace muster::sampler {
namespace {

constexpr int exit_failed = 1;
constexpr std::chrono::seconds one_max{3};   ///< One process of a host.
constexpr std::chrono::seconds cpu_max{20};  ///< The sampler and each that it starts.
constexpr std::size_t workers_max = 4;
constexpr int looks_again = 8;
constexpr std::size_t lines_of_an_empty_loop = 2;

/// From here on this process may do to the processes of `pid`'s user namespace what their root may,
/// and nothing else. Nothing changes where that namespace is this process's own.
Result<void> enter_user_namespace(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/ns/user";
  const Fd space(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat theirs {
  }, ours{};
  if (!space || ::fstat(space.get(), &theirs) != 0) return fail_errno(path);
  if (::stat("/proc/self/ns/user", &ours) != 0) return fail_errno("/proc/self/ns/user");
  if (theirs.st_ino == ours.st_ino) return {};
  if (::setns(space.get(), CLONE_NEWUSER) != 0) return fail_errno(path);
  ::setgroups(0, nullptr);  // Refused where the namespace has been denied it: then it has none.
  if (::setresgid(0, 0, 0) != 0 || ::setresuid(0, 0, 0) != 0) return fail_errno("the host's root");
  return {};
}

void limit_itself() {
  const rlimit time{static_cast<rlim_t>(cpu_max.count()), static_cast<rlim_t>(cpu_max.count())};
  ::setrlimit(RLIMIT_CPU, &time);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  ::setrlimit(RLIMIT_FSIZE, &none);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/// Finds where all processes of a host stand, some at once.
class Sampling {
 public:
  Sampling(supervise::Programs& programs, std::vector<Found> found, std::string py_spy,
           job::Calls calls)
      : programs_(programs),
        found_(std::move(found)),
        net_bytes_(found_.empty() ? -1 : net_bytes_of(found_.front().pid)),
        py_spy_(std::move(py_spy)),
        calls_(calls) {}

  loop::Task<> work() {
    // More than so many are not told.
    while (next_ < std::min(found_.size(), job::stack_processes_max)) {
      Found& one = found_[next_++];
      if (one.is_python) {
        const Result<void> looked = co_await ask_py_spy(one);
        if (!looked) one.told.trouble = looked.error().text;
      } else {
        one.told.trouble = "not a Python program: its calls are not known";
      }
    }
  }
  job::HostStacks stacks() const {
    job::HostStacks stacks;
    stacks.net_bytes = net_bytes_;
    for (const Found& each : found_) stacks.processes.push_back(each.told);
    return stacks;
  }

 private:
  /// With native calls each process is stopped for a moment; where py-spy cannot tell those, the
  /// others are told.
  loop::Task<Result<void>> ask_py_spy(Found& one) {
    if (py_spy_.empty()) co_return fail(Errc::not_found, "py-spy is not on this machine");
    Result<std::string> told = fail(Errc::unsupported, "");
    if (calls_ == job::Calls::native) told = co_await dump(one.pid, "--native");
    if (!told) told = co_await dump(one.pid, "--nonblocking");
    if (!told) co_return told.error();
    const Result<std::vector<PythonThread>> threads = threads_from(*told);
    if (!threads) co_return threads.error();
    const std::map<std::int64_t, bool> running = threads_running(one.pid);
    for (PythonThread thread : *threads) {
      const auto found = running.find(thread.number);
      if (found != running.end()) thread.stack.runs = found->second;
      one.told.threads.push_back(std::move(thread.stack));
    }
    if (calls_ == job::Calls::moves) one.told.moves = co_await moves(one.pid, one.told.threads);
    co_return Result<void>();
  }

  /// Whether one of the threads goes on: soon after it is in other calls, or on a third line of the
  /// one it was in. An empty loop has two lines. Threads that wait stay where they are.
  loop::Task<bool> moves(pid_t pid, std::vector<job::ThreadStack> threads) {
    const auto runs = [](const job::ThreadStack& each) { return each.runs; };
    if (std::none_of(threads.begin(), threads.end(), runs)) co_return false;
    std::vector<std::set<int>> lines(threads.size());
    for (int i = 0; i < looks_again; ++i) {
      const Result<std::string> told = co_await dump(pid, "--nonblocking");
      if (!told) co_return false;
      const Result<std::vector<PythonThread>> again = threads_from(*told);
      if (!again || again->size() != threads.size()) co_return true;
      for (std::size_t k = 0; k < threads.size(); ++k) {
        if (!job::same_place(threads[k], again->at(k).stack)) co_return true;
        if (threads[k].calls.empty()) continue;
        lines[k].insert({threads[k].calls[0].line, again->at(k).stack.calls[0].line});
        if (lines[k].size() > lines_of_an_empty_loop) co_return true;
      }
    }
    co_return false;
  }

  loop::Task<Result<std::string>> dump(pid_t pid, std::string how) {
    Command command{.argv = {py_spy_, "dump", "--json", how, "--pid", std::to_string(pid)},
                    .env = {},
                    .cwd = "/"};
    const auto done = co_await programs_.run(std::move(command), one_max, true);
    if (!done) co_return done.error();
    if (done->outcome.success()) co_return done->out;
    const std::vector<std::string> lines = split(trim(done->err), '\n');
    co_return fail(Errc::system, "py-spy: " + to_utf8(trim(lines.front())));
  }

  supervise::Programs& programs_;
  std::vector<Found> found_;
  std::int64_t net_bytes_;
  std::string py_spy_;
  job::Calls calls_;
  std::size_t next_ = 0;
};

loop::Task<> sample(loop::Loop& loop, Sampling& sampling) {
  loop::Tasks workers(loop);
  const std::size_t count =
      std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, workers_max);
  for (std::size_t i = 0; i < count; ++i) workers.start(sampling.work());
  co_await workers.join();
  loop.stop();
}

}  // namespace

int sampler_main(const Args& args, const Env& env) {
  const Log log(STDERR_FILENO, "sm sampler", Log::Level::info);
  command::Line line(command::page_of("sampler"));
  int init = 0;
  bool native = false;
  bool moves = false;
  line.number("--init", init, 2, std::numeric_limits<int>::max());
  line.flag("--native", native);
  line.flag("--moves", moves);
  if (const std::optional<command::Stop> stop = line.parse(args)) return tell(*stop, log);
  const std::string py_spy = supervise::find_program("py-spy", env, "/").value_or("");
  const pid_t root = static_cast<pid_t>(init);
  limit_itself();
  // What identifies our own file is asked before: afterwards it may be out of reach.
  if (const Result<void> entered = enter_user_namespace(root); !entered) {
    log.error(entered.error().text);
    return exit_failed;
  }
  loop::Loop loop;
  supervise::Programs programs(loop);
  Sampling sampling(programs, processes_below(root, "/proc/self/exe"), py_spy,
                    native  ? job::Calls::native
                    : moves ? job::Calls::moves
                            : job::Calls::python);
  loop::Tasks tasks(loop);
  tasks.start(sample(loop, sampling));
  loop.run();
  const Result<void> told = write_all(STDOUT_FILENO, job::encode(sampling.stacks()));
  return told ? 0 : exit_failed;
}

}  // namespace muster::sampler
