#include "steward/host_run.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "container/bound_mount.h"
#include "container/cgroup.h"
#include "container/outside.h"
#include "container/rootfs.h"
#include "job/ml_paths.h"
#include "steward/bring.h"
#include "steward/checkpoint_folder.h"
#include "steward/failure_file.h"
#include "steward/folders.h"
#include "steward/s3_access.h"
#include "steward/staging.h"
#include "supervise/output.h"

namespace muster::steward {
namespace {

using container::Process;

/// After the grace, for `train` to have killed its own and told why.
constexpr std::chrono::seconds kill_margin{2};
/// Streams end with the container's last process; this guards against one that does not die.
constexpr std::chrono::seconds drain_deadline{5};
constexpr Duration init_poll = std::chrono::milliseconds(5);
constexpr std::size_t stream_bytes = 1u << 20;
constexpr std::size_t accounts_bytes_max = 1u << 20;  ///< An image's passwd and group files.
/// Where a host asks for names, inside of its own network.
constexpr const char* name_service = "127.0.0.1";
constexpr std::uint16_t name_port = 53;

/// The host as a server on this machine sees it: its own address in the loopback's network.
std::string outer_address(const job::HostSpec& spec) {
  const std::string& own = job::own_address(spec);
  return "127" + own.substr(std::min(own.find('.'), own.size()));
}

}  // namespace

HostRun::HostRun(loop::Loop& loop, job::HostSpec spec, Env env, JournalFile journal, Fd lifeline)
    : loop_(loop),
      spec_(std::move(spec)),
      env_(std::move(env)),
      journal_(std::move(journal)),
      lifeline_(std::move(lifeline)),
      changed_(loop),
      kill_timer_(loop),
      word_(spec_.host, job::host_names(spec_.spec.instance_count)),
      tasks_(loop) {}

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
  kill_timer_.cancel();
  co_await drained();
  const bool out_of_memory =
      prepared && container::killed_for_memory(container::cgroup_path(spec_));
  if (init_) enter(job::Phase::uploading);
  co_await store_checkpoints();
  if (prepared) tell_failure(outcome);
  co_await take_down();
  if (store_error_ && outcome.success()) outcome = job::Outcome::failed(store_error_->text);
  if (journal_error_) outcome = job::Outcome::failed(journal_error_->text);
  finish(std::move(outcome), out_of_memory);
  if (unwanted_) forget();
  loop_.stop();
}

// What others want of us.

void HostRun::stop(std::chrono::milliseconds grace) {
  if (kill_) return;
  if (stopped_ || grace.count() == 0) {  // Asked for twice: now.
    stopped_ = true;
    return kill_now();
  }
  stopped_ = true;
  changed_.notify();
  log("info", "stopping, at most " + std::to_string(grace.count()) + " ms");
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
    const bool known = frame->type == job::type_of(job::Message::signal) && json &&
                       json->is_object() && json->contains("grace_ms") &&
                       (*json)["grace_ms"].is_number_integer();
    const std::int64_t grace_ms = known ? (*json)["grace_ms"].get<std::int64_t>() : -1;
    if (grace_ms < 0) {
      peer->post(job::type_of(job::Message::failed),
                 to_text(Json{{"why", "expected signal {grace_ms}"}}));
      static_cast<void>(co_await peer->flushed());
      co_return;
    }
    stop(std::chrono::milliseconds(grace_ms));
  }
}

// From nothing to a running container.

loop::Task<Result<void>> HostRun::still_wanted() {
  loop::Timer moment(loop_);
  co_await moment.after(Duration::zero());
  if (unwanted_) co_return fail(Errc::closed, "nobody wants this host any more");
  if (stopped_ || kill_) co_return fail(Errc::closed, "stopped before it was started");
  if (journal_error_) co_return *journal_error_;
  co_return Result<void>();
}

