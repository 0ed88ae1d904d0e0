#include "container/id_map.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "container/kernel_file.h"
#include "job/host_spec.h"

namespace muster::container {
namespace {

/// A process that holds new namespaces until it is released: they can be opened only while a
/// process is inside.
class Holder {
 public:
  static Result<Holder> begin(int flags) {
    Holder holder;
    Pipe ready = TRY(make_pipe());
    Pipe over = TRY(make_pipe());
    holder.pid_ = ::fork();
    if (holder.pid_ < 0) return fail_errno("cannot start a process");
    if (holder.pid_ == 0) {
      over.write.reset();
      const int error = ::unshare(flags) == 0 ? 0 : errno;
      char ignored = 0;
      static_cast<void>(::write(ready.write.get(), &error, sizeof(error)) &&
                        ::read(over.read.get(), &ignored, 1));
      ::_exit(0);
    }
    ready.write.reset();
    holder.over_ = std::move(over.write);
    int error = EIO;
    if (::read(ready.read.get(), &error, sizeof(error)) != sizeof(error)) error = EIO;
    errno = error;
    if (error != 0) return fail_errno("cannot create the namespaces of a host");
    return holder;
  }
  Holder(Holder&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), over_(std::move(other.over_)) {}
  Holder& operator=(Holder&&) = delete;
  ~Holder() {
    if (pid_ <= 0) return;
    over_.reset();
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
  }

  std::string file(const char* name) const { return "/proc/" + std::to_string(pid_) + "/" + name; }
  Result<Fd> open(const char* name) const {
    Fd fd(::open(file(name).c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) return fail_errno(file(name));
    return fd;
  }
  /// The kernel accepts a map only in a single write.
  Result<void> write(const char* name, const std::string& text) const {
    return tell_kernel(file(name), text);
  }

 private:
  Holder() = default;
  pid_t pid_ = -1;
  Fd over_;
};

}  // namespace

std::vector<IdExtent> ids_from(std::uint32_t first) {
  return {{0, first, job::ids_per_job}};
}

std::vector<IdExtent> ids_of_rootless(std::int64_t count) {
  if (count <= 1) return {{0, 0, 1}};
  return {{0, 0, 1}, {1, 1, count - 1}};
}

Result<void> give(const std::string& path, const IdMap& ids) {
  if (ids && ::lchown(path.c_str(), ids.first, ids.first) != 0)
    return fail_errno("cannot change the owner of " + path);
  return {};
}

Result<void> give(const Fd& fd, const IdMap& ids, std::uint32_t uid) {
  const uid_t owner = ids.first + uid;
  if (owner != 0 && ::fchown(fd.get(), owner, owner) != 0)
    return fail_errno("cannot change the owner of a pipe");
  return {};
}

Result<HostNamespaces> open_namespaces(const std::vector<IdExtent>& ids) {
  const Holder holder = TRY(Holder::begin(CLONE_NEWNET | (ids.empty() ? 0 : CLONE_NEWUSER)));
  HostNamespaces made;
  made.network = TRY(holder.open("ns/net"));
  if (ids.empty()) return made;
  std::string map;
  for (const IdExtent& extent : ids)
    map += std::to_string(extent.inside) + " " + std::to_string(extent.outside) + " " +
           std::to_string(extent.count) + "\n";
  TRY(holder.write("uid_map", map));
  TRY(holder.write("gid_map", map));
  made.user = TRY(holder.open("ns/user"));
  made.ids = ids;
  return made;
}

Result<Fd> open_owner_map(std::uint32_t user, std::uint32_t group, std::uint32_t first) {
  const Holder holder = TRY(Holder::begin(CLONE_NEWUSER));
  const std::string to = " " + std::to_string(first) + " 1\n";
  TRY(holder.write("uid_map", std::to_string(user) + to));
  TRY(holder.write("gid_map", std::to_string(group) + to));
  return holder.open("ns/user");
}

}  // namespace muster::container
