#include "ranks/host_run.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "job/last_words.h"
#include "ranks/hostname_library.h"
#include "supervise/spawn.h"

namespace muster::ranks {
namespace {
/// How long the end of a process waits for the end of its output, which a child of it may hold.
constexpr Duration last_words_wait = std::chrono::milliseconds(100);
/// How long killed ranks and launchers may take to be gone.
constexpr Duration call_end_wait = std::chrono::seconds(5);
/// How long a reader of our output that does not keep up is waited for once all writers are gone.
constexpr Duration output_wait = std::chrono::seconds(30);
}  // namespace

/// A process whose output we read: a rank, or a program that we started.
struct HostRun::Process {
  explicit Process(loop::Loop& loop) : output_ended(loop) {}
  std::string name;
  int rank = -1;
  bool user = false;
  bool of_call = false;  ///< A rank, or a program of a call.
  bool late = false;     ///< A rank that came after a stop request, so was not signalled by it.
  std::string command;
  std::function<void(job::Verdict)> on_end;
  supervise::LastWords words;
  int readers = 0;
  loop::Event output_ended;
};

HostRun::HostRun(loop::Loop& loop, supervise::Reaper& reaper, std::string host, const Log& log)
    : loop_(loop), reaper_(reaper), host_(std::move(host)), log_(log), moved_(loop), tasks_(loop) {}

HostRun::~HostRun() {
  socket_.reset();
  if (folder_.empty()) return;
  ::unlink(socket_path_.c_str());
  if (!hostname_library_.empty()) ::unlink(hostname_library_.c_str());
  ::rmdir(folder_.c_str());
}

Result<void> HostRun::listen(Visitors visitors) {
  folder_ = TRY(make_private_folder("/tmp", "muster-"));
  socket_path_ = folder_ + "/socket";
  HostSocket::Callbacks callbacks;
  callbacks.on_rank = [this](const RankHello& hello) -> Result<launch::RankRun> {
    if (finishing_) return fail(Errc::closed, "the job is ending");
    if (!call_open_) return fail(Errc::closed, "no launch is under way on this host");
    return rank_come(hello);
  };
  callbacks.on_started = [this, told = std::move(visitors.on_rank_started)](int number, Fd out,
                                                                            Fd err) {
    const auto found = ranks_.find(number);
    if (found == ranks_.end()) return;
    if (told) told();
    read_output(found->second, std::move(out), std::move(err), rank_sink_);
    if (found->second->late) socket_->signal_rank(number, signal_for_latecomer());
  };
  callbacks.on_rank_end = [this](int number, job::Outcome outcome) -> loop::Task<> {
    const auto found = ranks_.find(number);
    if (found != ranks_.end()) co_await report(found->second, std::move(outcome));
  };
  callbacks.on_agent = std::move(visitors.on_agent);
  callbacks.on_call = std::move(visitors.on_call);
  callbacks.on_call_gone = std::move(visitors.on_call_gone);
  socket_ = TRY(HostSocket::open(loop_, socket_path_, std::move(callbacks)));
  return {};
}

void HostRun::begin_call(launch::RankRun rank, Sink sink,
                         std::function<void(job::Verdict)> on_rank_end) {
  ranks_.clear();
  rank_run_ = std::move(rank);
  rank_run_.command.env["MUSTER_SOCKET"] = socket_path_;
  show_host_name(rank_run_.command.env);
  rank_sink_ = std::move(sink);
  on_rank_end_ = std::move(on_rank_end);
  call_open_ = true;
}

void HostRun::show_host_name(Env& env) {
  char name[256] = {};
  if (::gethostname(name, sizeof(name) - 1) == 0 && name == host_) return;
  if (hostname_library_.empty()) {
    Result<std::string> library = write_hostname_library(folder_, host_);
    if (!library)
      return log_.warning("ranks will see this machine's own name: " + library.error().text);
    hostname_library_ = *std::move(library);
  }
  add_preload(env, hostname_library_);
}

loop::Task<> HostRun::finish_call(Duration grace) {
  call_open_ = false;
  if (!socket_) co_return;
  if (call_running_ > 0 && grace > Duration()) signal_call(SIGTERM);
  const TimePoint kill_at = Clock::now() + grace;
  while (call_running_ > 0 && Clock::now() < kill_at) co_await moved_.wait_until(kill_at);
  if (call_running_ > 0) signal_call(SIGKILL);
  end_launchers();
  const TimePoint gone_by = Clock::now() + call_end_wait;
  while ((call_running_ > 0 || launchers_running()) && Clock::now() < gone_by)
    co_await moved_.wait_until(gone_by);
}

void HostRun::signal_call(int signal) {
  socket_->signal_ranks(signal);
  for (const auto& [pid, process] : programs_)
    if (process->of_call) reaper_.signal_group(pid, signal);
}

bool HostRun::launchers_running() const {
  for (const auto& [pid, process] : programs_)
    if (!process->user) return true;
  return false;
}

void HostRun::end_launchers() {
  for (const auto& [pid, process] : programs_)
    if (!process->user) reaper_.signal_group(pid, SIGKILL);
}

launch::RankRun HostRun::rank_come(const RankHello& hello) {
  auto rank = std::make_shared<Process>(loop_);
  rank->name = "rank " + std::to_string(hello.rank);
  rank->rank = hello.rank;
  rank->user = true;
  rank->of_call = true;
  rank->late = stopping();
  rank->command = shell_quoted(rank_run_.command.argv);
  rank->on_end = on_rank_end_;
  ranks_[hello.rank] = std::move(rank);
  ++users_;
  ++call_running_;
  return rank_run_;
}

Result<void> HostRun::start(Program program) {
  if (finishing_) return fail(Errc::closed, "the job is ending");
  Pipe out = TRY(make_pipe());
  Pipe err = TRY(make_pipe());
  const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null) return fail_errno("/dev/null");
  supervise::SpawnOptions options;
  options.own_group = true;
  options.death_signal = SIGKILL;
  options.ignore_sigpipe = program.ignore_sigpipe;
  const pid_t pid = TRY(supervise::spawn(
      program.command, {null.get(), out.write.get(), err.write.get(), {}}, options));
  auto process = std::make_shared<Process>(loop_);
  process->name = program.name;
  process->rank = program.rank;
  process->user = program.user;
  process->of_call = program.of_call;
  process->command = shell_quoted(program.command.argv);
  process->on_end = std::move(program.on_end);
  programs_.emplace(pid, process);
  if (process->user) ++users_;
  if (process->of_call) ++call_running_;
  read_output(process, std::move(out.read), std::move(err.read), std::move(program.sink));
  reaper_.watch(pid, [this, pid, process](job::Outcome outcome) {
    programs_.erase(pid);
    tasks_.start(report(process, std::move(outcome)));
  });
  if (process->user && stopping()) reaper_.signal_group(pid, signal_for_latecomer());
  return {};
}