loop::Task<Result<void>> HostRun::prepare() {
  Result<container::Runtime> runtime = container::Runtime::find(env_);
  if (!runtime) co_return runtime.error();
  runtime_ = *std::move(runtime);
  if (spec_.host == job::host_names(spec_.spec.instance_count).front())
    for (const std::string& note : spec_.spec.notes) log("note", note);
  if (Result<void> made = make_host_files(spec_); !made) co_return made.error();
  if (Result<void> done = mount_and_connect(); !done) co_return done.error();
  if (Result<void> wanted = co_await still_wanted(); !wanted) co_return wanted.error();
  enter(job::Phase::downloading);
  if (Result<void> brought = co_await bring_inputs(); !brought) co_return brought.error();
  if (Result<void> staged = co_await stage_inputs(); !staged) co_return staged.error();
  if (Result<void> kept = co_await keep_checkpoints(); !kept) co_return kept.error();
  if (Result<void> wanted = co_await still_wanted(); !wanted) co_return wanted.error();
  co_return co_await start_container();
}

Result<void> HostRun::mount_and_connect() {
  TRY(container::enter_private_mounts());
  machine_ = TRY(container::read_machine(spec_, env_));
  Result<void> made;
  if (spec_.first_id != 0) made = put_together(static_cast<std::uint32_t>(spec_.first_id));
  if (!made) {
    log("warning", "no user namespace: root of this host is root of the machine by number (" +
                       made.error().text + ")");
    ids_ = {};
    container::unmount_host_place();
    container::unmount(spec_.host_folder + "/layers");
    for (const char* folder : {"/layers", "/root"}) TRY(remove_tree(spec_.host_folder + folder));
  }
  if (!ids_) TRY(put_together(std::nullopt));
  network_.emplace(TRY(container::HostNetwork::open(spec_, std::move(namespaces_.network), env_)));
  TRY(open_relay());
  return open_name_service();
}

/// The host's root, for which `first_id` is root, where kernel and file systems can do that.
Result<void> HostRun::put_together(std::optional<std::uint32_t> first_id) {
  const std::string layers = spec_.host_folder + "/layers";
  TRY(container::mount_host_place());
  TRY(container::make_layers(layers));
  namespaces_ = TRY(container::open_namespaces(first_id));
  if (first_id) ids_ = {namespaces_.user.get(), *first_id};
  TRY(container::show_machine(ids_));
  if (spec_.spec.image) {
    TRY(container::mount_image_root(spec_.spec.image->layers, layers + "/root", ids_));
    return become_user();
  }
  for (const std::string& line : TRY(container::mount_host_root(
           machine_.view, layers + "/root", container::root_folder(spec_), ids_)))
    log("warning", line);
  return {};
}

/// Finds the image's USER, and gives it what it has to write.
Result<void> HostRun::become_user() {
  const auto file = [](const char* path) {
    return container::read_in_root(container::host_root(), path, accounts_bytes_max).value_or("");
  };
  user_ = TRY(job::user_of(spec_.spec.image->user, file("etc/passwd"), file("etc/group")));
  return give_to_user(spec_, user_);
}

/// The job's S3 is there inside of the host, too.
Result<void> HostRun::open_relay() {
  const std::optional<container::Doorway> way = TRY(container::doorway(spec_.spec.s3));
  if (!way) return {};
  relay_ = loop::Relay::open(loop_, TRY(network_->listen(way->address, way->port)),
                             {.host = way->host, .port = way->port, .from = outer_address(spec_)});
  return {};
}

/// Names are the machine's to look up: its own resolver may be one that only it reaches.
Result<void> HostRun::open_name_service() {
  if (!network_->why_not().empty())
    log("warning", "the job reaches nothing outside: " + network_->why_not() +
                       "; --network none asks for that without this line");
  if (!network_->leads_outside()) return {};
  const std::string resolv_conf = read_file("/etc/resolv.conf").value_or("");
  const std::vector<std::string> servers = container::name_servers(resolv_conf);
  datagrams_ = loop::DatagramRelay::open(
      loop_, TRY(network_->take_datagrams(name_service, name_port)), {servers, name_port});
  long_answers_ = loop::Relay::open(loop_, TRY(network_->listen(name_service, name_port)),
                                    {.host = servers.front(), .port = name_port});
  return write_file(container::bundle_folder(spec_) + "/resolv.conf",
                    container::host_resolv_conf(resolv_conf, name_service));
}

