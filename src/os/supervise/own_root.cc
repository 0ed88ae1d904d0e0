#include "os/supervise/own_root.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <tuple>
#include <utility>

#include "base/fd.h"
#include "base/process/cover_folder.h"
#include "base/process/rootless.h"
#include "base/process/user_namespace.h"
#include "base/text.h"
#include "os/supervise/spawn.h"

namespace muster::supervise {
namespace {

constexpr std::int64_t subordinate_ids_max = 65535;
constexpr const char* run_folder = "/run";
constexpr const char* administrators_path = ":/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin";

struct User {
  std::string name;
  std::int64_t uid = 0;
  std::int64_t gid = 0;
};

/// Without the C library's lookups: a static program must not load the machine's modules.
std::string name_of(std::int64_t uid) {
  for (const std::string& line : split(read_file("/etc/passwd").value_or(""), '\n')) {
    const std::vector<std::string> fields = split(line, ':');
    if (fields.size() > 2 && parse_integer(fields[2]) == uid) return fields[0];
  }
  return {};
}

/// What newuidmap(1) and newgidmap(1) have to do, from outside of the new namespace.
struct Mappers {
  Args uids;
  Args gids;
};

/// None, and why, where the user has no subordinate ids.
std::optional<Mappers> find_mappers(const User& user, pid_t pid, const Env& env,
                                    std::int64_t& count, std::string& why) {
  const Env::const_iterator path = env.find("PATH");
  const Env search{{"PATH", (path == env.end() ? "" : path->second) + administrators_path}};
  Mappers mappers;
  count = subordinate_ids_max;
  for (const auto& [tool, file, own, argv] :
       {std::tuple{"newuidmap", "/etc/subuid", user.uid, &mappers.uids},
        std::tuple{"newgidmap", "/etc/subgid", user.gid, &mappers.gids}}) {
    const Result<std::string> program = find_program(tool, search, "/");
    if (!program) {
      why = std::string(tool) + " is not installed (Debian package: uidmap)";
      return std::nullopt;
    }
    const std::optional<IdRange> range =
        subordinate_ids(read_file(file).value_or(""), user.name, user.uid);
    if (!range) {
      why = std::string(file) + " contains no range for you";
      return std::nullopt;
    }
    count = std::min(count, range->count);
    *argv = {*program, std::to_string(pid),         "0", std::to_string(own), "1",
             "1",      std::to_string(range->first)};
  }
  for (Args* argv : {&mappers.uids, &mappers.gids}) argv->push_back(std::to_string(count));
  return mappers;
}

bool run_mapper(const Args& argv) {
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const Stdio stdio{null.get(), null.get(), null.get(), {}};
  const Command command{.argv = argv, .env = {{"PATH", administrators_path}}, .cwd = "/"};
  const Result<pid_t> pid = spawn(command, stdio, {});
  int status = 0;
  if (!pid) return false;
  while (::waitpid(*pid, &status, 0) < 0)
    if (errno != EINTR) return false;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// A child that stays in the old namespace, where alone the mappers have their rights.
class MappingChild {
 public:
  static Result<MappingChild> begin(const Mappers& mappers) {
    MappingChild child;
    Pipe begun = TRY(make_pipe());
    child.pid_ = ::fork();
    if (child.pid_ < 0) return fail_errno("cannot start a process");
    if (child.pid_ == 0) {
      begun.write.reset();
      char word = 0;
      const bool wanted = ::read(begun.read.get(), &word, 1) == 1;
      ::_exit(wanted && run_mapper(mappers.uids) && run_mapper(mappers.gids) ? 0 : 1);
    }
    child.begun_ = std::move(begun.write);
    return child;
  }
  MappingChild(MappingChild&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), begun_(std::move(other.begun_)) {}
  MappingChild& operator=(MappingChild&&) = delete;
  ~MappingChild() { static_cast<void>(end()); }

  /// True if both maps are written.
  bool map() { return ::write(begun_.get(), "m", 1) == 1 && end(); }

 private:
  MappingChild() = default;
  bool end() {
    begun_.reset();
    const pid_t pid = std::exchange(pid_, -1);
    int status = 1;
    if (pid <= 0) return false;
    while (::waitpid(pid, &status, 0) < 0)
      if (errno != EINTR) return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  pid_t pid_ = -1;
  Fd begun_;
};

Error refused(const std::string& what) {
  const std::string why = why_no_user_namespace(user_namespace_settings());
  return fail(Errc::denied, why.empty() ? what : why);
}

Result<void> unshare_user(const User& user, const Env& env, OwnRoot& made) {
  std::int64_t count = 0;
  const std::optional<Mappers> mappers =
      find_mappers(user, ::getpid(), env, count, made.why_one_id);
  std::optional<MappingChild> child;
  if (mappers) child.emplace(TRY(MappingChild::begin(*mappers)));
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
    return refused(errno_text("cannot create namespaces"));
  if (child && child->map()) {
    made.ids = count + 1;
    return {};
  }
  if (child) made.why_one_id = "newuidmap rejected the range in /etc/subuid";
  if (const Result<void> mapped = map_one_id(static_cast<std::uint32_t>(user.uid),
                                             static_cast<std::uint32_t>(user.gid), 0, 0);
      !mapped)
    return refused(mapped.error().text);
  return {};
}

/// A /run in which muster can make its own folder; all else of the machine's stays to be seen, the
/// resolver's settings, say.
Result<void> make_own_run() {
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return fail_errno("cannot create a mount namespace");
  if (Result<void> covered = cover_folder(run_folder, {"muster"}); !covered)
    return covered.error().in("cannot create a separate /run");
  return make_folders("/run/muster");
}

}  // namespace

std::optional<IdRange> subordinate_ids(std::string_view text, const std::string& name,
                                       std::int64_t number) {
  std::optional<IdRange> best;
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> fields = split(trim(line), ':');
    if (fields.size() != 3) continue;
    const bool own = (!name.empty() && fields[0] == name) || fields[0] == std::to_string(number);
    const std::optional<std::int64_t> first = parse_integer(fields[1]);
    const std::optional<std::int64_t> count = parse_integer(fields[2]);
    if (!own || !first || !count || *first <= 0 || *count <= 0) continue;
    if (!best || *count > best->count) best = IdRange{*first, *count};
  }
  if (best) best->count = std::min(best->count, subordinate_ids_max);
  return best;
}

Result<OwnRoot> become_own_root(Env& env) {
  const User user{name_of(::geteuid()), ::geteuid(), ::getegid()};
  OwnRoot made;
  TRY(unshare_user(user, env, made));
  TRY(make_own_run());
  env[rootless_variable] = std::to_string(made.ids);
  return made;
}

}  // namespace muster::supervise