void HostRun::read_output(std::shared_ptr<Process> process, Fd out, Fd err, Sink sink) {
  process->readers += 2;
  readers_ += 2;
  tasks_.start(read(process, std::move(out), job::Stream::out, sink));
  tasks_.start(read(process, std::move(err), job::Stream::err, sink));
}

loop::Task<> HostRun::read(std::shared_ptr<Process> process, Fd pipe, job::Stream stream,
                           Sink sink) {
  supervise::OutputReader reader(loop_, std::move(pipe), process->rank, stream);
  co_await reader.run(std::move(sink), process->words);
  --process->readers;
  --readers_;
  process->output_ended.notify();
  moved_.notify();
}

loop::Task<> HostRun::report(std::shared_ptr<Process> process, job::Outcome outcome) {
  const TimePoint deadline = Clock::now() + last_words_wait;
  while (process->readers > 0 && Clock::now() < deadline)
    co_await process->output_ended.wait_until(deadline);
  job::Verdict verdict;
  verdict.outcome = std::move(outcome);
  verdict.host = host_;
  verdict.process = process->name;
  verdict.rank = process->rank;
  verdict.last_lines = job::without_launcher_frames(process->words.text());
  verdict.command = process->command;
  verdict.out_of_memory = oom_.explains(verdict.outcome);
  if (process->user) --users_;
  if (process->of_call) --call_running_;
  if (process->on_end) process->on_end(std::move(verdict));
  moved_.notify();
}

void HostRun::signal_users(int signal) {
  if (socket_) socket_->signal_ranks(signal);
  for (const auto& [pid, process] : programs_)
    if (process->user) reaper_.signal_group(pid, signal);
}

void HostRun::stop(int signal, Duration grace) {
  if (signal != SIGKILL && !stopping()) {
    stop_signal_ = signal;
    signal_users(signal);
  }
  const TimePoint kill_at = Clock::now() + grace;
  if (kill_at >= kill_at_) return;
  kill_at_ = kill_at;
  tasks_.start(kill_at_deadline());
}

/// What a rank, or a user's program, is sent that begins after a stop request: what those before it
/// were.
int HostRun::signal_for_latecomer() const {
  return Clock::now() < kill_at_ ? stop_signal_ : SIGKILL;
}

loop::Task<> HostRun::kill_at_deadline() {
  const TimePoint mine = kill_at_;
  // Whether or not anybody runs now: more may begin.
  while (Clock::now() < mine) co_await moved_.wait_until(mine);
  if (mine == kill_at_) signal_users(SIGKILL);
}

loop::Task<> HostRun::finish(Duration grace) {
  finishing_ = true;
  if (users_ > 0) {
    stop(grace > Duration() ? SIGTERM : SIGKILL, grace);
    const TimePoint gone_by = kill_at_ + last_words_wait;
    while (users_ > 0 && Clock::now() < gone_by) co_await moved_.wait_until(gone_by);
  }
  // Launchers last: mpirun kills its ranks a second after any signal of its own.
  co_await reaper_.kill_descendants(Clock::now() + output_wait);
  const TimePoint deadline = Clock::now() + output_wait;
  while ((readers_ > 0 || !programs_.empty()) && Clock::now() < deadline)
    co_await moved_.wait_until(deadline);
}

}  // namespace muster::ranks
