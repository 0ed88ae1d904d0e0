#include "host/ranks/host_run.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/process/placement.h"
#include "base/text.h"
#include "host/ranks/hostname_library.h"
#include "job/outcome/program_end.h"
#include "job/outcome/shown_words.h"
#include "os/supervise/spawn.h"
#include "os/supervise/stop.h"

namespace muster::ranks {
namespace {
/// How long the end of a process waits for the end of its output, which a child of it may hold.
constexpr Duration last_words_wait = std::chrono::milliseconds(100);
/// How long to keep from its launcher the end of a rank that only reports another's end: the
/// launcher would end all ranks.
constexpr Duration hold_back_max = std::chrono::seconds(5);
/// How long killed ranks and launchers may take to be gone.
constexpr Duration call_end_wait = std::chrono::seconds(5);
/// When a stop first reports the remaining processes, and how often from then on.
constexpr Duration first_word_after = std::chrono::seconds(2);
constexpr Duration next_word_after = std::chrono::seconds(10);
/// How long a reader of our output that does not keep up is waited for once all writers are gone.
constexpr Duration output_wait = std::chrono::seconds(30);
}  // namespace

/// A process whose output we read: a rank, or a program that we started.
struct HostRun::Process {
  explicit Process(loop::Loop& loop) : output_ended(loop) {}
  std::string name;
  int rank = -1;
  bool user = false;
  bool of_call = false;   ///< A rank, or a program of a call.
  bool blames = false;    ///< The end may be the consequence of another one's.
  bool restarts = false;  ///< If it fails its launcher starts it again.
  std::string command;
  std::function<void(job::Verdict)> on_end;
  supervise::LastWords words;
  int readers = 0;
  loop::Event output_ended;
  std::optional<supervise::Stop> stop;  ///< From a stop until what it waits for has ended.
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
  callbacks.keeps_waiting = [this] { return keeps_waiting(); };
  callbacks.on_rank = [this](const RankHello& hello) -> Result<RankAnswer> {
    if (finishing_ || stopped_) return fail(Errc::closed, "the job is ending");
    if (!call_open_) return fail(Errc::closed, "no launch is in progress on this host");
    return rank_come(hello);
  };
  on_rank_started_ = std::move(visitors.on_rank_started);
  callbacks.on_started = [this](int number, std::int64_t pid, Fd out, Fd err) {
    const auto found = ranks_.find(number);
    if (found == ranks_.end()) return;
    if (on_rank_started_) on_rank_started_(number, pid);
    read_output(found->second, std::move(out), std::move(err), rank_sink_);
  };
  callbacks.on_rank_end = [this](int number, RankEnd end) -> loop::Task<bool> {
    const auto found = ranks_.find(number);
    if (found == ranks_.end()) co_return keeps_ranks();
    const std::shared_ptr<Process> rank = found->second;
    co_await report(rank, std::move(end));
    if (rank->blames) co_await hold_back();
    co_return keeps_ranks();
  };
  callbacks.on_agent = std::move(visitors.on_agent);
  callbacks.on_call = std::move(visitors.on_call);
  callbacks.on_call_gone = std::move(visitors.on_call_gone);
  socket_ = TRY(HostSocket::open(loop_, socket_path_, std::move(callbacks)));
  return {};
}

/// A launcher that is about to be ended would report a refusal as one more failure and try again.
bool HostRun::keeps_waiting() const {
  return keeps_ranks() || draining_ || (finishing_ && !programs_.empty());
}

/// Until the call has its verdict: its launcher kills the other ranks as soon as one has failed,
/// also the one whose end is the cause, and which is about to tell it.
loop::Task<> HostRun::hold_back() {
  const TimePoint deadline = Clock::now() + hold_back_max;
  while (call_open_ && !finishing_ && !ending() && Clock::now() < deadline)
    co_await moved_.wait_until(deadline);
}

void HostRun::begin_call(launch::RankRun rank, Sink sink,
                         std::function<void(job::Verdict)> on_rank_end,
                         std::function<void()> on_stopped,
                         std::function<void(job::Verdict)> on_restart) {
  ranks_.clear();
  rank_run_ = std::move(rank);
  rank_run_.command.env["MUSTER_SOCKET"] = socket_path_;
  show_host_name(rank_run_.command.env);
  rank_sink_ = std::move(sink);
  on_rank_end_ = std::move(on_rank_end);
  on_restart_ = std::move(on_restart);
  restart_ = 0;
  restarts_for_.reset();
  call_open_ = true;
  released_ = false;
  begin_call(std::move(on_stopped));
}

void HostRun::begin_call(std::function<void()> on_stopped) {
  on_stopped_ = std::move(on_stopped);
  look_if_stopped();
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
  on_stopped_ = nullptr;
  moved_.notify();
  if (!socket_) co_return;
  draining_ = true;
  release_ranks();
  if (call_running_ > 0 && grace > Duration()) signal_call(SIGTERM);
  const TimePoint kill_at = Clock::now() + grace;
  while (call_running_ > 0 && Clock::now() < kill_at) co_await moved_.wait_until(kill_at);
  if (call_running_ > 0) signal_call(SIGKILL);
  end_launchers();
  const TimePoint gone_by = Clock::now() + call_end_wait;
  while ((call_running_ > 0 || launchers_running()) && Clock::now() < gone_by)
    co_await moved_.wait_until(gone_by);
  draining_ = false;
  socket_->close_launcher_channels();
  socket_->release_ranks();
}

void HostRun::release_ranks() {
  released_ = true;
  if (socket_) socket_->release_ranks();
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

void HostRun::restarts(const job::Verdict& verdict) {
  if (!restarts_for_ || (restarts_for_->blames_peer && !verdict.blames_peer))
    restarts_for_ = verdict;
  if (on_restart_) on_restart_(verdict);
}

/// Once for all ranks of the host.
void HostRun::tell_restart(const RankHello& hello) {
  if (hello.restart <= restart_) return;
  restart_ = hello.restart;
  const std::string why = restarts_for_ ? ", after " + job::describe(*restarts_for_) : "";
  restarts_for_.reset();
  log_.info("torchrun restart " + std::to_string(hello.restart) + " of " +
            std::to_string(hello.restarts) + " on " + host_ + why);
}

/// Ranks that something else has bound are left alone: `sm rank` sees that by this host's own
/// processors.
std::string HostRun::place_of(const RankHello& hello) const {
  if (!rank_run_.near_gpu || nodes_of_gpus_.empty()) return {};
  const Cpus own = own_cpus();
  const std::optional<devices::NumaNode> place =
      devices::place_rank(nodes_of_gpus_, own, hello.local_rank, hello.local_size);
  return place ? devices::numa_text({*place, {0, own}}) : std::string();
}

RankAnswer HostRun::rank_come(const RankHello& hello) {
  tell_restart(hello);
  auto rank = std::make_shared<Process>(loop_);
  rank->name = "rank " + std::to_string(hello.rank);
  rank->rank = hello.rank;
  rank->user = true;
  rank->of_call = true;
  rank->command = shell_quoted(rank_run_.command.argv);
  rank->on_end = on_rank_end_;
  rank->restarts = hello.restart < hello.restarts;
  ranks_[hello.rank] = std::move(rank);
  ++users_;
  ++call_running_;
  return {rank_run_, place_of(hello)};
}

Result<void> HostRun::start(Program program) {
  if (finishing_) return fail(Errc::closed, "the job is ending");
  Pipe out = TRY(make_pipe());
  Pipe err = TRY(make_pipe());
  const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null) return fail_errno("cannot open /dev/null");
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
  if (program.of_call && program.rank >= 0 && on_rank_started_) on_rank_started_(program.rank, pid);
  reaper_.watch(pid, [this, pid, process](job::Outcome outcome) {
    programs_.erase(pid);
    tasks_.start(report(process, {std::move(outcome), {}}));
  });
  // Like those before it.
  if (process->user && ending())
    reaper_.signal_group(pid, Clock::now() < kill_at_ ? SIGTERM : SIGKILL);
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

loop::Task<> HostRun::report(std::shared_ptr<Process> process, RankEnd end) {
  while (process->stop) co_await moved_.wait();
  const TimePoint deadline = Clock::now() + last_words_wait;
  while (process->readers > 0 && Clock::now() < deadline)
    co_await process->output_ended.wait_until(deadline);
  job::Verdict verdict;
  verdict.outcome = std::move(end.outcome);
  verdict.host = host_;
  verdict.process = process->name;
  verdict.rank = process->rank;
  verdict.last_lines = job::without_launcher_frames(process->words.text());
  if (!verdict.success()) {
    job::Ending ending = job::ending_of(process->words.lines(), &verdict.outcome);
    if (std::optional<job::Ending> told = job::ending_in_file(end.error_file, verdict.outcome))
      ending = *std::move(told);
    verdict.error = std::move(ending.error);
    verdict.blames_peer = ending.blames_peer;
  }
  const bool again = !verdict.success() && process->restarts && call_open_ && !ending();
  process->blames = verdict.blames_peer && !again;
  verdict.command = process->command;
  verdict.unseen = end.unseen;
  verdict.out_of_memory = oom_.explains(verdict.outcome);
  if (process->user) --users_;
  if (process->of_call) --call_running_;
  if (again)
    restarts(verdict);
  else if (process->on_end)
    process->on_end(std::move(verdict));
  look_if_stopped();
  moved_.notify();
}

void HostRun::signal_users(int signal) {
  if (socket_) socket_->signal_ranks(signal);
  for (const auto& [pid, process] : programs_)
    if (process->user) reaper_.signal_group(pid, signal);
}

void HostRun::stop(Duration grace) {
  stopped_ = true;
  moved_.notify();
  if (!ending() && grace > Duration()) {
    if (socket_) socket_->signal_ranks(SIGTERM, grace);
    stop_orphans();
    for (const auto& [pid, process] : programs_)
      if (process->user) begin_stop(pid, process);
    ranks_stopped_ = call_running_;
    tasks_.start(say_what_is_left());
  }
  kill_after(grace);
  look_if_stopped();
}

void HostRun::kill_after(Duration grace) {
  const TimePoint kill_at = Clock::now() + grace;
  if (kill_at >= kill_at_) return;
  kill_at_ = kill_at;
  tasks_.start(kill_at_deadline());
}

void HostRun::begin_stop(pid_t pid, const std::shared_ptr<Process>& process) {
  process->stop.emplace(pid);
  if (process->user) stopping_.push_back(process);
  tasks_.start(carry_stop(process));
}

loop::Task<> HostRun::carry_stop(std::shared_ptr<Process> process) {
  while (process->stop->look() && Clock::now() < kill_at_)
    co_await moved_.wait_until(std::min(kill_at_, Clock::now() + supervise::Stop::look_again));
  process->stop->kill();  // In the background, or the grace is over.
  process->stop.reset();
  moved_.notify();
}

/// A process that has left its parent or its session is our child by now; it is signalled, but not
/// waited for.
void HostRun::stop_orphans() {
  for (const pid_t pid : supervise::children_of(::getpid())) {
    if (programs_.contains(pid) || supervise::runs_our_file(pid)) continue;
    auto orphan = std::make_shared<Process>(loop_);
    begin_stop(pid, orphan);
  }
}

/// Most stops are over before there is anything to tell.
loop::Task<> HostRun::say_what_is_left() {
  TimePoint next = Clock::now() + first_word_after;
  while (next < kill_at_) {
    while (Clock::now() < next && users_ > 0) co_await moved_.wait_until(next);
    if (users_ == 0 || Clock::now() >= kill_at_) co_return;
    const auto left = std::chrono::ceil<std::chrono::seconds>(kill_at_ - Clock::now()).count();
    log_.info(what_is_left() + " still running, " + std::to_string(left) + " s of grace left");
    next = Clock::now() + next_word_after;
  }
}

/// "2 of 6 ranks"; without any, whose processes: "2 of train.sh".
std::string HostRun::what_is_left() const {
  if (call_running_ > 0)
    return std::to_string(call_running_) + " of " + std::to_string(ranks_stopped_) + " ranks";
  Args names;
  for (const std::shared_ptr<Process>& process : stopping_)
    if (process->stop && process->user)
      names.push_back(std::to_string(process->stop->waiting()) + " of " + process->name);
  return "processes: " + join(names, ", ");
}

/// In a stop: true once none of the call's ranks runs here any more.
void HostRun::look_if_stopped() {
  if (!stopped_ || call_running_ > 0) return;
  if (const auto told = std::exchange(on_stopped_, nullptr)) told();
}

loop::Task<> HostRun::kill_at_deadline() {
  const TimePoint mine = kill_at_;
  // Whether or not anybody runs now: more may begin.
  while (Clock::now() < mine) co_await moved_.wait_until(mine);
  if (mine == kill_at_) signal_users(SIGKILL);
}

loop::Task<> HostRun::finish(Duration grace) {
  finishing_ = true;
  moved_.notify();
  if (users_ > 0) {
    if (grace > Duration() && !ending()) signal_users(SIGTERM);
    kill_after(grace);
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
