#include "container/bundle/runtime.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/fields.h"
#include "base/files/remove_tree.h"
#include "base/json.h"
#include "base/text.h"
#include "container/bundle/bundle.h"
#include "net/loop/tasks.h"
#include "os/supervise/spawn.h"

namespace muster::container {
namespace {

namespace fs = std::filesystem;

constexpr const char* state_folder = "/run/muster/runc";
constexpr const char* system_path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr std::chrono::seconds call_deadline{60};
constexpr std::size_t log_bytes_max = 1u << 20;

/// Kills `process` at `deadline`, unless it has ended.
loop::Task<> kill_at(loop::Loop& loop, TimePoint deadline, const Process& process, bool& late) {
  loop::Timer timer(loop);
  co_await timer.until(deadline);
  late = true;
  process.signal(SIGKILL);
}

}  // namespace

std::string runtime_error(std::string_view log) {
  std::string found;
  for (const std::string& line : split(log, '\n')) {
    const Result<Json> json = parse_json(line);
    if (!json || member_text(*json, "level") != "error") continue;
    found = trim(member_text(*json, "msg"));
  }
  for (char& c : found)
    if (c == '\n') c = ' ';
  return found;
}

Result<Runtime> Runtime::find(const Env& env) {
  const Env::const_iterator path = env.find("PATH");
  const std::string search =
      path == env.end() ? system_path : path->second + ":" + std::string(system_path);
  const Result<std::string> program = supervise::find_program("runc", {{"PATH", search}}, "/");
  if (!program) return fail(Errc::not_found, "runc is not installed (Debian package: runc)");
  return Runtime(*program);
}

loop::Task<Result<void>> Runtime::call(loop::Loop& loop, Args args, std::string log,
                                       ContainerStdio stdio) const {
  Command command;
  command.argv = {program_, "--root", state_folder, "--log", log, "--log-format", "json"};
  command.argv.insert(command.argv.end(), args.begin(), args.end());
  command.env = {{"PATH", system_path}};
  command.cwd = std::string("/");
  Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  supervise::Stdio fds{null.get(),
                       stdio.out ? stdio.out.get() : null.get(),
                       stdio.err ? stdio.err.get() : null.get(),
                       {}};
  if (stdio.steward_stream) fds.extra.emplace_back(steward_stream_fd, stdio.steward_stream.get());
  if (stdio.lifeline) fds.extra.emplace_back(lifeline_fd, stdio.lifeline.get());
  ::unlink(log.c_str());
  const Result<pid_t> pid = supervise::spawn(command, fds, {});
  if (!pid) co_return pid.error();
  stdio = {};
  Result<Process> opened = Process::open(*pid);
  if (!opened) co_return opened.error();
  bool late = false;
  loop::Tasks killer(loop);
  killer.start(kill_at(loop, Clock::now() + call_deadline, *opened, late));
  const job::Outcome outcome = co_await opened->ended(loop);
  if (outcome.success()) co_return Result<void>();
  if (late) co_return fail(Errc::timeout, "runc: did not respond within a minute");
  const std::string why = runtime_error(read_file(log, log_bytes_max).value_or(""));
  co_return fail(Errc::system, "runc: " + (why.empty() ? job::describe(outcome) : why));
}

loop::Task<Result<Process>> Runtime::start(loop::Loop& loop, const job::HostSpec& spec,
                                           ContainerStdio stdio) const {
  const Result<void> folder = make_folders(state_folder, 0700);
  if (!folder) co_return folder.error();
  const std::string bundle = bundle_folder(spec);
  const std::string pid_file = bundle + "/pid";
  const std::string id = container_id(spec);
  std::error_code code;
  if (fs::exists(fs::path(state_folder) / id, code))
    co_return fail(
        Errc::invalid_input,
        "a container named " + id + " already exists; remove dead containers with `sm clean`");
  Args args{"run",      "--detach", "--preserve-fds", std::to_string(preserved_fds),
            "--bundle", bundle,     "--pid-file",     pid_file,
            id};
  Result<void> ran = co_await call(loop, std::move(args), bundle + "/runc.log", std::move(stdio));
  if (ran) {
    const std::optional<std::int64_t> pid =
        parse_integer(trim(read_file(pid_file, 64).value_or("")));
    if (pid) co_return Process::open(static_cast<pid_t>(*pid));
    ran = fail(Errc::system, "runc: did not write a process ID to " + pid_file);
  }
  static_cast<void>(co_await remove(loop, id, bundle));
  co_return ran.error();
}

loop::Task<Result<void>> Runtime::remove(loop::Loop& loop, std::string id,
                                         std::string log_folder) const {
  std::error_code code;
  if (!fs::exists(fs::path(state_folder) / id, code)) co_return Result<void>();
  // Named variables, because GCC 12 destroys temporaries in a co_await expression twice.
  Args args{"delete", "--force", id};
  std::string log = log_folder + "/runc-delete.log";
  ContainerStdio stdio;
  co_return co_await call(loop, std::move(args), std::move(log), std::move(stdio));
}

Result<void> forget_ended(const std::string& id) {
  return remove_tree((fs::path(state_folder) / id).string());
}

std::vector<KnownContainer> known_containers() {
  std::vector<KnownContainer> known;
  std::error_code code;
  for (const fs::directory_entry& entry : fs::directory_iterator(state_folder, code)) {
    KnownContainer container{entry.path().filename(), {}};
    const Result<std::string> text = read_file(entry.path() / "state.json");
    const Result<Json> json = text ? parse_json(*text) : Result<Json>(text.error());
    const Json none = Json::array();
    const Json::json_pointer where("/config/labels");
    const bool labelled = json && json->is_object() && json->contains(where);
    for (const Json& label : labelled ? json->at(where) : none) {
      const std::string text_of = label.is_string() ? label.get<std::string>() : "";
      if (text_of.compare(0, 7, "bundle=") == 0) container.bundle = text_of.substr(7);
    }
    known.push_back(std::move(container));
  }
  return known;
}

}  // namespace muster::container
