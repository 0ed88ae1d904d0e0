// HostRun's steps up to a running host.

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "base/process/rootless.h"
#include "base/text.h"
#include "container/bundle/bundle.h"
#include "container/bundle/machine_mounts.h"
#include "machine/housing/bring.h"
#include "machine/housing/staging.h"
#include "machine/steward/checkpoint_folder.h"
#include "machine/steward/job_host.h"
#include "machine/steward/s3_access.h"
#include "net/loop/worker.h"
#include "os/supervise/spawn.h"

namespace muster::steward {
namespace {

using container::Process;

/// Hosts that exchange data over a wire, a cluster's, refuse encryption: job::check().
constexpr const char* not_encrypted_note =
    "traffic between hosts stays inside this machine's kernel; it is not encrypted";
constexpr std::size_t stream_bytes = 1u << 20;
constexpr std::size_t said_bytes_max = 4096;  ///< A program's last output.

/// Sockets, because a pipe's other end can be reopened through /proc: a process in the host that
/// held it could outlive the steward.
Result<Pipe> make_lifeline() {
  std::pair<Fd, Fd> ends = TRY(make_socket_pair());
  return Pipe{std::move(ends.first), std::move(ends.second)};
}

/// "apptainer pull docker://box", without its options.
std::string tool_words(const Args& argv) {
  std::string words = argv.front().substr(argv.front().rfind('/') + 1);
  for (std::size_t i = 1; i < argv.size(); ++i)
    if (!argv[i].starts_with("-") && !argv[i].starts_with("/")) words += " " + argv[i];
  return words;
}

/// The last line with text that a program wrote; `otherwise` if there is none.
std::string last_line(const Fd& said, const std::string& otherwise) {
  std::string text(said_bytes_max, '\0');
  const off_t end = ::lseek(said.get(), 0, SEEK_END);
  const off_t from = std::max<off_t>(0, end - static_cast<off_t>(said_bytes_max));
  const ssize_t count = ::pread(said.get(), text.data(), text.size(), from);
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  const std::vector<std::string> lines = split(text, '\n');
  for (auto line = lines.rbegin(); line != lines.rend(); ++line)
    if (!trim(*line).empty()) return to_utf8(trim(*line));
  return otherwise;
}

}  // namespace

loop::Task<Result<void>> HostRun::still_wanted() {
  loop::Timer moment(loop_);
  co_await moment.after(Duration::zero());
  if (unwanted_) co_return fail(Errc::closed, "this host is no longer needed");
  if (stopped_ || kill_) co_return fail(Errc::closed, "stopped before it started");
  if (journal_error_) co_return *journal_error_;
  co_return Result<void>();
}

loop::Task<Result<void>> HostRun::prepare() {
  if (is_first()) {
    for (const std::string& note : spec_.spec.notes) log("note", note);
    if (spec_.spec.encrypted) log("note", not_encrypted_note);
  }
  if (Result<void> opened = housing_->open(); !opened) co_return opened.error();
  if (Result<void> made = make_host_files(spec_, link_owner()); !made) co_return made.error();
  if (Result<void> built = housing_->build(); !built) co_return built.error();
  if (Result<void> wanted = co_await still_wanted(); !wanted) co_return wanted.error();
  journal_.append(job::Moment{job::Mark::root});
  enter(job::Phase::downloading);
  if (Result<void> brought = co_await bring_inputs(); !brought) co_return brought.error();
  if (Result<void> staged = co_await stage_inputs(); !staged) co_return staged.error();
  if (Result<void> kept = co_await keep_checkpoints(); !kept) co_return kept.error();
  if (Result<void> wanted = co_await still_wanted(); !wanted) co_return wanted.error();
  journal_.append(job::Moment{job::Mark::inputs, static_cast<std::int64_t>(brought_bytes_)});
  co_return co_await start_host();
}

/// On this machine `sm fit` has replaced links of paths by where they lead. A cluster's nodes may
/// have other links; without root there, a steward's user namespace hides whose they are, and
/// following one lends no rights that the user lacks.
LinkOwner HostRun::link_owner() const {
  const bool on_node = spec_.light || spec_.in_step;
  const bool is_root = ::geteuid() == 0 && rootless_ids(env_) == 0;
  return on_node && !is_root ? LinkOwner() : LinkOwner(::geteuid());
}

/// Downloads this host's inputs from S3. A host that is no longer needed does not wait for them:
/// requests to a silent server are retried for long.
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
  co_return fail(Errc::closed, "the host was stopped while its inputs were being downloaded");
}

loop::Task<> HostRun::bring_all(s3client::FetchStop& stop, std::optional<Result<void>>& done) {
  Tell tell = [this](const std::string& line, std::uint64_t bytes) {
    log("info", line);
    brought_bytes_ += bytes;
  };
  done = co_await bring(loop_, spec_, s3_->state(), stop, std::move(tell));
  changed_.notify();
}

