#include "machine/housing/staging.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "base/files/clean_tree.h"
#include "base/files/folder.h"
#include "base/files/given_path.h"
#include "base/files/remove_tree.h"
#include "container/bundle/bundle.h"
#include "container/bundle/collectives.h"
#include "container/bundle/machine_mounts.h"
#include "container/bundle/rootfs.h"
#include "container/python_packages.h"
#include "job/ml_paths.h"
#include "machine/housing/bring.h"
#include "machine/housing/copy_tree.h"

namespace muster::steward {
namespace {

namespace fs = std::filesystem;

/// Next to a copy while it is made: one link to each file with several names.
constexpr const char* links_suffix = ".links";
/// The copying child process reports its errno through this.
constexpr int exit_other = 255;
constexpr std::size_t pip_conf_bytes_max = 64u << 10;
const std::string dumps_path = std::string("/output/data/") + container::dumps_folder;
constexpr std::int64_t dumps_bytes_max = std::int64_t{256} << 20;

int copy_all(const Fd& from, const std::string& target) {
  const Fd to(::open(target.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  return to ? copy_tree(from.get(), to.get(), [](const std::string&) { return true; }) : errno;
}

/// A shared channel is in muster's own folder, which only muster can change.
Result<Fd> open_staged(const Staged& staged, LinkOwner caller) {
  return open_given_folder(staged.from, staged.is_own ? std::nullopt : caller);
}

/// Keeps so much of the Flight Recorder's dumps, in the order of their names, and removes an empty
/// folder. The job wrote everything below `output`: links are not followed. Returns how many files
/// were removed.
std::size_t limit_dumps(const std::string& output) {
  const Fd top(::open(output.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  const Fd data = top ? open_folder(top.get(), "data") : Fd();
  const Fd dumps = data ? open_folder(data.get(), container::dumps_folder) : Fd();
  if (!dumps) return 0;
  std::size_t removed = 0;
  std::int64_t bytes = 0;
  for (const std::string& name :
       names_in(dumps.get(), output).value_or(std::vector<std::string>())) {
    struct stat info {};
    if (::fstatat(dumps.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISREG(info.st_mode)) continue;
    bytes += info.st_size;
    if (bytes > dumps_bytes_max && ::unlinkat(dumps.get(), name.c_str(), 0) == 0) ++removed;
  }
  ::unlinkat(data.get(), container::dumps_folder, AT_REMOVEDIR);  // Only an empty one.
  return removed;
}

/// Moves a tree that no process writes to any more. From a volume it is copied, with holes as holes
/// and links as links, so that the copy cannot take more space than the original, and its names no
/// memory.
Result<void> keep_tree(const std::string& from, const std::string& target) {
  if (::rename(from.c_str(), target.c_str()) == 0) return {};
  if (errno != EXDEV) return fail_errno("cannot create " + target);
  const std::string links = target + links_suffix;
  TRY(remove_tree(links));
  for (const std::string& folder : {target, links}) TRY(make_folders(folder, 0700));
  const Fd source(::open(from.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  const Fd to(::open(target.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const Fd known(::open(links.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status {};
  if (!source || !to || !known || ::fstat(source.get(), &status) != 0)
    return fail_errno("cannot open " + target);
  const auto all = [](const std::string&) { return true; };
  errno = copy_tree(source.get(), to.get(), all, known.get());
  if (errno != 0) return fail_errno("cannot open " + target);
  dress_copy(to, status);
  return remove_tree(links);
}

}  // namespace

Result<void> make_host_files(const job::HostSpec& spec, LinkOwner caller) {
  const std::string ml = container::ml_folder(spec);
  for (const char* folder :
       {"/input/config", "/input/data", "/model", "/output/data", "/output/intermediate", "/code"})
    TRY(make_folders(ml + folder));
  for (const auto& [name, text] : container::config_files(spec))
    TRY(write_file(ml + "/input/config/" + name, text));
  if (job::keeps_checkpoints(spec.spec)) TRY(make_folders(ml + "/checkpoints"));
  if (container::records_flights(spec)) TRY(make_folders(ml + dumps_path));
  TRY(make_folders(container::bundle_folder(spec)));
  const std::string machine_hosts =
      spec.light || spec.in_step ? read_file("/etc/hosts").value_or("") : "";
  for (const auto& [name, text] : container::etc_files(spec, machine_hosts))
    TRY(write_file(container::bundle_folder(spec) + "/" + name, text));
  if (!spec.spec.pip_conf.empty()) {
    const std::string text = TRY(read_given(spec.spec.pip_conf, pip_conf_bytes_max, caller));
    TRY(write_file(container::host_pip_conf(spec), text, 0600));
  }
  const std::string packages(container::python_packages());
  TRY(write_file(container::bundle_folder(spec) + "/python.zip", packages));
  return write_file(container::bundle_folder(spec) + "/settings", container::host_settings(spec),
                    0600);
}

Result<void> give_to_user(const job::HostSpec& spec, const job::User& user) {
  if (user.uid == 0) return {};
  const std::string ml = container::ml_folder(spec);
  const std::string key = TRY(read_file(spec.key_file));
  TRY(write_file(container::user_key_file(spec), key, 0600));
  std::vector<std::string> paths = {container::bundle_folder(spec) + "/settings",
                                    container::user_key_file(spec)};
  for (const char* folder : {"/model", "/output", "/output/data", "/output/intermediate", "/code"})
    paths.push_back(ml + folder);
  if (job::keeps_checkpoints(spec.spec)) paths.push_back(ml + "/checkpoints");
  if (container::records_flights(spec)) paths.push_back(ml + dumps_path);
  if (!spec.spec.pip_conf.empty()) paths.push_back(container::host_pip_conf(spec));
  for (const std::string& path : paths)
    if (::lchown(path.c_str(), user.uid, user.gid) != 0)
      return fail_errno("cannot change the owner of " + path);
  return {};
}

Result<void> give_checkpoints_to_user(const job::HostSpec& spec, const job::User& user) {
  if (user.uid == 0) return {};
  std::error_code code;
  const std::string folder = container::ml_folder(spec) + "/checkpoints";
  for (std::filesystem::recursive_directory_iterator each(folder, code), end; !code && each != end;
       each.increment(code))
    if (::lchown(each->path().c_str(), user.uid, user.gid) != 0)
      return fail_errno(each->path().string());
  if (code) return fail(Errc::system, folder + ": " + code.message());
  return {};
}

std::vector<Staged> to_stage(const job::HostSpec& spec) {
  const std::string ml = container::ml_folder(spec);
  const std::string layers = container::layers_folder(spec);
  std::vector<Staged> all;
  for (const job::InputChannel& channel : spec.spec.input) {
    const std::string from =
        channel.folder.empty() ? shared_channel(spec, channel) : channel.folder;
    if (from.empty()) continue;  // Already downloaded to its target.
    if (!job::has_channel(spec.spec, spec.host, channel)) continue;
    all.push_back({"channel " + channel.name, from, layers + "/data/" + channel.name,
                   ml + "/input/data/" + channel.name, channel.folder.empty()});
  }
  if (!spec.spec.source_folder.empty())
    all.push_back({"source folder", spec.spec.source_folder, layers + "/code", ml + "/code"});
  return all;
}

Result<std::optional<container::Process>> stage(const Staged& staged,
                                                const std::vector<std::string>& mount_points,
                                                const container::IdMap& ids, LinkOwner caller) {
  using Copy = std::optional<container::Process>;
  const Result<Fd> from = open_staged(staged, caller);
  if (!from) return from.error().in(staged.what);
  // The opened folder is shown or copied, even if its owner puts another one in its place.
  const std::string held = held_path(*from);
  std::error_code code;
  const fs::path real = fs::read_symlink(held, code);
  if (code) return fail(Errc::system, staged.what + ": " + staged.from + ": " + code.message());
  TRY(make_folders(staged.target));
  if (!container::has_mounts_inside(real.string(), mount_points) &&
      container::mount_overlay(held, staged.layer, staged.target, ids))
    return Copy();
  container::Process copy = TRY(start_copy([&] { return copy_all(*from, staged.target); }));
  return Copy(std::move(copy));
}

Result<container::Process> start_copy(const std::function<int()>& copy) {
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno("cannot start a process");
  if (pid == 0) ::_exit(std::min(copy(), exit_other));
  return container::Process::open(pid);
}

loop::Task<Result<void>> copied(loop::Loop& loop, const Staged& staged, container::Process& copy) {
  const job::Outcome outcome = co_await copy.ended(loop);
  if (outcome.success()) co_return Result<void>();
  const std::string what = staged.what + ": cannot copy " + staged.from;
  if (outcome.kind == job::Outcome::Kind::exited && outcome.number < exit_other) {
    errno = outcome.number;
    co_return fail_errno(what);
  }
  co_return fail(Errc::system, what + ": " + job::describe(outcome));
}

Result<std::vector<std::string>> collect_results(const job::HostSpec& spec) {
  const std::string ml = container::ml_folder(spec);
  const std::string result = spec.host_folder + "/result";
  TRY(make_folders(result, 0700));
  std::vector<std::string> warnings;
  for (const char* name : {"/model", "/output"}) {
    const std::string shown = std::string(job::ml_path) + name;
    struct stat info {};
    if (::lstat((ml + name).c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
      warnings.push_back(shown + " is no longer a folder; its contents are not kept");
      continue;
    }
    const LeftOut left_out = TRY(clean_tree(ml + name, {::geteuid(), ::getegid()}));
    for (const std::string& line : left_out.lines)
      warnings.push_back("left out: " + shown + "/" + line);
    if (left_out.more > 0)
      warnings.push_back("left out: " + std::to_string(left_out.more) + " more in " + shown);
    if (name == std::string_view("/output") && container::records_flights(spec))
      if (const std::size_t removed = limit_dumps(ml + name); removed > 0)
        warnings.push_back("left out: " + std::to_string(removed) + " files of " +
                           std::string(job::ml_path) + dumps_path + " beyond 256 MiB");
    TRY(keep_tree(ml + name, result + name));
  }
  return warnings;
}

}  // namespace muster::steward
