#include "machine/steward/job_host.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "container/bundle/bundle.h"
#include "container/bundle/rootfs.h"
#include "job/outcome/program_end.h"
#include "job/wire/node_place.h"
#include "job/wire/rank_start.h"
#include "machine/housing/folders.h"
#include "machine/steward/host_stacks.h"
#include "os/devices/compute_apps.h"
#include "os/devices/kernel_log.h"
#include "os/supervise/failure_file.h"
#include "os/supervise/output_pipe.h"
#include "os/supervise/spawn.h"

namespace muster::steward {
namespace {

/// After the grace, for `train` to kill its processes and report why.
constexpr std::chrono::seconds kill_margin{2};
/// A program may delete its files before it reports a full disk.
constexpr std::chrono::milliseconds look_interval{250};
/// Streams end with the host's last process; this guards against one that does not die.
constexpr std::chrono::seconds drain_deadline{5};
constexpr Duration init_poll = std::chrono::milliseconds(5);

std::optional<job::Verdict> verdict_in(job::Message kind, const std::string& word) {
  if (kind != job::Message::outcome && kind != job::Message::verdict) return std::nullopt;
  const Result<Json> json = parse_json(word);
  Result<job::Verdict> verdict = json ? job::verdict_from(*json) : json.error();
  return verdict ? std::optional<job::Verdict>(*std::move(verdict)) : std::nullopt;
}

/// Touching a page of shared memory that could not be allocated is fatal.
bool tells_of_bus_error(job::Message kind, const std::string& word) {
  const std::optional<job::Verdict> verdict = verdict_in(kind, word);
  return verdict && verdict->outcome.kind == job::Outcome::Kind::signaled &&
         verdict->outcome.number == SIGBUS;
}

}  // namespace

HostRun::HostRun(loop::Loop& loop, job::HostSpec spec, Env env, JournalFile journal, Fd lifeline)
    : loop_(loop),
      spec_(on_this_machine(std::move(spec), env)),
      env_(std::move(env)),
      journal_(std::move(journal)),
      lifeline_(std::move(lifeline)),
      changed_(loop),
      kill_timer_(loop),
      word_(spec_.host, job::host_names(spec_.spec.instance_count)),
      housing_(spec_.light ? light_housing(housing_context())
                           : container_housing(housing_context())),
      tasks_(loop) {}

HousingContext HostRun::housing_context() {
  return {.loop = loop_,
          .spec = spec_,
          .env = env_,
          .full = places_,
          .log = [this](const char* level, const std::string& text) { log(level, text); },
          .not_undone = [this](const Error& error) { undone(error); }};
}

loop::Task<> HostRun::run() {
  tasks_.start(watch_signals());
  if (lifeline_) tasks_.start(watch_lifeline());
  tasks_.start(serve_control());
  enter(job::Phase::starting);
  const Result<void> prepared = co_await prepare();
  job::Outcome outcome = prepared ? job::Outcome{} : job::Outcome::failed(prepared.error().text);
  if (prepared) {
    outcome = co_await init_->ended(loop_);
    running_ = false;
  }
  if (card_list_) card_list_->end();
  kill_timer_.cancel();
  co_await drained();
  const bool out_of_memory = prepared && housing_->out_of_memory();
  places_.look(tells_of_no_room(job::describe(outcome)));
  std::vector<std::string> met = places_.found();
  if (prepared)
    for (std::string& line : housing_->overruns(out_of_memory, lacked_files_))
      met.push_back(std::move(line));
  const job::Card card = explain_by_cards(met);
  if (memory_) {
    if (!has_verdict_ && devices::tells_of_card_memory(words_.text()))
      memory_->blame(-1, Clock::now());
    for (std::string& line : memory_->lines()) met.push_back(std::move(line));
  }
  if (init_) enter(job::Phase::uploading);
  co_await store_checkpoints();
  if (prepared) tell_failure(outcome);
  co_await take_down();
  if (store_error_ && outcome.success()) outcome = job::Outcome::failed(store_error_->text);
  if (journal_error_) outcome = job::Outcome::failed(journal_error_->text);
  finish(std::move(outcome), out_of_memory, std::move(met), card);
  if (unwanted_) forget();
  loop_.stop();
}

// Requests from other processes.

void HostRun::stop(std::chrono::milliseconds grace) {
  if (kill_) return;
  if (stopped_ || grace.count() == 0) {  // A second request kills at once.
    stopped_ = true;
    return kill_now();
  }
  stopped_ = true;
  changed_.notify();
  if (copy_) copy_->signal(SIGKILL);  // No process of the job that needs a grace runs yet.
  log("info", "stopping: processes have at most " + std::to_string(grace.count()) + " ms to exit");
  if (running_) tasks_.start(terminate());
  kill_after_ = grace + kill_margin;
  tasks_.start(kill_late());
}

loop::Task<> HostRun::terminate() {
  loop::Timer timer(loop_);
  // Just started, it may not be prepared yet: a signal now would be lost and the grace wasted.
  while (running_ && !init_->takes(SIGTERM)) co_await timer.after(init_poll);
  if (running_) init_->signal(SIGTERM);
}

loop::Task<> HostRun::kill_late() {
  const bool came = co_await kill_timer_.after(kill_after_);  // GCC 12: never in a condition.
  if (came) kill_now();
}

void HostRun::kill_now() {
  kill_ = true;
  changed_.notify();
  if (copy_) copy_->signal(SIGKILL);
  if (running_) init_->signal(SIGKILL);
}

loop::Task<> HostRun::watch_signals() {
  loop::Signals signals(loop_, {SIGTERM, SIGINT, SIGHUP});
  while (true) {
    const Result<int> signal = co_await signals.next();
    if (!signal) co_return;
    stop(spec_.spec.grace);
  }
}

loop::Task<> HostRun::watch_lifeline() {
  loop::Watch watch(loop_, lifeline_.get());
  std::array<char, 64> ignored;
  while (true) {
    const bool is_readable = co_await watch.readable();
    if (!is_readable) co_return;
    const ssize_t count = ::read(lifeline_.get(), ignored.data(), ignored.size());
    if (count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR))) continue;
    unwanted_ = true;
    kill_now();
    co_return;
  }
}