/// Copies checkpoints from a folder; those in S3 were downloaded with the inputs.
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
    const Result<CheckpointFolder> opened = open_checkpoint_folder(folder, link_owner());
    if (!opened) co_return opened.error().in("checkpoints");
    place = checkpoints_in_folder(loop_, *opened, spec_.spec.checkpoint_owner);
    const Staged kept{"checkpoints", folder, "", here};
    const std::function<int()> restore = [from = *opened, here] {
      return restore_checkpoints(from, here);
    };
    Result<Process> copy = start_copy(restore);
    const Result<void> restored = co_await finish_copy(kept, std::move(copy));
    if (!restored) co_return restored.error();
  }
  const auto give = [this] { return housing_->give_checkpoints(); };
  if (Result<void> given = co_await loop::in_thread(loop_, give); !given) co_return given.error();
  CheckpointSync::Options options{.folder = here};
  options.tell_stored = [this](const std::string& line) { log("info", line); };
  Result<std::unique_ptr<CheckpointSync>> sync =
      CheckpointSync::start(loop_, std::move(place), std::move(options),
                            [this](const std::string& line) { log("warning", line); });
  if (!sync) co_return sync.error();
  checkpoints_ = *std::move(sync);
  co_return Result<void>();
}

/// Waits for a copy; a stop ends it.
loop::Task<Result<void>> HostRun::finish_copy(Staged staged, Result<Process> copy) {
  if (!copy) co_return copy.error();
  copy_ = *std::move(copy);
  Result<void> done = co_await copied(loop_, staged, *copy_);
  copy_.reset();
  if (Result<void> wanted = co_await still_wanted(); !wanted) co_return wanted.error();
  co_return done;
}

/// Runs a program, which may take long because it downloads; a stop ends it. If it fails, its last
/// output is the reason.
loop::Task<Result<void>> HostRun::run_tool(Command command) {
  const std::string words = tool_words(command.argv);
  log("info", words);
  const Fd said(::memfd_create("tool", MFD_CLOEXEC));
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!said || !null) co_return fail_errno("cannot create an in-memory file");
  const Result<pid_t> pid = supervise::spawn(command, {null.get(), said.get(), said.get(), {}}, {});
  if (!pid) co_return pid.error();
  Result<Process> process = Process::open(*pid);
  if (!process) co_return process.error();
  copy_ = *std::move(process);
  const job::Outcome outcome = co_await copy_->ended(loop_);
  copy_.reset();
  if (Result<void> wanted = co_await still_wanted(); !wanted) co_return wanted.error();
  if (outcome.success()) co_return Result<void>();
  co_return fail(Errc::system, words + ": " + last_line(said, job::describe(outcome)));
}

loop::Task<Result<void>> HostRun::stage_inputs() {
  const Result<std::string> mountinfo = read_file("/proc/self/mountinfo");
  if (!mountinfo) co_return mountinfo.error();
  const std::vector<std::string> points = container::mount_points(*mountinfo);
  for (const Staged& staged : to_stage(spec_)) {
    Result<std::optional<Process>> copy = stage(staged, points, housing_->ids(), link_owner());
    if (!copy) co_return copy.error();
    if (!*copy) {
      staged_.push_back(staged.target.substr(container::ml_folder(spec_).size()));
      continue;
    }
    log("info", staged.what + ": copying " + staged.from + " (overlay mounts are not possible)");
    Result<Process> begun(*std::move(*copy));
    const Result<void> done = co_await finish_copy(staged, std::move(begun));
    if (!done) co_return done.error();
  }
  co_return Result<void>();
}

loop::Task<Result<void>> HostRun::start_host() {
  if (Result<void> furnished = housing_->furnish(staged_); !furnished) co_return furnished.error();
  for (const Command& command : housing_->before_start())
    if (Result<void> done = co_await run_tool(command); !done) co_return done.error();
  Result<Pipe> out = make_pipe(), err = make_pipe(), stream = housing_->make_stream();
  Result<Pipe> lifeline = make_lifeline();
  if (!out || !err || !stream || !lifeline) co_return fail_errno("cannot create a pipe");
  ::fcntl(stream->read.get(), F_SETPIPE_SZ,
          stream_bytes);  // Fewer reads; an error does not matter.
  init_lifeline_ = std::move(lifeline->write);
  enter(job::Phase::training);
  container::ContainerStdio stdio{std::move(out->write), std::move(err->write),
                                  std::move(stream->write), std::move(lifeline->read)};
  Result<Process> init = co_await housing_->start(std::move(stdio));
  if (!init) co_return init.error();
  init_ = *std::move(init);
  running_ = true;
  ::send(init_lifeline_.get(), ".", 1, MSG_NOSIGNAL);  // The file systems are open: it may exit.
  if (kill_) init_->signal(SIGKILL);
  if (stopped_) tasks_.start(terminate());
  follow_cards();
  tasks_.start(watch_places());
  readers_ = 3;
  tasks_.start(read_stream(std::move(stream->read)));
  tasks_.start(read_output(std::move(out->read), job::Stream::out));
  tasks_.start(read_output(std::move(err->read), job::Stream::err));
  co_return Result<void>();
}

}  // namespace muster::steward
