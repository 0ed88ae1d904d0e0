#include "machine/node/node_daemon.h"

#include <signal.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>

#include "base/process/rootless.h"
#include "container/bundle/ability.h"
#include "container/bundle/runtime.h"
#include "container/tool.h"
#include "net/loop/worker.h"
#include "os/devices/find.h"

namespace muster::node {
namespace {

/// Time to remove the job's folder before the scheduler's SIGKILL.
constexpr std::chrono::seconds removal{1};
constexpr std::size_t complaints_max = 20;
constexpr std::chrono::seconds ldconfig_max{10};
/// Hosts have 65,536 user and group ids each, whose first is their root, from here on.
constexpr std::int64_t ids_base = 1879048192;
constexpr std::int64_t ids_per_job = 65536;

/// Chosen at random for each attempt, out of 4,096. Jobs on one node that get the same ids still
/// cannot see each other.
std::int64_t first_id_from(const std::string& nonce) {
  return ids_base +
         ids_per_job * static_cast<std::int64_t>(std::stoul(nonce.substr(0, 3), nullptr, 16));
}

}  // namespace

NodeDaemon::NodeDaemon(loop::Loop& loop, job::NodeJob job, Options options, const Log& log,
                       std::optional<NodeFolder> folder)
    : loop_(loop),
      job_(std::move(job)),
      options_(std::move(options)),
      log_(log),
      folder_(std::move(folder)),
      begun_at_(Clock::now()),
      heard_(begun_at_),
      changed_(loop),
      steward_(loop, options_.program, options_.env),
      tasks_(loop) {}

job::NodeState NodeDaemon::state() const {
  if (ended_) return job::NodeState::ended;
  return begun_ ? job::NodeState::running : job::NodeState::waiting;
}

/// Once the engine is connected, messages need not appear here too: standard error becomes a file.
void NodeDaemon::complain(const std::string& text) {
  if (reached_ || complaints_.size() >= complaints_max) return;
  if (std::find(complaints_.begin(), complaints_.end(), text) == complaints_.end())
    complaints_.push_back(text);
}

/// The engine could not be reached at any address.
void NodeDaemon::say_complaints() {
  for (; !reached_ && complaints_said_ < complaints_.size(); ++complaints_said_)
    log_.warning(complaints_[complaints_said_]);
}

loop::Task<> NodeDaemon::make_folder() {
  const auto make = [job = job_] { return NodeFolder::make(job); };
  Result<NodeFolder> made = co_await loop::in_thread(loop_, make);
  if (made) {
    folder_ = *std::move(made);
  } else {  // The engine must receive the reason.
    log_.error(made.error().text);
    end(job::Outcome::failed(options_.node + ": " + made.error().text));
  }
}

/// Files that were delivered to the job are used by the next attempt, too.
loop::Task<> NodeDaemon::clear_up() {
  NodeFolder folder = *std::exchange(folder_, std::nullopt);
  const bool stays = again_.has_value();
  const auto remove = [&folder, stays, host = options_.host] {
    return stays ? folder.remove_host(host) : folder.remove();
  };
  const Result<void> removed = co_await loop::in_thread(loop_, remove);
  if (!removed) log_.error(removed.error().text);
  if (stays) folder_ = std::move(folder);
}

loop::Task<> NodeDaemon::run() {
  tasks_.start(heed_signals());
  if (!folder_) co_await make_folder();
  if (folder_ && !job_.light) co_await look_around();
  if (folder_ && job_.light && job_.spec.image) look_for_tool(*job_.spec.image);
  tasks_.start(keep_connected());
  co_await wait_for_end();
  co_await steward_.kill();
  if (signalled_) again_.reset();  // The scheduler takes the node.
  tasks_.end();
  if (folder_ && !job_.light && !(ended_ && ended_->outcome.success())) {
    folder_->let_go();
    co_await steward_.sweep();
  }
  if (!again_) remove_layers();
  if (folder_) co_await clear_up();
  loop_.stop();
}

void NodeDaemon::remove_layers() const {
  if (job_.image && job_.image->layers.empty()) remove_brought(*job_.image, brought_layers());
}

/// Checks whether containers can run here, before waiting for the other nodes.
loop::Task<> NodeDaemon::look_around() {
  const auto look = [env = options_.env, no_root = options_.no_root] {
    return container::lack_of(container::find_ability(env, no_root));
  };
  const std::optional<std::string> lack = co_await loop::in_thread(loop_, look);
  // Leftovers of an earlier job whose processes were all killed.
  if (!container::known_containers().empty()) co_await steward_.sweep();
  if (lack)
    co_return end(job::Outcome::failed(options_.node + ": cannot create a container: " + *lack +
                                       "; --slurm hosts=light does not require one"));
  if (!job_.image) co_return;
  const auto list = [image = *job_.image] { return lacking_layers(image); };
  Result<std::vector<int>> layers = co_await loop::in_thread(loop_, list);
  if (!layers) co_return end(job::Outcome::failed(options_.node + ": " + layers.error().text));
  lacks_ = *std::move(layers);
}

/// Checks that the node has the program that opens the image, and the image if it is a file.
void NodeDaemon::look_for_tool(const job::Image& image) {
  const Result<std::string> found = container::find_tool(image.tool, options_.env);
  if (!found)
    end(job::Outcome::failed(options_.node + ": " + image.tool +
                             " is not installed there, but must open the job's image"));
  else if (image.name.starts_with('/') && ::access(image.name.c_str(), R_OK) != 0)
    end(job::Outcome::failed(options_.node + ": " + errno_text(image.name)));
}

/// The next deadline at which this ends without further events.
TimePoint NodeDaemon::deadline() const {
  const bool alone_is_bounded = job_.timing.alone.count() > 0;
  if (state() == job::NodeState::waiting && job::is_spare(options_.host))
    return heard_ + (alone_is_bounded ? job_.timing.alone : job_.timing.linger);
  if (state() == job::NodeState::waiting) return begun_at_ + job_.timing.begin;
  if (!ended_) return alone_is_bounded ? heard_ + job_.timing.alone : TimePoint::max();
  const std::chrono::milliseconds bound =
      alone_is_bounded ? std::min(job_.timing.alone, job_.timing.linger) : job_.timing.linger;
  const TimePoint patience = std::max(ended_->at, heard_) + bound;
  if (!signalled_ || connected_) return patience;
  return std::min<TimePoint>(patience, signalled_->at + job_.kill_wait - removal);
}

std::string NodeDaemon::why_over() const {
  switch (state()) {
    case job::NodeState::waiting:
      return job::is_spare(options_.host) ? "no contact with the engine for too long"
                                          : "the start signal was not received in time";
    case job::NodeState::running:
      return "no contact with the engine for too long";
    case job::NodeState::ended:
      return "the host's result was not fetched in time";
  }
  return {};
}

loop::Task<> NodeDaemon::wait_for_end() {
  while (!over_) {
    const TimePoint until = deadline();
    static_cast<void>(co_await changed_.wait_until(until));
    if (!over_ && Clock::now() >= deadline()) over(why_over());
  }
}

void NodeDaemon::over(const std::string& why) {
  if (!why.empty() && !over_ && !reached_ && !signalled_) log_.warning(why + "; removing the host");
  over_ = true;
  changed_.notify();
}

void NodeDaemon::end(job::Outcome outcome) {
  if (ended_) return;
  ended_ = Ended{std::move(outcome), Clock::now()};
  meter_.reset();
  changed_.notify();
}

// The host.

void NodeDaemon::begin(const job::NodeBegin& begin) {
  if (state() != job::NodeState::waiting) return;
  begun_ = true;
  preempt_grace_ = begin.preempt_grace;
  lacks_.clear();
  if (job_.image || !job_.light)
    tasks_.start(prepare_and_start(begin));
  else
    start_or_end(begin);
}

/// The inputs of a container besides its specification.
loop::Task<> NodeDaemon::prepare_and_start(job::NodeBegin begin) {
  if (job_.image) {
    const Result<void> taken = co_await take_image();
    if (!taken) co_return end(job::Outcome::failed(taken.error().text));
  }
  if (const int wanted = job::gpus_of(job_.spec, options_.host); wanted > 0) {
    const Result<void> taken = co_await take_gpus(wanted);
    if (!taken) co_return end(job::Outcome::failed(taken.error().text));
  }
  if (stop_until_) co_return end(job::Outcome::stopped(SIGTERM));
  start_or_end(begin);
}

/// The missing layers have been copied by now.
loop::Task<Result<void>> NodeDaemon::take_image() {
  const auto take = [wanted = *job_.image, image = *job_.spec.image, brought = brought_layers()] {
    return node::take_image(wanted, image, brought);
  };
  Result<HeldImage> held = co_await loop::in_thread(loop_, take);
  remove_layers();
  if (!held) co_return complained("image: " + held.error().text);
  job_.spec.image = std::move(held->image);
  image_lock_ = std::move(held->lock);
  co_return Result<void>();
}

/// Device files and the driver's libraries; a light host finds them where they are.
loop::Task<Result<void>> NodeDaemon::take_gpus(int wanted) {
  const std::vector<int>& numbers = options_.gpus;
  if (numbers.size() != static_cast<std::size_t>(wanted))
    co_return complained("GPUs: " + std::to_string(wanted) +
                         " were requested from Slurm, but SLURM_STEP_GPUS lists " +
                         std::to_string(numbers.size()) +
                         "; gres.conf must list the device file of each GPU");
  const devices::Places places = devices::places_of(options_.env);
  Command ask{.argv = {"/sbin/ldconfig", "-p"}, .env = options_.env, .cwd = "/"};
  const Result<supervise::Programs::Done> libraries =
      co_await steward_.programs().run(std::move(ask), ldconfig_max);
  const Result<std::vector<devices::Gpu>> own = devices::find_given(places, numbers);
  if (!own) co_return complained(own.error().text);
  Result<devices::Handed> handed =
      devices::hand_over(options_.host, *own, places, libraries ? libraries->out : "");
  if (!handed) co_return complained(handed.error().text);
  devices_ = std::move(handed->devices);
  job_.spec.notes.push_back(handed->line + " on " + options_.node);
  for (std::string& line : devices::closed_nodes(devices_))
    job_.spec.notes.push_back(options_.node + ": " + std::move(line));
  co_return Result<void>();
}

/// The node's log has the error, too.
Error NodeDaemon::complained(const std::string& text) const {
  log_.error(text);
  return {Errc::system, options_.node + ": " + text};
}

void NodeDaemon::start_or_end(const job::NodeBegin& begin) {
  const Result<void> started = start_host(begin);
  if (started) return changed_.notify();
  end(job::Outcome::failed(complained(started.error().text).text));
}

Result<void> NodeDaemon::start_host(const job::NodeBegin& begin) {
  job::HostSpec spec;
  spec.spec = job_.spec;
  // The scheduler's signal may also reach the steward, which has no more time than this process. If
  // no other job wants the node, this process gives it less.
  spec.spec.grace = grace().preempted();
  if (std::string note = grace().note(); !note.empty()) spec.spec.notes.push_back(std::move(note));
  spec.host = options_.host;
  spec.hosts = begin.hosts;
  spec.light = job_.light;
  spec.rollcall_port = job_.rollcall_port;
  spec.in_step = !job_.light;
  spec.devices = devices_;
  // Hosts of an ordinary user have the ids of the user's namespace.
  if (spec.in_step && rootless_ids(options_.env) == 0) spec.first_id = first_id_from(job_.nonce);
  spec.state_folder = job_.folder;
  spec.job_folder = job_.folder;
  spec.host_folder = host_folder();
  spec.key_file = folder_->key_file();
  TRY(make_folders(spec.host_folder, 0700));
  notices_ = TRY(loop::Notices::open(loop_));
  TRY(notices_->add(spec.host_folder, IN_CREATE | IN_MODIFY));
  TRY(steward_.start(spec, folder_->lock(),
                     [this](job::Outcome outcome) { end(std::move(outcome)); }));
  meter_.emplace(steward_.programs(), spec, options_.env);
  tasks_.start(follow_journal());
  return {};
}

loop::Task<> NodeDaemon::follow_journal() {
  bool grown = true;
  while (grown) {
    grown = co_await notices_->happened();
    changed_.notify();
  }
}

SchedulersGrace NodeDaemon::grace() const {
  return {job_.spec.grace, job_.kill_wait, preempt_grace_};
}

/// A second request makes a steward kill, whatever grace it has. So of several stops, the earliest
/// deadline counts. `most`: the longest grace that can still be granted.
void NodeDaemon::stop(std::chrono::milliseconds grace, std::chrono::milliseconds most) {
  const TimePoint until = Clock::now() + grace;
  if (stop_until_ && *stop_until_ <= until) return;
  const bool is_first = !stop_until_;
  stop_until_ = until;
  if (state() == job::NodeState::waiting) return end(job::Outcome::stopped(SIGTERM));
  if (grace.count() == 0) return steward_.stop(grace);
  if (is_first) steward_.stop(most);
  if (!is_first || most > grace) tasks_.start(kill_at(until));
}

/// Waits for a deadline that was not replaced meanwhile.
loop::Task<> NodeDaemon::kill_at(TimePoint deadline) {
  loop::Timer timer(loop_);
  const bool in_time = co_await timer.until(deadline);
  if (in_time && stop_until_ == deadline) steward_.stop(std::chrono::milliseconds(0));
}

/// The scheduler has sent its signal, or will, because it takes the node for another job, and then
/// grants more time. A shorter grace that was requested before stays.
void NodeDaemon::grant_more() {
  is_preempted_ = true;
  if (!signal_until_ || stop_until_ != signal_until_) return;
  stop_until_ = signalled_->at + grace().preempted();
  signal_until_.reset();
  tasks_.start(kill_at(*stop_until_));
}

loop::Task<> NodeDaemon::heed_signals() {
  loop::Signals signals(loop_, {SIGTERM, SIGINT, SIGHUP});
  while (true) {
    const Result<int> signal = co_await signals.next();
    if (!signal) co_return;
    if (signalled_) continue;
    signalled_ = Signalled{*signal, Clock::now()};
    const std::optional<TimePoint> before = stop_until_;
    stop(grace().ordinary(), grace().preempted());
    if (stop_until_ != before) signal_until_ = stop_until_;
    if (is_preempted_) grant_more();
    changed_.notify();
  }
}

}  // namespace muster::node
