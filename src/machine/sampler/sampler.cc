#include "machine/sampler/sampler.h"

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
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/files/given_path.h"
#include "base/log.h"
#include "base/process/rootless.h"
#include "base/text.h"
#include "command/line.h"
#include "machine/sampler/flights.h"
#include "machine/sampler/looks.h"
#include "machine/sampler/merged.h"
#include "machine/sampler/native.h"
#include "machine/sampler/processes.h"
#include "machine/sampler/py_spy.h"
#include "machine/sampler/py_spy_program.h"
#include "machine/sampler/ras.h"
#include "net/loop/tasks.h"
#include "net/loop/wait.h"
#include "os/supervise/programs.h"
#include "os/supervise/spawn.h"

namespace muster::sampler {
namespace {

constexpr int exit_failed = 1;
constexpr std::chrono::seconds one_max{3};   ///< One process of a host.
constexpr std::chrono::seconds cpu_max{20};  ///< The sampler and each that it starts.
constexpr std::size_t workers_max = 4;
constexpr std::chrono::seconds ras_max{2};
constexpr std::chrono::milliseconds native_pause{20};  ///< As long as a look of py-spy's takes.
constexpr std::size_t lines_of_an_empty_loop = 2;

/// From here on this process may do to the processes of `pid`'s user namespace what their root may,
/// and nothing else. False: nothing changed, because that namespace is this process's own.
Result<bool> enter_user_namespace(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/ns/user";
  const Fd space(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat theirs {
  }, ours{};
  if (!space || ::fstat(space.get(), &theirs) != 0) return fail_errno("cannot open " + path);
  if (::stat("/proc/self/ns/user", &ours) != 0) return fail_errno("cannot open /proc/self/ns/user");
  if (theirs.st_ino == ours.st_ino) return false;
  if (::setns(space.get(), CLONE_NEWUSER) != 0) return fail_errno("cannot open " + path);
  ::setgroups(0, nullptr);  // Refused where the namespace has been denied it: then it has none.
  if (::setresgid(0, 0, 0) != 0 || ::setresuid(0, 0, 0) != 0)
    return fail_errno("cannot become root in the host's user namespace");
  return true;
}

void limit_itself() {
  const rlimit time{static_cast<rlim_t>(cpu_max.count()), static_cast<rlim_t>(cpu_max.count())};
  ::setrlimit(RLIMIT_CPU, &time);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  ::setrlimit(RLIMIT_FSIZE, &none);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  // Other processes must not keep the sampler from running while a thread is stopped for it: it may
  // set the priority that unwind::stop_and_look() needs. Refused to ordinary users.
  const rlimit priority{40, 40};
  ::setrlimit(RLIMIT_NICE, &priority);
}

/// Call it when no thread is stopped any more: processes started from here on keep their priority.
void give_up_priority() {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_NICE, &none);
}

/// Finds where all processes of a host stand, some at once.
class Sampling {
 public:
  Sampling(supervise::Programs& programs, std::vector<Found> found, Result<PySpy> py_spy,
           job::Calls calls, std::optional<RasWay> ras)
      : programs_(programs),
        found_(std::move(found)),
        net_bytes_(found_.empty() ? -1 : net_bytes_of(found_.front().pid)),
        py_spy_(std::move(py_spy)),
        calls_(calls),
        ras_(std::move(ras)) {}

