#include "machine/steward/steward.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <variant>

#include "base/json.h"
#include "base/log.h"
#include "base/process/data_limit.h"
#include "base/process/oom_score.h"
#include "base/process/private_folders.h"
#include "base/text.h"
#include "command/line.h"
#include "job/host_spec.h"
#include "machine/housing/folders.h"
#include "machine/steward/job_host.h"
#include "machine/steward/sweep.h"
#include "machine/steward/upload_results.h"
#include "net/loop/tasks.h"
#include "os/supervise/start_steward.h"

namespace muster::steward {
namespace {

constexpr int exit_undone = 1;
constexpr std::uint64_t journal_bytes_max = std::uint64_t{16} << 30;

struct StewardArgs {
  std::string spec_file;
  std::string upload_folder;
  std::string clear_folder;
  bool completed = false;
  int lifeline = -1;
  int gate = -1;
  bool sweep = false;
  bool json = false;
  bool kept_too = false;
};

/// -1 if the flag is not given.
Result<int> descriptor(const std::string& flag, const std::optional<std::string>& text) {
  if (!text) return -1;
  const std::optional<std::int64_t> fd = parse_integer(*text);
  if (fd && *fd >= 3 && ::fcntl(static_cast<int>(*fd), F_GETFD) >= 0) return static_cast<int>(*fd);
  return fail(Errc::invalid_input, flag + " " + *text + ": not an open file descriptor");
}

/// The parsed command line, or the reason why it is not run.
std::variant<StewardArgs, command::Stop> steward_args(const Args& args) {
  const command::Page& page = command::page_of("steward");
  command::Line line(page);
  StewardArgs given;
  std::optional<std::string> lifeline, gate;
  line.text("--spec", given.spec_file);
  line.text("--lifeline", lifeline);
  line.text("--gate", gate);
  line.text("--upload", given.upload_folder);
  line.flag("--completed", given.completed);
  line.text("--clear", given.clear_folder);
  line.flag("--sweep", given.sweep);
  line.flag("--json", given.json);
  line.flag("--all", given.kept_too);
  if (std::optional<command::Stop> stop = line.parse(args)) return *std::move(stop);
  if (given.sweep + !given.spec_file.empty() + !given.upload_folder.empty() +
          !given.clear_folder.empty() !=
      1)
    return command::wrong_line(
        page, "expected exactly one of --spec FILE, --upload DIR, --clear DIR and --sweep");
  const Result<int> lifeline_fd = descriptor("--lifeline", lifeline);
  if (!lifeline_fd) return command::wrong_line(page, lifeline_fd.error().text);
  const Result<int> gate_fd = descriptor("--gate", gate);
  if (!gate_fd) return command::wrong_line(page, gate_fd.error().text);
  given.lifeline = *lifeline_fd;
  given.gate = *gate_fd;
  return given;
}

Result<job::HostSpec> read_spec(const std::string& path) {
  const std::string text = TRY(read_file(path));
  const Result<Json> json = parse_json(text);
  if (!json) return json.error().in(path);
  Result<job::HostSpec> spec = job::host_spec_from(*json);
  if (!spec) return spec.error().in(path);
  return spec;
}

/// Waits for a byte from the process that started this one, which it sends once this pid is
/// recorded. If that process ended before, no byte arrives: a later process could not find this
/// one.
bool may_begin(int gate) {
  if (gate < 0) return true;
  const Fd fd(gate);
  char word = 0;
  ssize_t count = 0;
  do count = ::read(fd.get(), &word, 1);
  while (count < 0 && errno == EINTR);
  return count == 1;
}

/// An untrusted program's file names and words cannot use up the machine's memory.
void limit_own_memory() {
  limit_data(job::steward_memory_max, supervise::out_of_memory_words() + "\n");
}

Result<bool> run_host(const StewardArgs& given, const Env& env) {
  Fd lifeline(given.lifeline);
  job::HostSpec spec = TRY(read_spec(given.spec_file));
  TRY(make_folders(spec.host_folder, 0700));
  const Fd lock = TRY(take_lock(spec.host_folder + "/lock"));
  limit_own_memory();
  JournalFile journal = TRY(JournalFile::open(spec.host_folder + "/journal", journal_bytes_max,
                                              static_cast<std::uint64_t>(spec.journal_from)));
  loop::Loop loop;
  HostRun host(loop, std::move(spec), env, std::move(journal), std::move(lifeline));
  loop::Tasks tasks(loop);
  tasks.start(host.run());
  loop.run();
  return host.done();
}

int print_swept(const Swept& swept, bool json) {
  const std::string text = json ? to_text(to_json(swept)) + "\n" : lines_of(swept);
  static_cast<void>(write_all(STDOUT_FILENO, text));
  return swept.failed.empty() ? 0 : exit_undone;
}

/// Prints the stored files on standard output.
int run_upload(const StewardArgs& given, const Env& env, const Log& log) {
  limit_own_memory();
  const Result<std::string> done = upload_results(given.upload_folder, given.completed, env);
  if (!done) log.error(done.error().text);
  if (done) static_cast<void>(write_all(STDOUT_FILENO, *done + "\n"));
  return done ? 0 : exit_undone;
}

}  // namespace

int steward_main(const Args& args, const Env& env) {
  const Log log(STDERR_FILENO, "sm steward", Log::Level::info);
  const std::variant<StewardArgs, command::Stop> line = steward_args(args);
  if (const command::Stop* stop = std::get_if<command::Stop>(&line)) return tell(*stop, log);
  const StewardArgs& given = std::get<StewardArgs>(line);
  // Inherited descriptors (the job's lock, the lifeline) must not be passed on to the container.
  ::syscall(SYS_close_range, 3u, ~0u, CLOSE_RANGE_CLOEXEC);
  if (given.sweep || !given.clear_folder.empty()) {
    const Env::const_iterator state = env.find("MUSTER_STATE");
    const SweepOptions options{state == env.end() ? default_state_folder : state->second,
                               given.kept_too};
    const Result<Swept> swept =
        given.sweep ? sweep(options, env) : clear_hosts(given.clear_folder, env);
    if (swept) return print_swept(*swept, given.json);
    log.error(swept.error().text);
    return exit_undone;
  }
  if (!given.upload_folder.empty()) return run_upload(given, env, log);
  if (!may_begin(given.gate)) return 0;
  outlive_others();
  ::umask(022);  // Secret files set their own mode; the host's folders have the modes that programs
                 // expect.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // A container's init becomes our child when runc has ended.
  const Result<bool> done = run_host(given, env);
  if (!done) log.error(done.error().text);
  return done && *done ? 0 : exit_undone;
}

}  // namespace muster::steward