loop::Task<> HostRun::serve_control() {
  Result<std::unique_ptr<loop::UnixListener>> listener =
      loop::UnixListener::open(loop_, spec_.host_folder + "/control.sock");
  if (!listener) {
    log("error", listener.error().text);
    co_return;
  }
  while (true) {
    Result<std::unique_ptr<loop::UnixChannel>> peer = co_await (*listener)->accept();
    if (!peer) co_return;
    tasks_.start(serve_peer(*std::move(peer)));
  }
}

loop::Task<> HostRun::serve_peer(std::unique_ptr<loop::UnixChannel> peer) {
  while (true) {
    const Result<Frame> frame = co_await peer->receive();
    if (!frame) co_return;
    const Result<Json> json = parse_json(frame->payload);
    if (frame->type == job::type_of(job::Message::stacks)) {
      co_await tell_stacks(*peer, job::calls_from(frame->payload));
      continue;
    }
    if (frame->type == job::type_of(job::Message::log)) {
      const Result<job::LogLine> line = job::log_from(frame->payload);
      if (line) log(line->level.c_str(), line->text);
      continue;
    }
    if (frame->type == job::type_of(job::Message::alive)) {
      peer->post(frame->type, "{}");
      continue;
    }
    const bool known = frame->type == job::type_of(job::Message::signal) && json &&
                       json->is_object() && json->contains("grace_ms") &&
                       (*json)["grace_ms"].is_number_integer();
    const std::int64_t grace_ms = known ? (*json)["grace_ms"].get<std::int64_t>() : -1;
    if (grace_ms < 0) {
      peer->post(job::type_of(job::Message::failed),
                 to_text(Json{
                     {"why", "expected signal {grace_ms}, stacks {calls} or log {level, text}"}}));
      static_cast<void>(co_await peer->flushed());
      co_return;
    }
    stop(std::chrono::milliseconds(grace_ms));
  }
}

