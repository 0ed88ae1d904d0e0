#include "image/kept/pack_layer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "base/fd.h"
#include "image/kept/store.h"
#include "image/manifest.h"
#include "os/packing/tar.h"

namespace muster::image {
namespace {

namespace fs = std::filesystem;
using packing::TarEntry;

constexpr std::size_t chunk_bytes = 1u << 20;
constexpr std::size_t xattr_bytes_max = 64u << 10;  // The kernel's own.
constexpr const char* opaque_names[] = {"trusted.overlay.opaque", "user.overlay.opaque"};

TarEntry::Kind kind_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return TarEntry::Kind::folder;
    case S_IFLNK:
      return TarEntry::Kind::link;
    case S_IFCHR:
      return TarEntry::Kind::character_device;
    case S_IFBLK:
      return TarEntry::Kind::block_device;
    case S_IFIFO:
      return TarEntry::Kind::fifo;
    default:
      return TarEntry::Kind::file;
  }
}

/// One layer on its way into a tar.
class Packing {
 public:
  Packing(std::string root, int file) : root_(std::move(root)), file_(file) {}

  Result<void> run() {
    TRY(add("."));
    std::error_code code;
    const auto all = fs::recursive_directory_iterator(root_, code);
    if (code) return fail(Errc::system, root_ + ": " + code.message());
    for (const fs::directory_entry& each : all)
      TRY(add(each.path().string().substr(root_.size() + 1)));
    return write_all(file_, std::string(packing::tar_end_bytes, '\0'));
  }

 private:
  Result<void> add(const std::string& name) {
    const std::string path = root_ + "/" + name;
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) return fail_errno("cannot open " + path);
    if (S_ISSOCK(status.st_mode)) return {};
    if (S_ISCHR(status.st_mode) && status.st_rdev == makedev(0, 0)) return add_mark(name);
    TarEntry entry{.path = name,
                   .kind = kind_of(status.st_mode),
                   .mode = static_cast<unsigned>(status.st_mode & 07777),
                   .user = status.st_uid,
                   .group = status.st_gid,
                   .time = status.st_mtim.tv_sec,
                   .time_ns = status.st_mtim.tv_nsec};
    if (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)) {
      entry.device_major = major(status.st_rdev);
      entry.device_minor = minor(status.st_rdev);
    }
    if (S_ISLNK(status.st_mode)) {
      std::error_code code;
      entry.target = fs::read_symlink(path, code);
      if (code) return fail(Errc::system, path + ": " + code.message());
    }
    if (S_ISREG(status.st_mode) && status.st_nlink > 1) {
      const auto [first, is_new] = links_.emplace(std::pair(status.st_dev, status.st_ino), name);
      entry.target = is_new ? std::string() : first->second;
      if (!is_new) entry.kind = TarEntry::Kind::hard_link;
      if (!is_new) return write_all(file_, packing::tar_header(entry));
    }
    const bool opaque = TRY(add_extended(entry, path));
    if (S_ISREG(status.st_mode)) entry.bytes = static_cast<std::uint64_t>(status.st_size);
    TRY(write_all(file_, packing::tar_header(entry)));
    if (S_ISREG(status.st_mode)) TRY(add_bytes(path, entry.bytes));
    return opaque ? add_opaque(name) : Result<void>();
  }

  /// True for a folder that hides all that lower layers have of it.
  Result<bool> add_extended(TarEntry& entry, const std::string& path) const {
    std::string names(xattr_bytes_max, '\0');
    const ssize_t count = ::llistxattr(path.c_str(), names.data(), names.size());
    if (count < 0 && errno == ENOTSUP) return false;
    if (count < 0) return fail_errno("cannot read " + path);
    bool opaque = false;
    std::string value(xattr_bytes_max, '\0');
    for (std::size_t at = 0; at < static_cast<std::size_t>(count);) {
      const std::string name = names.c_str() + at;
      at += name.size() + 1;
      const ssize_t bytes = ::lgetxattr(path.c_str(), name.c_str(), value.data(), value.size());
      if (bytes < 0) return fail_errno("cannot read " + path);
      bool is_mark = false;
      for (const char* each : opaque_names) is_mark = is_mark || name == each;
      opaque = opaque || (is_mark && bytes == 1 && value[0] == 'y');
      if (!is_mark)
        entry.attributes.emplace_back(name, value.substr(0, static_cast<std::size_t>(bytes)));
    }
    return opaque;
  }

  Result<void> add_mark(const std::string& name) {
    const fs::path path(name);
    return add_empty(path.parent_path() / (".wh." + path.filename().string()));
  }
  Result<void> add_opaque(const std::string& name) {
    return add_empty(fs::path(name) / ".wh..wh..opq");
  }
  Result<void> add_empty(const std::string& name) {
    return write_all(file_, packing::tar_header(TarEntry{.path = name, .mode = 0600}));
  }

  Result<void> add_bytes(const std::string& path, std::uint64_t bytes) {
    const Fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!file) return fail_errno("cannot open " + path);
    std::uint64_t left = bytes;
    Result<void> written;
    TRY(read_pieces(file.get(), path, 0, chunk_bytes, [&](std::string_view piece) {
      piece =
          piece.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(left, piece.size())));
      written = write_all(file_, piece);
      left -= piece.size();
      return written && left > 0;
    }));
    if (!written) return written;
    if (left > 0) return fail(Errc::system, "cannot pack " + path);
    return write_all(file_, std::string(packing::tar_padding(bytes), '\0'));
  }

  std::string root_;
  int file_;
  std::map<std::pair<dev_t, ino_t>, std::string> links_;  ///< The first name of each file.
};

}  // namespace

Result<Documents> documents_of(const std::string& lease, const std::string& digest) {
  const Store store = TRY(Store::open(fs::path(lease).parent_path().parent_path()));
  Documents documents;
  documents.manifest = TRY(store.read_blob(digest));
  const std::variant<Manifest, Index> read = TRY(manifest_from(documents.manifest));
  const Manifest* one = std::get_if<Manifest>(&read);
  if (one == nullptr) return fail(Errc::protocol, digest + ": not an image manifest");
  documents.config = TRY(store.read_blob(one->config.digest));
  return documents;
}

Result<std::uint64_t> pack_layer(const std::string& root, const std::string& to) {
  const Fd file(::open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file) return fail_errno("cannot create " + to);
  Packing packing(root, file.get());
  TRY(packing.run());
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return fail_errno("cannot open " + to);
  return static_cast<std::uint64_t>(status.st_size);
}

}  // namespace muster::image