/// What S3 has for this host. A host that is no longer wanted does not wait for it: a server that
/// is silent is asked again and again.
loop::Task<Result<void>> HostRun::bring_inputs() {
  if (!needs_s3(spec_.spec)) co_return Result<void>();
  Result<std::unique_ptr<s3client::S3Client>> client = open_s3(loop_, spec_.spec.s3, env_);
  if (!client) co_return client.error();
  s3_ = *std::move(client);
  s3client::FetchStop stop(loop_);
  std::optional<Result<void>> done;
  loop::Tasks bringing(loop_);
  bringing.start(bring_all(stop, done));
  while (!done && !stopped_ && !kill_) co_await changed_.wait();
  if (done) co_return *done;
  stop.wanted = true;
  while (stop.threads > 0) co_await stop.changed.wait();
  co_return fail(Errc::closed, "stopped while its inputs were downloaded");
}

loop::Task<> HostRun::bring_all(s3client::FetchStop& stop, std::optional<Result<void>>& done) {
  Tell tell = [this](const std::string& line) { log("info", line); };
  done = co_await bring(loop_, spec_, s3_->state(), stop, std::move(tell));
  changed_.notify();
}

/// Checkpoints in a folder are brought here; those in S3 came with the inputs.
loop::Task<Result<void>> HostRun::keep_checkpoints() {
  if (!job::keeps_checkpoints(spec_.spec)) co_return Result<void>();
  const std::string here = container::ml_folder(spec_) + "/checkpoints";
  const std::string& folder = spec_.spec.checkpoint_folder;
  std::unique_ptr<CheckpointPlace> place;
  if (folder.empty()) {
    const Result<s3wire::S3Url> to = s3wire::parse_s3_prefix(spec_.spec.checkpoint_url);
    if (!to) co_return to.error();
    place = checkpoints_in_s3(s3_, *to);
  } else {
    Result<std::unique_ptr<CheckpointPlace>> opened =
        checkpoints_in_folder(loop_, folder, spec_.spec.checkpoint_owner);
    if (!opened) co_return opened.error().in("checkpoints");
    place = *std::move(opened);
    const Staged kept{"checkpoints", folder, "", here};
    const std::function<int()> restore = [folder, here] {
      return restore_checkpoints(folder, here);
    };
    Result<Process> copy = start_copy(restore);
    const Result<void> restored = co_await finish_copy(kept, std::move(copy));
    if (!restored) co_return restored.error();
  }
  CheckpointSync::Options options{.folder = here};
  Result<std::unique_ptr<CheckpointSync>> sync =
      CheckpointSync::start(loop_, std::move(place), std::move(options),
                            [this](const std::string& line) { log("warning", line); });
  if (!sync) co_return sync.error();
  checkpoints_ = *std::move(sync);
  co_return Result<void>();
}

/// Waits for a copy, which a stop ends.
loop::Task<Result<void>> HostRun::finish_copy(Staged staged, Result<Process> copy) {
  if (!copy) co_return copy.error();
  copy_ = *std::move(copy);
  Result<void> done = co_await copied(loop_, staged, *copy_);
  copy_.reset();
  if (Result<void> wanted = co_await still_wanted(); !wanted) co_return wanted.error();
  co_return done;
}

loop::Task<Result<void>> HostRun::stage_inputs() {
  const Result<std::string> mountinfo = read_file("/proc/self/mountinfo");
  if (!mountinfo) co_return mountinfo.error();
  const std::vector<std::string> points = container::mount_points(*mountinfo);
  for (const Staged& staged : to_stage(spec_)) {
    Result<std::optional<Process>> copy = stage(staged, points, ids_);
    if (!copy) co_return copy.error();
    if (!*copy) {
      staged_.push_back(staged.target.substr(container::ml_folder(spec_).size()));
      continue;
    }
    log("info", staged.what + ": copying " + staged.from + " (no overlay possible)");
    Result<Process> begun(*std::move(*copy));
    const Result<void> done = co_await finish_copy(staged, std::move(begun));
    if (!done) co_return done.error();
  }
  co_return Result<void>();
}