  /// Native calls first, before any other work: this waits for its own children.
  loop::Task<> look_natively() {
    std::vector<Found*> wanted;
    std::vector<pid_t> pids;
    for (std::size_t i = 0; i < count(); ++i) {
      if (found_[i].is_python && calls_ != job::Calls::native) continue;
      wanted.push_back(&found_[i]);
      pids.push_back(found_[i].pid);
    }
    NativeLook look(std::move(pids));
    look.first();
    loop::Timer timer(programs_.loop());
    while (calls_ == job::Calls::moves && !look.is_settled()) {
      co_await timer.after(native_pause);
      look.again();
    }
    std::vector<NativeProcess> native = look.found();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      Found& one = *wanted[i];
      if (one.is_python) {
        below_python_[one.pid] = std::move(native[i]);
        continue;
      }
      one.told.moves = native[i].moves;
      one.told.trouble = std::move(native[i].trouble);
      if (!one.told.trouble.empty()) continue;
      for (NativeThread& thread : native[i].threads)
        one.told.threads.push_back(std::move(thread.stack));
    }
  }
  loop::Task<> work() {
    while (next_ < count()) {
      Found& one = found_[next_++];
      if (!one.is_python) continue;
      const Result<void> looked = co_await ask_py_spy(one);
      if (!looked) one.told.trouble = looked.error().text;
      if (calls_ == job::Calls::native) add_native(one);
    }
  }
  loop::Task<> ask_nccl() {
    if (!ras_) co_return;
    const std::string answer =
        co_await ask_ras(programs_.loop(), *std::exchange(ras_, std::nullopt), ras_max);
    nccl_ = job::nccl_report_from(answer);
  }
  /// A look for progress does not need them.
  void look_at_flights(pid_t init) {
    if (calls_ != job::Calls::moves) flights_ = read_flights(init);
  }
  job::HostStacks stacks() const {
    job::HostStacks stacks;
    stacks.nccl = nccl_;
    stacks.flights = flights_;
    stacks.net_bytes = net_bytes_;
    for (const Found& each : found_) stacks.processes.push_back(each.told);
    if (without_native_ > 0)
      stacks.trouble = "native calls could not be read in " + std::to_string(without_native_) +
                       " of its processes (" + why_not_native_ + ")";
    return stacks;
  }

 private:
  /// Further ones are not reported.
  std::size_t count() const { return std::min(found_.size(), job::stack_processes_max); }

  loop::Task<Result<void>> ask_py_spy(Found& one) {
    if (!py_spy_) co_return py_spy_.error();
    const Result<std::string> told = co_await dump(one.pid);
    if (!told) co_return told.error();
    const Result<std::vector<PythonThread>> threads = threads_from(*told);
    if (!threads) co_return threads.error();
    const std::vector<FoundThread> running = threads_of(one.pid);
    for (PythonThread thread : *threads) {
      const auto found = std::find_if(running.begin(), running.end(), [&](const auto& each) {
        return each.number == thread.number;
      });
      if (found != running.end()) thread.stack.runs = found->runs;
      numbers_[one.pid].push_back(thread.number);
      one.told.threads.push_back(std::move(thread.stack));
    }
    if (calls_ == job::Calls::moves) one.told.moves = co_await moves(one.pid, one.told.threads);
    co_return Result<void>();
  }

  /// Puts native calls below Python's; threads that Python does not know have native ones alone.
  void add_native(Found& one) {
    const NativeProcess& native = below_python_[one.pid];
    const std::vector<std::int64_t>& numbers = numbers_[one.pid];
    bool is_merged = false;
    for (const NativeThread& each : native.threads) {
      const auto at = std::find(numbers.begin(), numbers.end(), each.number) - numbers.begin();
      if (at == static_cast<std::ptrdiff_t>(numbers.size())) {
        if (!each.stack.calls.empty()) one.told.threads.push_back(each.stack);
        continue;
      }
      job::ThreadStack& stack = one.told.threads[static_cast<std::size_t>(at)];
      stack.calls = merged_calls(stack.calls, each.stack.calls);
      is_merged = is_merged || has_python_loop(each.stack.calls);
    }
    if (is_merged || numbers.empty()) return;
    if (without_native_++ == 0)
      why_not_native_ = native.trouble.empty() ? "Python calls are missing" : native.trouble;
  }

  /// Whether one of the threads makes progress: soon afterwards it is in other calls, or on a third
  /// line of the same function. An empty loop has two lines. Waiting threads stay where they are.
  /// So does a process that others keep from running: it is not known whether it stays there.
  loop::Task<bool> moves(pid_t pid, std::vector<job::ThreadStack> threads) {
    const auto runs = [](const job::ThreadStack& each) { return each.runs; };
    if (std::none_of(threads.begin(), threads.end(), runs)) co_return false;
    std::vector<std::set<int>> lines(threads.size());
    std::chrono::nanoseconds ran = processor_time(pid);
    int looks = 0;
    for (int i = 0; i < looks_again_most && looks < looks_again; ++i) {
      const Result<std::string> told = co_await dump(pid);
      if (!told) co_return false;
      const Result<std::vector<PythonThread>> again = threads_from(*told);
      if (!again || again->size() != threads.size()) co_return true;
      for (std::size_t k = 0; k < threads.size(); ++k) {
        if (!job::same_place(threads[k], again->at(k).stack)) co_return true;
        if (threads[k].calls.empty()) continue;
        lines[k].insert({threads[k].calls[0].line, again->at(k).stack.calls[0].line});
        if (lines[k].size() > lines_of_an_empty_loop) co_return true;
      }
      if (const std::chrono::nanoseconds now = processor_time(pid); now - ran >= ran_between) {
        ran = now;
        ++looks;
      }
    }
    co_return looks < looks_again;
  }