loop::Task<> HostRun::tell_stacks(loop::UnixChannel& peer, job::Calls calls) {
  Result<job::HostStacks> stacks = fail(Errc::closed, spec_.host + " is not running");
  const Args py_spy = py_spy_paths(spec_.spec, env_);
  if (running_) stacks = co_await stacks_below(loop_, init_->pid(), calls, py_spy, env_);
  if (stacks) {
    stacks->host = spec_.host;
    peer.post(job::type_of(job::Message::stacks), job::encode(*stacks));
  } else {
    peer.post(job::type_of(job::Message::failed), to_text(Json{{"why", stacks.error().text}}));
  }
  static_cast<void>(co_await peer.flushed());
}

// While the host runs.

loop::Task<> HostRun::read_stream(Fd stream) {
  loop::Watch watch(loop_, stream.get());
  FrameReader frames;
  std::string buffer(256 << 10, '\0');
  bool whole = true;
  while (true) {
    const bool is_readable = co_await watch.readable();
    if (!is_readable) break;
    const ssize_t count = ::read(stream.get(), buffer.data(), buffer.size());
    if (count == 0) break;
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (count < 0) break;
    if (!whole) continue;  // Read on, so that the writer never waits for us; the data is ignored.
    frames.feed(std::string_view(buffer.data(), static_cast<std::size_t>(count)));
    while (true) {
      Result<std::optional<Frame>> frame = frames.next();
      if (!frame) log("error", "the stream from train: " + frame.error().text);
      whole = frame.has_value();
      if (!frame || !*frame) break;
      keep(**frame);
    }
    flush();
  }
  --readers_;
  changed_.notify();
}

void HostRun::keep(const Frame& frame) {
  if (frame.type == job::type_of(job::Message::rank_started)) return note_rank(frame.payload);
  const Result<std::optional<std::string>> taken = word_.taken(frame);
  if (!taken && !doubted_) log("warning", "ignored a message from the host: " + taken.error().text);
  doubted_ = doubted_ || !taken;
  if (!taken || !*taken) return;
  const job::Message kind = static_cast<job::Message>(frame.type);
  has_verdict_ = has_verdict_ || kind == job::Message::verdict;
  heed(**taken);
  heed_card_memory(kind, **taken);
  if (const std::optional<job::Verdict> verdict = verdict_in(kind, **taken))
    heed_failure(*verdict, kind == job::Message::verdict);
  if (tells_of_bus_error(kind, **taken)) places_.look(true);
  journal_.append(kind, **taken);
}

loop::Task<> HostRun::read_output(Fd pipe, job::Stream stream) {
  supervise::OutputReader reader(loop_, std::move(pipe), -1, stream);
  const supervise::OutputReader::Sink sink = [this](job::Lines lines) -> loop::Task<> {
    heed(lines.bytes);
    heed_card_memory(job::Message::lines, lines.bytes);
    journal_.append(job::Message::lines, job::encode(lines));
    flush();
    co_return;
  };
  co_await reader.run(sink, words_);
  --readers_;
  changed_.notify();
}

void HostRun::flush() {
  const Result<void> flushed = journal_.flush();
  if (flushed || journal_error_) return;
  journal_error_ = flushed.error();
  kill_now();
}

/// A program's messages about limits whose refusals the kernel does not count.
void HostRun::heed(std::string_view words) {
  if (tells_of_no_room(words)) places_.look(true);
  lacked_files_ = lacked_files_ || tells_of_open_files(words);
}

loop::Task<> HostRun::watch_places() {
  loop::Timer timer(loop_);
  while (true) {
    const bool came = co_await timer.after(look_interval);
    if (!came || !running_) co_return;
    places_.look(false);
    if (processes_) processes_->look();
    if (cards_) cards_->look(Clock::now());
  }
}