container::Facts HostRun::facts() const {
  container::Facts facts;
  facts.program = machine_.program;
  facts.network_namespace = network_->path();
  if (ids_) {
    facts.user_namespace = container::path_of(namespaces_.user);
    facts.first_id = ids_.first;
  }
  facts.user = user_;
  if (!spec_.spec.image) {
    facts.binds = machine_.view.binds;
    facts.masks = machine_.view.masks;
  }
  const std::string ml = container::ml_folder(spec_);
  for (const Staged& staged : to_stage(spec_)) {
    if (container::is_in(staged.from, spec_.job_folder)) continue;  // Fetched for this very job.
    const std::string in_host = job::ml_path + staged.target.substr(ml.size());
    for (std::string& mask : container::inside(machine_.muster_folders, staged.from, in_host))
      facts.masks.push_back(std::move(mask));
  }
  for (const job::BoundPath& bound : spec_.spec.bound)
    for (std::string& mask :
         container::inside(machine_.muster_folders, bound.outside, bound.inside))
      facts.masks.push_back(std::move(mask));
  facts.staged = staged_;
  facts.limits =
      container::host_limits(container::job_limits(machine_.size), spec_.spec.instance_count,
                             spec_.spec.shm_bytes, container::memory_of(spec_));
  facts.open_files_max = machine_.open_files_max;
  return facts;
}

/// Mounts what the bundle names, where its runtime finds it.
Result<void> HostRun::show(const container::Facts& facts) {
  std::size_t number = 0;
  for (const container::Bind& bind : container::binds(spec_, facts)) {
    const std::string place = container::shown_place(number++);
    if (bind.bound) {
      const std::string note =
          TRY(container::mount_bound(*bind.bound, place, ids_, machine_.muster_folders));
      if (!note.empty()) log("warning", note);
    } else if (bind.read_only) {
      TRY(container::mount_read_only(bind.source, place, ids_));
    } else {
      TRY(container::mount_bind(bind.source, place, ids_, {false, bind.translated}));
    }
  }
  return {};
}

/// The job's own limits, and those of all jobs together. Callers hold the job's lock.
Result<void> HostRun::limit() {
  const container::JobLimits limits = container::job_limits(machine_.size);
  TRY(container::limit_cgroup(container::jobs_cgroup, limits));
  return container::limit_cgroup(container::job_cgroup_path(spec_), limits);
}

loop::Task<Result<void>> HostRun::start_container() {
  const container::Facts found = facts();
  if (spec_.spec.shm_bytes > job::shm_bytes_default &&
      found.limits.shm_bytes < spec_.spec.shm_bytes)
    log("warning", "/dev/shm has " + std::to_string(found.limits.shm_bytes >> 20) +
                       " MiB, not the " + std::to_string(spec_.spec.shm_bytes >> 20) +
                       " MiB that were asked for: at most a quarter of the host's part of memory");
  if (Result<void> shown = show(found); !shown) co_return shown.error();
  Result<void> written = write_file(container::bundle_folder(spec_) + "/config.json",
                                    container::bundle_config(spec_, found), 0600);
  if (!written) co_return written.error();
  Result<Pipe> out = make_pipe(), err = make_pipe(), stream = make_pipe(), lifeline = make_pipe();
  if (!out || !err || !stream || !lifeline) co_return fail_errno("pipe");
  // Programs open these anew, as /dev/stderr or /proc/1/fd/3: they are the host's own.
  for (const Fd* end : {&out->write, &err->write, &stream->write})
    if (Result<void> given = container::give(*end, ids_, user_.uid); !given)
      co_return given.error();
  ::fcntl(stream->read.get(), F_SETPIPE_SZ, stream_bytes);  // Fewer turns; fine if refused.
  container_lifeline_ = std::move(lifeline->write);
  enter(job::Phase::training);
  const Result<Fd> joining = wait_for_shared_lock(spec_.job_folder, false);
  if (!joining) co_return joining.error();
  if (Result<void> limited = limit(); !limited) co_return limited.error();
  container::ContainerStdio stdio{std::move(out->write), std::move(err->write),
                                  std::move(stream->write), std::move(lifeline->read)};
  Result<Process> init = co_await runtime_->start(loop_, spec_, std::move(stdio));
  if (!init) co_return init.error();
  init_ = *std::move(init);
  running_ = true;
  if (kill_) init_->signal(SIGKILL);
  if (stopped_) tasks_.start(terminate());
  readers_ = 3;
  tasks_.start(read_stream(std::move(stream->read)));
  tasks_.start(read_output(std::move(out->read), job::Stream::out));
  tasks_.start(read_output(std::move(err->read), job::Stream::err));
  co_return Result<void>();
}

