#include "engine/local/local_run.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <functional>
#include <set>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "engine/local/stewards.h"
#include "engine/upload.h"
#include "job/machine_name.h"
#include "net/loop/worker.h"
#include "os/devices/gpu_figures.h"
#include "os/supervise/cgroup_usage.h"
#include "os/supervise/reaper.h"
#include "os/supervise/start_steward.h"

namespace muster::local {
namespace {

Fd pidfd_of(pid_t pid) {
  return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

/// More than `before`.
bool has_bytes(const std::string& path, std::uint64_t before) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && status.st_size > static_cast<off_t>(before);
}

constexpr const char* why_lost = "its steward was killed";

std::string node_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace

/// What is known of the stewards.
struct LocalRun::State {
  explicit State(loop::Loop& loop) : moved(loop) {}
  std::map<std::string, pid_t> ours;  ///< Stewards that are our children and have not ended.
  std::map<std::string, Fd> others;   ///< pidfds of those that are not.
  std::deque<engine::Event> events;
  bool all_well = true;  ///< No steward or upload was killed or failed: nothing is to be swept.
  int attempt = 1;
  bool heeds_losses = false;
  std::set<std::string> destroyed;  ///< By us.
  std::vector<std::string> lost;    ///< In this attempt.
  loop::Event moved;
  void tell(engine::Event event) {
    event.attempt = attempt;
    event.time = wall_time();
    events.push_back(std::move(event));
    moved.notify();
  }
  void started(const std::string& host, const std::string& address) {
    tell({.kind = engine::Event::Kind::started,
          .host = host,
          .node = node_name(),
          .address = address});
  }
  void ended(const std::string& host, job::Outcome outcome) {
    all_well = all_well && outcome.success();
    if (heeds_losses && !destroyed.contains(host) && outcome == job::Outcome::signaled(SIGKILL)) {
      lost.push_back(host);
      return tell({.kind = engine::Event::Kind::lost, .host = host, .text = why_lost});
    }
    tell({.kind = engine::Event::Kind::ended, .host = host, .outcome = std::move(outcome)});
  }
};

LocalRun::LocalRun(supervise::Programs& programs, LocalEngine& local, std::string path,
                   std::optional<engine::JobFolder> folder)
    : programs_(programs),
      local_(local),
      path_(std::move(path)),
      folder_(std::move(folder)),
      state_(std::make_shared<State>(programs.loop())),
      tasks_(programs.loop()) {}

/// Without release(), the stewards see the end of the lifeline and remove their files.
LocalRun::~LocalRun() {
  if (journals_) journals_->cancel();
  if (folder_ && (hosts_.empty() || gate_.write)) static_cast<void>(folder_->remove());
}

void LocalRun::heed_losses() {
  state_->heeds_losses = true;
}

Result<void> LocalRun::find_attempt() {
  note_ = TRY(read_note(path_));
  next_tally_ = note_.tally;
  state_->attempt = note_.number;
  return {};
}

Result<void> LocalRun::start(const job::HostSpec& spec) {
  const LocalEngine::Options& options = local_.options();
  TRY(make_folders(spec.host_folder, 0700));
  if (options.lifeline && !lifeline_.read) lifeline_ = TRY(make_pipe());
  if (!options.lifeline && !gate_.read) gate_ = TRY(make_pipe());
  const pid_t pid =
      TRY(supervise::start_steward(spec, {.program = options.program,
                                          .env = options.env,
                                          .lifeline = lifeline_.read.get(),
                                          .gate = gate_.read.get(),
                                          .lock = folder_ ? folder_->lock().get() : -1}));
  hosts_.push_back(spec.host);
  state_->ours[spec.host] = pid;
  state_->started(spec.host, job::own_address(spec));
  programs_.reaper().watch(
      pid, [state = state_, host = spec.host, folder = spec.host_folder](job::Outcome outcome) {
        state->ours.erase(host);
        state->ended(host, supervise::steward_outcome(std::move(outcome), folder));
      });
  return write_steward(spec.host_folder, pid);
}

Result<void> LocalRun::begin() {
  if (!gate_.write) return {};
  TRY(write_all(gate_.write.get(), std::string(hosts_.size(), '+')));  // Each takes one.
  gate_ = Pipe{};
  return {};
}

Result<void> LocalRun::attach(const std::string& host, const std::string& address) {
  const std::string folder = host_folder(host);
  const Result<WrittenSteward> steward = written_steward(folder);
  if (!steward && steward.error().code == Errc::protocol) return steward.error();
  if (!steward) {
    whole_ = false;
    return {};
  }
  hosts_.push_back(host);
  state_->started(host, address);
  // A steward may wait at a gate that will never open. No program runs before all hosts have begun.
  if (!has_bytes(folder + "/journal", engine::chapter_of(note_.chapters, host))) whole_ = false;
  Fd pidfd = pidfd_of(steward->pid);
  if (!pidfd ||
      started_at(steward->pid) != steward->started) {  // The steward ended; its journal says how.
    state_->ended(host, job::Outcome::exited(0));
    return {};
  }
  state_->others[host] = std::move(pidfd);
  tasks_.start(watch(host));
  return {};
}

loop::Task<> LocalRun::watch(std::string host) {
  {
    loop::Watch ended(programs_.loop(), state_->others[host].get());
    if (!co_await ended.readable()) co_return;
  }
  state_->others.erase(host);
  // Another's child: its code is not for us, but what it said at its limit of memory is.
  const bool ran_out = supervise::ran_out_of_memory(host_folder(host));
  state_->ended(host, ran_out ? job::Outcome::failed(supervise::out_of_memory_words())
                              : job::Outcome::exited(0));
}

Result<void> LocalRun::follow() {
  std::vector<engine::Journals::Host> hosts;
  for (const std::string& host : hosts_)
    hosts.push_back({host, host_folder(host), engine::chapter_of(note_.chapters, host)});
  if (journals_) journals_->cancel();
  journals_ = TRY(engine::Journals::open(programs_.loop(), std::move(hosts)));
  return {};
}

loop::Task<Result<engine::Event>> LocalRun::next_event() {
  const std::shared_ptr<State> state = state_;
  while (state->events.empty()) {
    if (state->ours.empty() && state->others.empty())
      co_return fail(Errc::closed, "all stewards have exited");
    co_await state->moved.wait();
  }
  engine::Event next = std::move(state->events.front());
  state->events.pop_front();
  co_return next;
}

Result<engine::Records> LocalRun::records(const std::string& host, std::uint64_t from) {
  return journals_->records(host, from);
}

loop::Task<bool> LocalRun::grown() {
  const std::shared_ptr<engine::Journals> journals = journals_;
  const bool grown = co_await journals->grown();
  co_return grown;
}

bool LocalRun::runs(const std::string& host) const {
  return state_->ours.contains(host) || state_->others.contains(host);
}

loop::Task<Result<engine::Answer>> LocalRun::ask(std::string host, engine::Question question) {
  if (!runs(host)) co_return fail(Errc::closed, host + " is not running");
  if (question == engine::Question::alive) {
    const Result<void> alive = co_await supervise::ask_steward(programs_.loop(), host_folder(host));
    if (!alive) co_return alive.error();
    co_return engine::Answer(engine::Alive{});
  }
  if (!engine::is_of_usage(question)) {
    Result<job::HostStacks> stacks = co_await supervise::ask_steward_for_stacks(
        programs_.loop(), host_folder(host), engine::calls_of(question));
    if (!stacks) co_return stacks.error();
    co_return engine::Answer(*std::move(stacks));
  }
  Result<engine::Usage> usage = supervise::usage_of(job::machine_name(name(), path_), host);
  if (!usage) co_return usage.error();
  usage->gpus = gpus_of(host);
  if (question == engine::Question::viewed_usage && gpu_meter_) gpu_meter_->look();
  co_return engine::Answer(*std::move(usage));
}

/// The host's own, by its steward's specification.
std::vector<job::GpuUse> LocalRun::gpus_of(const std::string& host) {
  const auto [found, is_new] = gpu_numbers_.try_emplace(host);
  if (is_new) {
    const Result<job::HostSpec> spec = given_to(host_folder(host));
    if (spec)
      for (const job::DeviceNode& node : spec->devices.nodes)
        if (const std::optional<int> number = devices::gpu_number(node.outside))
          found->second.push_back(*number);
  }
  if (found->second.empty()) return {};
  if (!gpu_meter_) gpu_meter_ = local_.gpu_meter();
  return gpu_meter_->of(found->second);
}

void LocalRun::note(const std::string& host, const std::vector<job::LogLine>& lines) {
  if (runs(host)) tasks_.start(supervise::tell_steward(programs_.loop(), host_folder(host), lines));
}

loop::Task<Result<void>> LocalRun::replace(std::vector<std::string> hosts) {
  if (hosts != hosts_)
    co_return fail(Errc::unsupported,
                   "on a single machine, all hosts of a job must restart together");
  if (has_broken_card_)
    co_return fail(Errc::unsupported,
                   "muster does not restart a job on a machine whose GPU failed");
  if (!state_->ours.empty() || !state_->others.empty())
    co_return fail(Errc::invalid_input, "a host of " + name() + " is still running");
  Result<void> done = take_folder();
  if (done) done = co_await end_attempt();
  if (!done) co_return done;
  const std::vector<std::string> lost = std::exchange(state_->lost, {});
  done = begin_attempt();
  if (!done) {
    hosts_ = std::move(hosts);
    co_await give_up();
    co_return done;
  }
  for (const std::string& host : lost)
    state_->tell({.kind = engine::Event::Kind::health,
                  .host = host,
                  .text = std::string("was lost: ") + why_lost + "; it restarts"});
  co_return done;
}

/// In a run of an earlier process, all stewards have exited by then, so the lock is free.
Result<void> LocalRun::take_folder() {
  if (!folder_) folder_ = TRY(engine::JobFolder::take(path_));
  return {};
}

/// Nothing of the attempt stays but its part of the journals and, aside, its results.
loop::Task<Result<void>> LocalRun::end_attempt() {
  const Result<void> cleared = co_await local_.clear(name());
  if (!cleared) co_return cleared;
  state_->all_well = true;
  gpu_numbers_.clear();
  AttemptNote next = note_;
  const auto work = [next, hosts = hosts_, folder = path_]() -> Result<engine::Chapters> {
    for (const std::string& host : hosts) ::unlink((folder + "/" + host + "/steward.pid").c_str());
    TRY(engine::set_aside(folder, hosts, next.number));
    const engine::Chapters whole = TRY(engine::whole_until(folder, hosts, next.chapters, {}));
    return engine::end_chapters(folder, hosts, next.chapters, whole, next.number, wall_time());
  };
  Result<engine::Chapters> ended = co_await loop::in_thread(programs_.loop(), work);
  if (!ended) co_return ended.error();
  next.chapters = *std::move(ended);
  ++next.number;
  next.tally = next_tally_;
  const Result<void> noted = write_note(path_, next);
  if (noted) note_ = next;
  co_return noted;
}

Result<void> LocalRun::begin_attempt() {
  state_->attempt = note_.number;
  state_->destroyed.clear();
  const std::vector<std::string> hosts = std::exchange(hosts_, {});
  for (const std::string& host : hosts) {
    job::HostSpec spec = TRY(given_to(host_folder(host)));
    spec.journal_from = static_cast<std::int64_t>(engine::chapter_of(note_.chapters, host));
    TRY(start(spec));
  }
  TRY(follow());
  return begin();
}

/// After a start that went wrong halfway: waits until its stewards are gone.
loop::Task<> LocalRun::give_up() {
  gate_ = Pipe{};
  for (const std::string& host : hosts_) destroy(host);
  while (!state_->ours.empty()) co_await state_->moved.wait();
  state_->events.clear();
}

void LocalRun::signal(const std::string& host, int number) {
  if (const auto found = state_->ours.find(host); found != state_->ours.end())
    programs_.reaper().signal(found->second, number);
  if (const auto found = state_->others.find(host); found != state_->others.end())
    ::syscall(SYS_pidfd_send_signal, found->second.get(), number, nullptr, 0);
}

void LocalRun::stop(const std::string& host, std::chrono::milliseconds grace) {
  if (runs(host)) tasks_.start(ask_to_stop(host, grace));
}

loop::Task<> LocalRun::ask_to_stop(std::string host, std::chrono::milliseconds grace) {
  const bool asked =
      co_await supervise::ask_steward_to_stop(programs_.loop(), host_folder(host), grace);
  if (asked) co_return;
  signal(host, SIGTERM);  // A second signal kills now.
  if (grace.count() == 0) signal(host, SIGINT);
}

void LocalRun::destroy(const std::string& host) {
  state_->destroyed.insert(host);
  signal(host, SIGKILL);
}

loop::Task<Result<std::string>> LocalRun::upload(bool completed) {
  const LocalEngine::Options& options = local_.options();
  engine::UploadProgram program{options.program, options.env};
  Result<std::string> done =
      co_await engine::upload(programs_, std::move(program), path_, completed);
  if (!done) state_->all_well = false;
  co_return done;
}

bool LocalRun::uploaded() const {
  return engine::is_uploaded(path_);
}

loop::Task<Result<std::vector<engine::HostResult>>> LocalRun::results() {
  std::vector<engine::HostResult> results;
  for (const std::string& host : hosts_) results.push_back({host, host_folder(host) + "/result"});
  co_return results;
}

loop::Task<Result<std::string>> LocalRun::release(bool keep) {
  // For stewards of other processes the lock is checked: a dead one may not have been waited for
  // yet.
  if (!state_->ours.empty())
    co_return fail(Errc::denied, path_ + ": a process of the job is still running");
  if (removed_) co_return std::string();
  const bool well = state_->all_well;
  Result<void> released = take_folder();
  if (folder_ && !keep) folder_->forget_kept();
  if (folder_ && keep) {
    released = folder_->keep();
    folder_.reset();
  } else if (folder_ && well) {
    std::optional<engine::JobFolder> folder = std::exchange(folder_, std::nullopt);
    released = co_await engine::remove_beside(programs_.loop(), *std::move(folder));
  }
  folder_.reset();  // The lock too: what a killed steward left is now a dead job's.
  if (!well) {
    const Result<Swept> swept = co_await local_.sweep(false);
    if (!swept) co_return swept.error();
  }
  if (!released) co_return released.error();
  removed_ = !keep;
  co_return keep ? path_ : std::string();
}

}  // namespace muster::local