bool HostRun::is_first() const {
  return spec_.host == job::host_names(spec_.spec.instance_count).front();
}

/// If the log cannot be read, nothing is guessed, and the job's log says so.
void HostRun::follow_cards() {
  const std::vector<int> gpus = gpu_numbers_of(spec_, env_);
  if (gpus.empty()) return;
  processes_.emplace(init_->pid());
  memory_.emplace(gpu_places_of(gpus),
                  [this](std::int64_t pid) { return processes_->name_of(pid); });
  card_list_.emplace(
      loop_, env_, card_list_folder(spec_.job_folder),
      [this](const std::string& list, TimePoint time) {
        processes_->look();  // A rank that has just started is known by the list that has it.
        memory_->take(list, time);
      });
  const bool same_pids = counts_as_machine();
  Result<CardFaults> cards = CardFaults::follow(gpus, env_, [this, same_pids](std::int64_t pid) {
    return same_pids ? processes_->owner_of(pid) : ProcessOwner();
  });
  if (!cards)
    return log(is_first() ? "note" : "info",
               "GPU errors (Xid) cannot be read here: " + cards.error().text + "; " +
                   devices::kernel_log_advice);
  cards_ = *std::move(cards);
}

void HostRun::heed_card_memory(job::Message kind, const std::string& word) {
  if (!memory_ || !devices::tells_of_card_memory(word)) return;
  card_list_->catch_up();
  const std::optional<job::Verdict> verdict = verdict_in(kind, word);
  if (!verdict) return memory_->keep(Clock::now());
  if (verdict->host == spec_.host) memory_->blame(verdict->rank, Clock::now());
}

/// What the host's `train` says of its ranks; nothing else depends on it.
void HostRun::note_rank(std::string_view payload) {
  if (!processes_) return;
  const std::optional<job::RankStart> start = job::rank_start_from(payload);
  if (start) processes_->note(start->rank, start->pid);
}

/// All other failures are consequences of the first cause, unless that only reports another
/// process's end.
void HostRun::heed_failure(const job::Verdict& verdict, bool is_the_jobs) {
  constexpr std::size_t failures_max = 1024;
  const bool is_first_cause = is_the_jobs && !verdict.blames_peer;
  const bool is_here = verdict.host.empty() || verdict.host == spec_.host;
  if (!cards_ || verdict.success() || !is_here || cause_is_here_) return;
  cause_is_here_ = is_first_cause;
  CardFaults::Failure failure{verdict.rank, Clock::now(), {}};
  if (is_first_cause) {
    for (const CardFaults::Failure& seen : std::exchange(failures_, {}))
      if (seen.rank == failure.rank) failure.time = seen.time;
  }
  if (failures_.size() < failures_max) failures_.push_back(std::move(failure));
}

job::Card HostRun::explain_by_cards(std::vector<std::string>& met) {
  if (!cards_) return job::Card::working;
  cards_->look(Clock::now());
  if (failures_.empty()) failures_.push_back({-1, Clock::now(), {}});
  for (CardFaults::Failure& failure : failures_)
    if (processes_->knows(failure.rank)) failure.gpus = memory_->gpus_of(failure.rank);
  const CardFaults::Found found = cards_->explaining(failures_);
  met.insert(met.end(), found.lines.begin(), found.lines.end());
  return found.card;
}

// The steps from the host's end to its removal.

loop::Task<> HostRun::drained() {
  const TimePoint deadline = Clock::now() + drain_deadline;
  while (readers_ > 0) {
    const bool changed = co_await changed_.wait_until(deadline);
    if (changed) continue;
    log("warning", "the host's output stayed open after the host exited");
    co_return;
  }
}