// While it runs.

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
    if (!whole) continue;  // Read on, so that nobody waits for us, but it means nothing.
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
  const Result<std::optional<std::string>> taken = word_.taken(frame);
  if (!taken && !doubted_) log("warning", "passed over from the host: " + taken.error().text);
  doubted_ = doubted_ || !taken;
  if (!taken || !*taken) return;
  const job::Message kind = static_cast<job::Message>(frame.type);
  has_verdict_ = has_verdict_ || kind == job::Message::verdict;
  journal_.append(kind, **taken);
}

loop::Task<> HostRun::read_output(Fd pipe, job::Stream stream) {
  supervise::OutputReader reader(loop_, std::move(pipe), -1, stream);
  const supervise::OutputReader::Sink sink = [this](job::Lines lines) -> loop::Task<> {
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

// From its end to nothing.

loop::Task<> HostRun::drained() {
  const TimePoint deadline = Clock::now() + drain_deadline;
  while (readers_ > 0) {
    const bool changed = co_await changed_.wait_until(deadline);
    if (changed) continue;
    log("warning", "the host's output did not end with it");
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

/// Tells what a program that is not `train` wrote about its own failure.
void HostRun::tell_failure(const job::Outcome& outcome) {
  if (has_verdict_ || outcome.success() || stopped_ || spec_.spec.entrypoint.empty()) return;
  job::Verdict verdict;
  verdict.outcome = outcome;
  verdict.host = spec_.host;
  verdict.process = program_name(spec_.spec.entrypoint);
  verdict.last_lines = failure_text(container::ml_folder(spec_));
  if (verdict.last_lines.empty()) verdict.last_lines = words_.text();
  journal_.append(job::Message::verdict, to_text(job::to_json(verdict)));
}

loop::Task<> HostRun::take_down() {
  if (init_) {  // What did not start has been removed by then.
    const Result<void> removed = co_await runtime_->remove(loop_, container::container_id(spec_),
                                                           container::bundle_folder(spec_));
    if (!removed) undone(removed.error());
  }
  container::unmount_host_place();
  unmount_below(container::ml_folder(spec_));
  container::unmount(spec_.host_folder + "/layers");
  const Result<std::vector<std::string>> collected = collect_results(spec_);
  if (!collected) log("error", collected.error().text);
  if (collected)
    for (const std::string& warning : *collected) log("warning", warning);
  relay_.reset();
  datagrams_.reset();
  long_answers_.reset();
  if (network_)
    if (const Result<void> closed = network_->close(spec_, env_); !closed) undone(closed.error());
  network_.reset();
  for (const char* folder : {"/layers", "/root", "/ml"}) {
    const Result<void> removed = remove_tree(spec_.host_folder + folder);
    if (!removed) undone(removed.error());
  }
  if (const Result<Fd> leaving = wait_for_shared_lock(spec_.job_folder, true)) {
    container::remove_cgroup(container::cgroup_path(spec_));
    container::remove_idle_cgroup(container::job_cgroup_path(spec_));
  }
}

void HostRun::finish(job::Outcome outcome, bool out_of_memory) {
  job::HostEnd end{spec_.host, std::move(outcome), out_of_memory, stopped_ || unwanted_};
  std::string message;
  if (!end.outcome.success()) message = job::describe(end.outcome);
  if (out_of_memory)
    message += std::string(message.empty() ? "" : "; ") + "the kernel killed a process for memory";
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
