#include "machine/steward/checkpoint_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/files/copy_bytes.h"
#include "base/files/each_name.h"
#include "base/files/folder.h"
#include "base/files/given_path.h"
#include "base/text.h"
#include "machine/housing/copy_tree.h"
#include "net/loop/worker.h"

namespace muster::steward {
namespace {

constexpr std::string_view partial_prefix = ".muster-partial-";
constexpr unsigned folder_mode = 0755;
constexpr int depth_max = 128;
using Status = struct stat;

struct Place {
  CheckpointFolder folder;
  std::optional<Owner> owner;
};

Result<void> give(const Fd& fd, const std::optional<Owner>& owner, const std::string& path) {
  if (owner && ::fchown(fd.get(), owner->user, owner->group) != 0)
    return fail_errno("cannot change the owner of " + path);
  return {};
}

/// The folder that contains `relative`; creates it if necessary.
Result<Fd> folder_of(const Place& place, const std::string& relative) {
  Fd at(::fcntl(place.folder.held->get(), F_DUPFD_CLOEXEC, 3));
  std::vector<std::string> names = split(relative, '/');
  names.pop_back();
  std::string path = place.folder.path;
  for (const std::string& name : names) {
    path += "/" + name;
    const bool is_new = ::mkdirat(at.get(), name.c_str(), folder_mode) == 0;
    if (!is_new && errno != EEXIST) return fail_errno("cannot create " + path);
    at = open_folder(at.get(), name);
    if (!at) return fail_errno("cannot open " + path);
    if (is_new) TRY(give(at, place.owner, path));
  }
  return at;
}

Result<void> fill(const Place& place, const Fd& to, const std::string& from,
                  const std::string& shown) {
  const Fd source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  Status status{};
  if (!source || ::fstat(source.get(), &status) != 0) return fail_errno("cannot open " + shown);
  TRY(copy_bytes(source.get(), to.get(), shown));
  dress_copy(to, status);
  if (::fdatasync(to.get()) != 0) return fail_errno("cannot sync " + shown);
  return give(to, place.owner, shown);
}

Result<void> store_file(const Place& place, const std::string& from, const std::string& relative,
                        const std::function<bool()>& is_current) {
  const std::string shown = place.folder.path + "/" + relative;
  const Fd folder = TRY(folder_of(place, relative));
  // Next to the final file: another folder may be another file system.
  const std::string partial = std::string(partial_prefix) + hex(random_bytes(6));
  const std::string name = relative.substr(relative.rfind('/') + 1);
  const Fd made(
      ::openat(folder.get(), partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!made) return fail_errno("cannot create " + shown);
  ::flock(made.get(), LOCK_EX);  // Shows that a process is writing the file.
  Result<void> done = fill(place, made, from, shown);
  if (done && !is_current())
    done = fail(Errc::invalid_input, shown + ": the file changed while it was being stored");
  if (done && ::renameat(folder.get(), partial.c_str(), folder.get(), name.c_str()) != 0)
    done = fail_errno("cannot rename " + shown);
  if (!done) ::unlinkat(folder.get(), partial.c_str(), 0);
  return done;
}

void remove_partial(int folder, const std::string& name) {
  const Fd file(::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  Status status{};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) ::unlinkat(folder, name.c_str(), 0);
}

/// Leftovers of killed stewards in `folder` and below.
void remove_partials(int folder, int depth = 0) {
  if (depth > depth_max) return;
  static_cast<void>(
      each_name(open_folder(folder, "."), "", [folder, depth](const std::string& name) {
        Status status{};
        if (name.starts_with(partial_prefix)) {
          remove_partial(folder, name);
        } else if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                   S_ISDIR(status.st_mode)) {
          if (const Fd inner = open_folder(folder, name)) remove_partials(inner.get(), depth + 1);
        }
        return true;
      }));
}

class FolderCheckpoints final : public CheckpointPlace {
 public:
  FolderCheckpoints(loop::Loop& loop, std::shared_ptr<const Place> place)
      : loop_(loop), place_(std::move(place)) {}
  loop::Task<Result<void>> store(std::string path, std::string relative,
                                 std::function<bool()> is_current) override {
    const auto work = [&, place = place_] {
      return store_file(*place, path, relative, is_current);
    };
    co_return co_await loop::in_thread(loop_, work);
  }

 private:
  loop::Loop& loop_;
  std::shared_ptr<const Place> place_;
};

}  // namespace

Result<CheckpointFolder> open_checkpoint_folder(const std::string& path, LinkOwner caller) {
  return CheckpointFolder{std::make_shared<const Fd>(TRY(open_given_folder(path, caller))), path};
}

std::unique_ptr<CheckpointPlace> checkpoints_in_folder(loop::Loop& loop,
                                                       const CheckpointFolder& folder,
                                                       const std::optional<Owner>& owner) {
  remove_partials(folder.held->get());
  return std::make_unique<FolderCheckpoints>(loop,
                                             std::make_shared<const Place>(Place{folder, owner}));
}

int restore_checkpoints(const CheckpointFolder& from, const std::string& to) {
  const Fd target(::open(to.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const auto is_whole = [](const std::string& name) { return !name.starts_with(partial_prefix); };
  return target ? copy_tree(from.held->get(), target.get(), is_whole) : errno;
}

}  // namespace muster::steward