loop::Task<> HostRun::store_checkpoints() {
  if (!checkpoints_) co_return;
  const Result<void> stored = co_await checkpoints_->finish();
  if (!stored) store_error_ = stored.error().in("checkpoints");
  if (store_error_) log("warning", store_error_->text);
  const std::uint64_t files = checkpoints_->files();
  if (files > 0)
    log("info", "checkpoints: " + std::to_string(files) + " stored, " +
                    std::to_string(checkpoints_->bytes()) + " bytes");
  checkpoints_.reset();
}

/// Reports the messages of a program other than `train` about its own failure: the job's program,
/// or one that should open its image.
void HostRun::tell_failure(const job::Outcome& outcome) {
  const std::string tool = spec_.spec.image ? spec_.spec.image->tool : "";
  if (has_verdict_ || outcome.success() || stopped_) return;
  if (spec_.spec.entrypoint.empty() && tool.empty()) return;
  job::Verdict verdict;
  verdict.outcome = outcome;
  verdict.host = spec_.host;
  verdict.process =
      spec_.spec.entrypoint.empty() ? tool : supervise::program_name(spec_.spec.entrypoint);
  verdict.failure_file = supervise::failure_text(container::ml_folder(spec_));
  verdict.last_lines = verdict.failure_file.empty() ? words_.text() : verdict.failure_file;
  if (verdict.failure_file.empty()) verdict.error = job::ending_of(words_.lines(), &outcome).error;
  journal_.append(job::Message::verdict, to_text(job::to_json(verdict)));
}

void HostRun::collect() {
  if (const Result<void> whole = housing_->check_disk(); !whole) store_error_ = whole.error();
  const Result<std::vector<std::string>> collected = collect_results(spec_);
  if (!collected) store_error_ = collected.error().in("results");
  if (store_error_) log("error", store_error_->text);
  if (collected)
    for (const std::string& warning : *collected) log("warning", warning);
}

loop::Task<> HostRun::take_down() {
  co_await housing_->end();
  unmount_below(container::ml_folder(spec_));
  container::unmount(container::layers_folder(spec_));
  if (!unwanted_) collect();
  co_await housing_->close();
}

void HostRun::finish(job::Outcome outcome, bool out_of_memory, std::vector<std::string> overruns,
                     job::Card card) {
  job::HostEnd end{spec_.host, std::move(outcome), out_of_memory, stopped_ || unwanted_};
  std::string message;
  if (!end.outcome.success()) message = job::describe(end.outcome);
  if (out_of_memory)
    message += std::string(message.empty() ? "" : "; ") +
               "the kernel killed a process because memory ran out";
  if (!end.outcome.success() && !end.stopped) {
    end.overruns = std::move(overruns);
    end.card = card;
  }
  for (const std::string& overrun : end.overruns) message += "; " + overrun;
  journal_.append(job::Message::outcome, job::encode(end));
  const job::Phase phase = end.outcome.success() ? job::Phase::completed
                           : end.stopped         ? job::Phase::stopped
                                                 : job::Phase::failed;
  journal_.append(job::PhaseChange{phase, message});
  if (const Result<void> kept = journal_.finish(); !kept) untold_ = kept.error();
}

Result<bool> HostRun::done() const {
  if (untold_) return *untold_;
  return done_;
}

void HostRun::forget() {
  done_ = remove_tree(spec_.host_folder).has_value() && done_;
  if (!folders_in(spec_.job_folder, "algo-").empty()) return;
  done_ = remove_tree(spec_.job_folder).has_value() && done_;
  const std::string place = job::place_around(spec_.job_folder);
  if (place != spec_.job_folder) ::rmdir(place.c_str());  // `sm node` may have been killed.
}

void HostRun::undone(const Error& error) {
  log("error", error.text);
  done_ = false;
}

void HostRun::enter(job::Phase phase, std::string message) {
  journal_.append(job::PhaseChange{phase, std::move(message)});
  flush();
}

void HostRun::log(const char* level, const std::string& text) {
  journal_.append(job::LogLine{level, text});
  flush();
}

}  // namespace muster::steward
