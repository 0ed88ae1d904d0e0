#include "container/bundle/light_host.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <set>

#include "base/fd.h"
#include "base/json.h"
#include "base/process/cover_folder.h"
#include "base/process/user_namespace.h"
#include "base/text.h"
#include "container/bundle/root_view.h"
#include "os/supervise/spawn.h"

namespace muster::container {
namespace {

constexpr int exit_unmade = 127;
constexpr std::size_t report_bytes_max = 64u << 10;
constexpr const char* own_memory = "/dev/shm";
constexpr const char* temporary = "/tmp";

/// The sockets of name service daemons, which programs query first, but which know only the
/// machine's hosts and not the job's.
const std::vector<std::string>& hidden_in_run() {
  static const std::vector<std::string> names = {"muster", "nscd"};
  return names;
}

bool is_folder(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// Mount points that the machine lacks, created in folders that are covered for this purpose.
class MountPoints {
 public:
  /// `folder` was covered, or belongs to the host, so entries can be created in it.
  void own(const std::string& folder) { own_.insert(folder); }

  Result<void> make(const std::string& path, bool folder) {
    if (::access(path.c_str(), F_OK) == 0) return {};
    TRY(make_room(parent_of(path)));
    if (!folder) return write_file(path, "");
    return make_folder(path);
  }

 private:
  /// A folder in which entries can be created.
  Result<void> make_room(const std::string& folder) {
    if (own_.contains(folder)) return {};
    if (is_folder(folder)) {
      if (folder == "/")
        return fail(Errc::denied,
                    "a light host cannot create folders in the machine's root folder");
      TRY(cover_folder(folder, {}));
      own(folder);
      return {};
    }
    TRY(make_room(parent_of(folder)));
    return make_folder(folder);
  }
  Result<void> make_folder(const std::string& path) {
    if (::mkdir(path.c_str(), 0755) != 0) return fail_errno("cannot create " + path);
    own(path);
    return {};
  }

  std::set<std::string> own_;
};

/// Includes the mounts inside it.
Result<void> show_at(const std::string& source, const std::string& target) {
  if (::mount(source.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)
    return fail_errno("cannot mount " + source + " at " + target);
  return {};
}

/// Before Linux 5.12, a mount in a user namespace can be made read-only only if all of its flags
/// are known. These files belong to the user anyway.
void make_read_only(const std::string& target) {
  struct mount_attr change {};
  change.attr_set = MOUNT_ATTR_RDONLY;
  ::syscall(SYS_mount_setattr, AT_FDCWD, target.c_str(), AT_RECURSIVE, &change, sizeof(change));
}

/// The job's paths in /tmp, kept open while /tmp is covered.
struct Kept {
  std::string path;
  Fd fd;
};
std::vector<Kept> keep(const std::vector<std::string>& paths) {
  std::vector<Kept> kept;
  for (const std::string& path : outermost(paths)) {
    if (!is_in(path, temporary) || path == temporary) continue;
    Fd fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
    if (fd) kept.push_back({path, std::move(fd)});
  }
  return kept;
}

Result<void> make_own_tmp(const LightHost& host, MountPoints& points) {
  const std::vector<Kept> kept = keep(host.kept);
  TRY(show_at(host.tmp_folder, temporary));
  points.own(temporary);
  for (const auto& [path, fd] : kept) {
    const std::string source = "/proc/self/fd/" + std::to_string(fd.get());
    TRY(points.make(path, is_folder(source)));
    TRY(show_at(source, path));
  }
  return {};
}

/// All sources are opened first, because a source may be in a folder that is covered later.
Result<void> show_all(const LightHost& host) {
  std::vector<Fd> sources;
  for (const Bind& each : host.binds) {
    Fd& fd = sources.emplace_back(::open(each.source.c_str(), O_PATH | O_CLOEXEC));
    if (!fd) return fail_errno("cannot open " + each.source);
  }
  MountPoints points;
  TRY(cover_folder("/run", hidden_in_run()));
  points.own("/run");
  TRY(make_own_tmp(host, points));
  if (::access(own_memory, F_OK) == 0 &&
      ::mount("muster", own_memory, "tmpfs", MS_NODEV | MS_NOSUID, "mode=1777") != 0)
    return fail_errno(std::string("cannot mount a tmpfs at ") + own_memory);
  for (std::size_t i = 0; i < host.binds.size(); ++i) {
    const Bind& each = host.binds[i];
    const std::string source = "/proc/self/fd/" + std::to_string(sources[i].get());
    const Result<void> made = points.make(each.target, is_folder(source));
    if (!made) return made.error().in(each.target);
    TRY(show_at(source, each.target));
    if (each.read_only) make_read_only(each.target);
  }
  return {};
}

/// The progress of the processes that create a host: a line of JSON for each step.
class Report {
 public:
  explicit Report(Fd fd) : fd_(std::move(fd)) {}
  void tell(const Json& json) { static_cast<void>(write_all(fd_.get(), to_text(json) + "\n")); }
  [[noreturn]] void give_up(const std::string& why) {
    tell({{"why", why}});
    ::_exit(exit_unmade);
  }
  [[noreturn]] void lack_pids() {
    tell({{"pids", false}});
    ::_exit(exit_unmade);
  }

 private:
  Fd fd_;
};

/// The host's first process, until its exec.
[[noreturn]] void become_first(const LightHost& host, const supervise::Stdio& stdio, bool own_pids,
                               Report& report) {
  constexpr unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
  if (own_pids && ::mount("proc", "/proc", "proc", flags, nullptr) != 0) report.lack_pids();
  const std::string stream =
      "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(steward_stream_fd);
  // A host in an image uses a named pipe, because its processes cannot open the descriptors of
  // other users' processes.
  if (::symlink(stream.c_str(), light_stream_path) != 0 && errno != EEXIST)
    report.give_up(errno_text(light_stream_path));
  // Unlike its steward, a host should be killed early when memory runs out
  // (base/process/oom_score.h).
  static_cast<void>(write_file("/proc/self/oom_score_adj", "0"));
  report.give_up(supervise::replace_self(host.command, stdio).text);
}

/// A process between the steward and the host's first process. Enters the namespaces, and reports
/// the pid of the first process as the steward sees it.
[[noreturn]] void make_host(const LightHost& host, const supervise::Stdio& stdio, bool own_pids,
                            Report report) {
  const int spaces = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC;
  if (::unshare(spaces) != 0)
    report.give_up(errno_text("cannot create the namespaces of a light host"));
  if (own_pids && ::unshare(CLONE_NEWPID) != 0) report.lack_pids();
  if (::sethostname(host.name.c_str(), host.name.size()) != 0)
    report.give_up(errno_text("cannot set the host name of a light host"));
  if (const Result<void> shown = show_all(host); !shown) report.give_up(shown.error().text);
  const pid_t pid = ::fork();
  if (pid < 0) report.give_up(errno_text("cannot start the process of a light host"));
  if (pid == 0) become_first(host, stdio, own_pids, report);
  report.tell({{"pid", pid}});
  ::_exit(0);
}

Result<void> enter_own_mounts() {
  if (::unshare(CLONE_NEWNS) != 0) return fail_errno("cannot create a mount namespace");
  return keep_own_mounts();
}

/// Reads until all writers have closed the pipe; the first process closes it with its exec.
loop::Task<std::string> read_report(loop::Loop& loop, const Fd& fd) {
  std::string text;
  loop::Watch watch(loop, fd.get());
  while (text.size() < report_bytes_max) {
    const bool is_readable = co_await watch.readable();
    if (!is_readable) break;
    std::string buffer(4096, '\0');
    const ssize_t count = ::read(fd.get(), buffer.data(), buffer.size());
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (count <= 0) break;
    text.append(buffer, 0, static_cast<std::size_t>(count));
  }
  co_return text;
}

struct Told {
  pid_t pid = 0;
  bool own_pids = true;
  std::string why;
};
Told told_in(const std::string& report) {
  Told told;
  for (const std::string& line : split(report, '\n')) {
    const Result<Json> json = parse_json(line);
    if (!json || !json->is_object()) continue;
    if (json->contains("pid")) told.pid = (*json)["pid"].get<pid_t>();
    if (json->contains("pids")) told.own_pids = false;
    if (json->contains("why")) told.why = (*json)["why"].get<std::string>();
  }
  return told;
}

/// Reaps a child that has ended or is about to end.
void reap(pid_t pid) {
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) continue;
}

}  // namespace

Result<bool> enter_light_mounts() {
  const bool ordinary = ::geteuid() != 0;
  const Result<void> entered = ordinary ? enter_own_namespaces() : enter_own_mounts();
  if (entered) return ordinary;
  return fail(Errc::denied,
              "a light host requires its own mount namespace, which this machine does not allow (" +
                  entered.error().text + ")");
}

loop::Task<Result<Process>> start_light(loop::Loop& loop, LightHost host, ContainerStdio stdio,
                                        bool& own_pids) {
  const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const supervise::Stdio fds{
      null.get(),
      stdio.out.get(),
      stdio.err.get(),
      {{steward_stream_fd, stdio.steward_stream.get()}, {lifeline_fd, stdio.lifeline.get()}}};
  for (own_pids = true;; own_pids = false) {
    Result<Pipe> pipe = make_pipe();
    if (!pipe) co_return pipe.error();
    const pid_t maker = ::fork();
    if (maker < 0) co_return fail_errno("cannot start the process of a light host");
    if (maker == 0) make_host(host, fds, own_pids, Report(std::move(pipe->write)));
    pipe->write.reset();
    const std::string report = co_await read_report(loop, pipe->read);
    reap(maker);
    const Told told = told_in(report);
    if (told.pid != 0 && told.why.empty() && told.own_pids) co_return Process::open(told.pid);
    if (told.pid != 0) reap(told.pid);
    if (!told.why.empty()) co_return fail(Errc::system, told.why);
    if (told.own_pids || !own_pids)
      co_return fail(Errc::system, "a light host was killed while it was being started");
  }
}

}  // namespace muster::container
