#include "platform/results.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/fd.h"
#include "base/files/clean_tree.h"
#include "base/files/copy_bytes.h"
#include "base/files/folder.h"
#include "base/files/given_path.h"
#include "base/files/remove_tree.h"
#include "base/text.h"
#include "platform/submitter_folder.h"

namespace muster::platform {
namespace {

using Status = struct stat;

constexpr std::size_t compare_bytes = 1u << 20;
constexpr const char* conflicts_folder = "/conflicts";
/// The content of a job's output folder.
constexpr std::string_view result_names[] = {"model", "output", "log", "failure", "conflicts"};

std::optional<Status> status_of(const std::string& path) {
  Status status{};
  if (::lstat(path.c_str(), &status) != 0) return std::nullopt;
  return status;
}

bool is_folder(const std::string& path) {
  const std::optional<Status> status = status_of(path);
  return status && S_ISDIR(status->st_mode);
}

/// Attributes that the job set (a rename keeps them, so a copy does, too), mode and time of
/// modification; a file system without them is not worth an error.
void dress(int from, int to, const Status& status) {
  const std::array<timespec, 2> times{status.st_mtim, status.st_mtim};
  copy_user_attributes(from, to);
  ::fchmod(to, status.st_mode & 0777);
  ::futimens(to, times.data());
}

Result<void> copy_file(const std::string& from, const Status& status, const std::string& to) {
  const Fd source(::open(from.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!source) return fail_errno("cannot open " + from);
  const Fd target(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!target) return fail_errno("cannot create " + to);
  TRY(copy_bytes(source.get(), target.get(), to));
  dress(source.get(), target.get(), status);
  return {};
}

Result<void> copy_link(const std::string& from, const std::string& to) {
  std::string target(PATH_MAX, '\0');
  const ssize_t count = ::readlink(from.c_str(), target.data(), target.size());
  if (count < 0) return fail_errno("cannot read " + from);
  target.resize(static_cast<std::size_t>(count));
  if (::symlink(target.c_str(), to.c_str()) != 0) return fail_errno("cannot create the link " + to);
  return {};
}

/// A file, a link, or a folder with such in it, to where nothing is.
Result<void> move(const std::string& from, const Status& status, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) == 0) return {};
  if (errno != EXDEV) return fail_errno("cannot create " + to);
  if (S_ISLNK(status.st_mode)) return copy_link(from, to);
  if (S_ISREG(status.st_mode)) return copy_file(from, status, to);
  if (!S_ISDIR(status.st_mode)) return {};
  if (::mkdir(to.c_str(), 0700) != 0) return fail_errno("cannot create " + to);
  for (const std::string& name : TRY(names_in(from))) {
    const std::string path = from + "/" + name;
    const std::optional<Status> inner = status_of(path);
    if (!inner) return fail_errno("cannot open " + path);
    TRY(move(path, *inner, to + "/" + name));
  }
  const Fd source(::open(from.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  const Fd made(::open(to.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (source && made) dress(source.get(), made.get(), status);
  return {};
}

/// Two links that lead to one place, two files with the same bytes.
bool are_alike(const std::string& a, const Status& a_status, const std::string& b,
               const Status& b_status) {
  if ((a_status.st_mode & S_IFMT) != (b_status.st_mode & S_IFMT)) return false;
  if (a_status.st_size != b_status.st_size) return false;
  if (S_ISLNK(a_status.st_mode)) {
    std::error_code a_code, b_code;
    return std::filesystem::read_symlink(a, a_code) == std::filesystem::read_symlink(b, b_code) &&
           !a_code && !b_code;
  }
  const Fd one(::open(a.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  const Fd other(::open(b.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  std::string left(compare_bytes, '\0'), right(compare_bytes, '\0');
  for (off_t at = 0; one && other;) {
    const ssize_t count = ::pread(one.get(), left.data(), left.size(), at);
    if (count <= 0) return count == 0;
    const std::size_t length = static_cast<std::size_t>(count);
    if (::pread(other.get(), right.data(), length, at) != count) return false;
    if (left.compare(0, length, right, 0, length) != 0) return false;
    at += count;
  }
  return false;
}

/// Merges the hosts' folders into `into`, the last host's first. Existing files stay, and another
/// host's file with the same name goes to conflicts/<host>/, unless it is equal.
class Gathering {
 public:
  Gathering(std::string into, Conflicts& conflicts)
      : into_(std::move(into)), conflicts_(conflicts) {}

  Result<void> add(const engine::HostResult& host, const std::string& name) {
    host_ = host.host;
    return merge_entries(host.path + name, into_ + name);
  }

 private:
  Result<void> merge_entries(const std::string& from, const std::string& to) {
    for (const std::string& name : TRY(names_in(from)))
      TRY(merge(from + "/" + name, to + "/" + name));
    return {};
  }

  Result<void> merge(const std::string& from, const std::string& to) {
    const std::optional<Status> status = status_of(from);
    if (!status) return fail_errno("cannot open " + from);
    if (!S_ISDIR(status->st_mode) && !S_ISREG(status->st_mode) && !S_ISLNK(status->st_mode))
      return {};
    const std::optional<Status> there = status_of(to);
    if (!there) return move(from, *status, to);
    if (S_ISDIR(there->st_mode) && S_ISDIR(status->st_mode)) return merge_entries(from, to);
    if (are_alike(from, *status, to, *there)) return {};
    return set_aside(from, *status, to.substr(into_.size()));
  }

  /// `name`: "/model/file".
  Result<void> set_aside(const std::string& from, const Status& status, const std::string& name) {
    if (conflicts_.count++ < Conflicts::names_max) conflicts_.names.push_back(name.substr(1));
    const std::string to = into_ + conflicts_folder + "/" + host_ + name;
    TRY(make_folders(to.substr(0, to.rfind('/'))));
    return move(from, status, to);
  }

  std::string into_;
  std::string host_;
  Conflicts& conflicts_;
};

int number_of(const std::string& host) {
  return static_cast<int>(parse_integer(host.substr(host.rfind('-') + 1)).value_or(0));
}

/// `hosts` by their number.
Result<void> gather(const std::vector<engine::HostResult>& hosts, const std::string& into,
                    bool failed, Conflicts& conflicts) {
  for (const char* name : {"/model", "/output"}) TRY(make_folders(into + name));
  Gathering gathering(into, conflicts);
  for (auto host = hosts.rbegin(); host != hosts.rend(); ++host) {
    const std::string output = host->path + "/output";
    const std::optional<Status> failure = status_of(output + "/failure");
    if (failed && failure && S_ISREG(failure->st_mode)) {
      TRY(make_folders(into + "/failure"));
      TRY(move(output + "/failure", *failure, into + "/failure/" + host->host));
    }
    // With these gone the whole folder can be renamed at once.
    for (const char* mark : {"/failure", "/success"}) TRY(remove_tree(output + mark));
    for (const char* name : {"/model", "/output"})
      if (is_folder(host->path + name)) TRY(gathering.add(*host, name));
  }
  return {};
}

bool has_file(const std::string& folder) {
  const Result<std::vector<std::string>> names = names_in(folder);
  if (!names) return false;
  return std::any_of(names->begin(), names->end(), [&](const std::string& name) {
    const std::string path = folder + "/" + name;
    return !is_folder(path) || has_file(path);
  });
}

/// The content of `folder`. The folder itself stays ours: no other user may change it before it is
/// published.
Result<void> hand_over(const std::string& folder, const Owner& owner) {
  for (const std::string& name : TRY(names_in(folder))) TRY(clean_tree(folder + "/" + name, owner));
  return {};
}

/// Renames `names` from one folder to another: all, or none where one cannot be.
Result<void> move_all(const std::vector<std::string>& names, const std::string& from,
                      const std::string& to) {
  std::vector<std::string> done;
  for (const std::string& name : names) {
    if (::rename((from + "/" + name).c_str(), (to + "/" + name).c_str()) == 0) {
      done.push_back(name);
      continue;
    }
    const Error error = fail_errno("cannot create " + to + "/" + name);
    for (const std::string& each : done)
      static_cast<void>(::rename((to + "/" + each).c_str(), (from + "/" + each).c_str()));
    return error;
  }
  return {};
}

/// Renames what lies in `made` into `out`. To overwrite, what an earlier job left there under the
/// names of results goes to `old` before, and comes back if something cannot be renamed.
Result<void> publish(const std::string& made, const std::string& out, const std::string& old,
                     bool overwrite) {
  std::vector<std::string> replaced;
  if (!overwrite) return move_all(TRY(names_in(made)), made, out);
  for (const std::string_view name : result_names)
    if (status_of(out + "/" + std::string(name))) replaced.emplace_back(name);
  TRY(move_all(replaced, out, old));
  Result<void> done = move_all(TRY(names_in(made)), made, out);
  if (!done) static_cast<void>(move_all(replaced, old, out));
  return done;
}

/// The error in terms of the user's path, instead of a descriptor.
Error named(Error error, const std::string& held, const std::string& path) {
  if (const std::size_t at = error.text.find(held); at != std::string::npos)
    error.text.replace(at, held.size(), path);
  return error;
}

Result<void> merge_into(const std::vector<engine::HostResult>& hosts, const std::string& out,
                        const MergeOptions& options, Conflicts& conflicts) {
  for (const std::string& name : TRY(names_in(out)))  // A killed run's.
    if (name.starts_with(partial_prefix)) TRY(remove_tree(out + "/" + name));
  const std::string partial = TRY(make_private_folder(out, partial_prefix));
  const Fd own(::open(partial.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  Status status{};
  if (!own || ::fstat(own.get(), &status) != 0) return fail_errno("cannot open " + partial);
  if (status.st_uid != ::geteuid())
    return fail(Errc::denied, partial + ": this folder was replaced by another one");
  const std::string made = held_path(own) + "/new", old = held_path(own) + "/old";
  TRY(make_folders(made));
  TRY(make_folders(old));
  Result<void> done = gather(hosts, made, options.failed, conflicts);
  if (done && options.write_log) done = make_folders(made + "/log");
  if (done && options.write_log) done = options.write_log(made + "/log");
  if (done && options.owner) done = hand_over(made, *options.owner);
  if (done) done = publish(made, out, old, options.overwrite);
  static_cast<void>(remove_tree(partial));
  if (!done) return named(done.error(), held_path(own), out);
  return {};
}

}  // namespace

Result<void> check_output_folder(const std::string& path, bool overwrite) {
  const auto unusable = [&](const std::string& why) {
    return fail(Errc::invalid_input, "output: " + why);
  };
  const GivenPath there = TRY(check_place("output", path));
  if (!there.missing.empty()) return {};
  bool is_empty = true;
  std::string foreign;
  for (const std::string& name : TRY(names_in(there.held.get(), path))) {
    if (name.starts_with(partial_prefix)) continue;
    is_empty = false;
    if (std::find(std::begin(result_names), std::end(result_names), name) == std::end(result_names))
      foreign = name;
  }
  if (is_empty || (overwrite && foreign.empty())) return {};
  if (foreign.empty())
    return unusable(
        path +
        " contains an earlier job's results; replace them with --overwrite, or choose an "
        "empty or new folder");
  if (overwrite)
    return unusable(path + " contains " + foreign +
                    ", which is not a job's result; --overwrite works only on folders that contain "
                    "nothing but job results");
  return unusable(path + " is not empty; choose an empty or new folder");
}

Result<Merged> merge_results(std::vector<engine::HostResult> hosts, const std::string& out,
                             const MergeOptions& options) {
  std::stable_sort(hosts.begin(), hosts.end(),
                   [](const engine::HostResult& a, const engine::HostResult& b) {
                     return number_of(a.host) < number_of(b.host);
                   });
  const bool any = std::any_of(hosts.begin(), hosts.end(), [&](const engine::HostResult& host) {
    const bool marks = options.failed && status_of(host.path + "/output/failure");
    return marks || has_file(host.path + "/model") || has_file(host.path + "/output/data");
  });
  Merged merged;
  if (options.only_if_any && !any) return merged;
  // The owner of the parent folder can put links into any path. From here on the folders are held
  // open and reached through their descriptors.
  const Result<Fd> place = make_folders_of(out, options.owner);
  if (!place) return place.error().in("output");
  const std::string held = held_path(*place);
  Result<void> done = merge_into(hosts, held, options, merged.conflicts);
  if (!done) return named(done.error(), held, out).in("output");
  merged.written = true;
  if (const Fd failures = open_folder(place->get(), "failure"); options.failed && failures)
    for (const std::string& name : TRY(names_in(failures.get(), out + "/failure")))
      merged.failure_files.push_back(out + "/failure/" + name);
  return merged;
}

}  // namespace muster::platform