  loop::Task<Result<std::string>> dump(pid_t pid) {
    const std::string program = held_path(py_spy_->held);
    Command command{
        .argv = {program, "dump", "--json", "--nonblocking", "--pid", std::to_string(pid)},
        .env = {},
        .cwd = "/"};
    std::vector<int> kept{py_spy_->held.get()};
    const auto done = co_await programs_.run(std::move(command), one_max, true, std::move(kept));
    if (!done) {
      Error error = done.error();
      if (error.text.starts_with(program)) error.text.replace(0, program.size(), py_spy_->path);
      co_return error;
    }
    if (done->outcome.success()) co_return done->out;
    const std::vector<std::string> lines = split(trim(done->err), '\n');
    co_return fail(Errc::system, "py-spy: " + to_utf8(trim(lines.front())));
  }

  supervise::Programs& programs_;
  std::vector<Found> found_;
  std::int64_t net_bytes_;
  Result<PySpy> py_spy_;
  job::Calls calls_;
  std::optional<RasWay> ras_;
  job::NcclReport nccl_;
  std::vector<job::Flight> flights_;
  std::size_t next_ = 0;
  std::map<pid_t, NativeProcess> below_python_;         ///< Native calls of Python processes.
  std::map<pid_t, std::vector<std::int64_t>> numbers_;  ///< Threads' numbers, as reported.
  int without_native_ = 0;      ///< Processes of which native calls were asked in vain.
  std::string why_not_native_;  ///< The first of them.
};

loop::Task<> sample(loop::Loop& loop, Sampling& sampling, pid_t init) {
  co_await sampling.look_natively();
  give_up_priority();
  loop::Tasks workers(loop);
  const std::size_t count =
      std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, workers_max);
  for (std::size_t i = 0; i < count; ++i) workers.start(sampling.work());
  workers.start(sampling.ask_nccl());
  co_await workers.join();
  sampling.look_at_flights(init);
  loop.stop();
}

}  // namespace

int sampler_main(const Args& args, const Env& env) {
  const Log log(STDERR_FILENO, "sm sampler", Log::Level::info);
  command::Line line(command::page_of("sampler"));
  int init = 0;
  bool native = false;
  bool moves = false;
  Args py_spies;
  line.number("--init", init, 2, std::numeric_limits<int>::max());
  line.flag("--native", native);
  line.flag("--moves", moves);
  line.texts("--py-spy", py_spies);
  if (const std::optional<command::Stop> stop = line.parse(args)) return tell(*stop, log);
  // Afterwards these files, and the one that identifies ourselves, may be out of reach.
  std::vector<PySpy> held = hold_py_spies(py_spies);
  const pid_t root = static_cast<pid_t>(init);
  std::optional<RasWay> ras = ras_way(root);
  limit_itself();
  const Result<bool> entered = enter_user_namespace(root);
  if (!entered) {
    log.error(entered.error().text);
    return exit_failed;
  }
  const bool as_root = !*entered && ::geteuid() == 0 && rootless_ids(env) == 0;
  loop::Loop loop;
  supervise::Programs programs(loop);
  Sampling sampling(programs, processes_below(root, "/proc/self/exe"),
                    choose_py_spy(std::move(held), as_root),
                    native  ? job::Calls::native
                    : moves ? job::Calls::moves
                            : job::Calls::python,
                    std::move(ras));
  loop::Tasks tasks(loop);
  tasks.start(sample(loop, sampling, root));
  loop.run();
  const Result<void> told = write_all(STDOUT_FILENO, job::encode(sampling.stacks()));
  return told ? 0 : exit_failed;
}

}  // namespace muster::sampler
