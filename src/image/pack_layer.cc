#include "image/pack_layer.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <memory>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "base/fd.h"
#include "image/manifest.h"
#include "image/store.h"

namespace muster::image {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t chunk_bytes = 1u << 20;
constexpr std::size_t xattr_bytes_max = 64u << 10;  // The kernel's own.
constexpr const char* opaque_names[] = {"trusted.overlay.opaque", "user.overlay.opaque"};

using Entry = std::unique_ptr<archive_entry, decltype(&::archive_entry_free)>;

/// One layer on its way into a tar.
class Packing {
 public:
  Packing(std::string root, int file)
      : root_(std::move(root)), handle_(::archive_write_new(), &::archive_write_free) {
    CHECK_THAT(handle_ && ::archive_write_set_format_pax(handle_.get()) == ARCHIVE_OK,
               "libarchive writes tar");
    is_open_ = ::archive_write_open_fd(handle_.get(), file) == ARCHIVE_OK;
  }

  Result<void> run() {
    if (!is_open_) return failed(root_);
    TRY(add("."));
    std::error_code code;
    const auto all = fs::recursive_directory_iterator(root_, code);
    if (code) return fail(Errc::system, root_ + ": " + code.message());
    for (const fs::directory_entry& each : all)
      TRY(add(each.path().string().substr(root_.size() + 1)));
    if (::archive_write_close(handle_.get()) != ARCHIVE_OK) return failed(root_);
    return {};
  }

 private:
  Error failed(const std::string& path) const {
    const char* text = ::archive_error_string(handle_.get());
    return fail(Errc::system, path + ": " + (text != nullptr ? text : "cannot be packed"));
  }

  Result<void> add(const std::string& name) {
    const std::string path = root_ + "/" + name;
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) return fail_errno(path);
    if (S_ISSOCK(status.st_mode)) return {};
    if (S_ISCHR(status.st_mode) && status.st_rdev == makedev(0, 0)) return add_mark(name);
    const Entry entry(::archive_entry_new(), &::archive_entry_free);
    ::archive_entry_copy_stat(entry.get(), &status);
    ::archive_entry_copy_pathname(entry.get(), name.c_str());
    if (!S_ISREG(status.st_mode)) ::archive_entry_set_size(entry.get(), 0);
    if (S_ISLNK(status.st_mode)) {
      std::error_code code;
      const std::string target = fs::read_symlink(path, code);
      if (code) return fail(Errc::system, path + ": " + code.message());
      ::archive_entry_copy_symlink(entry.get(), target.c_str());
    }
    if (S_ISREG(status.st_mode) && status.st_nlink > 1) {
      const auto [first, is_new] = links_.emplace(std::pair(status.st_dev, status.st_ino), name);
      if (!is_new) {
        ::archive_entry_copy_hardlink(entry.get(), first->second.c_str());
        ::archive_entry_set_size(entry.get(), 0);
        return write(entry.get(), path, false);
      }
    }
    const bool opaque = TRY(add_extended(entry.get(), path));
    TRY(write(entry.get(), path, S_ISREG(status.st_mode)));
    return opaque ? add_opaque(name) : Result<void>();
  }

  /// True for a folder that hides all that lower layers have of it.
  Result<bool> add_extended(archive_entry* entry, const std::string& path) const {
    std::string names(xattr_bytes_max, '\0');
    const ssize_t count = ::llistxattr(path.c_str(), names.data(), names.size());
    if (count < 0 && errno == ENOTSUP) return false;
    if (count < 0) return fail_errno(path);
    bool opaque = false;
    std::string value(xattr_bytes_max, '\0');
    for (std::size_t at = 0; at < static_cast<std::size_t>(count);) {
      const std::string name = names.c_str() + at;
      at += name.size() + 1;
      const ssize_t bytes = ::lgetxattr(path.c_str(), name.c_str(), value.data(), value.size());
      if (bytes < 0) return fail_errno(path);
      bool is_mark = false;
      for (const char* each : opaque_names) is_mark = is_mark || name == each;
      opaque = opaque || (is_mark && bytes == 1 && value[0] == 'y');
      if (!is_mark)
        ::archive_entry_xattr_add_entry(entry, name.c_str(), value.data(),
                                        static_cast<std::size_t>(bytes));
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
    const Entry entry(::archive_entry_new(), &::archive_entry_free);
    ::archive_entry_copy_pathname(entry.get(), name.c_str());
    ::archive_entry_set_filetype(entry.get(), AE_IFREG);
    ::archive_entry_set_perm(entry.get(), 0600);
    ::archive_entry_set_size(entry.get(), 0);
    return write(entry.get(), name, false);
  }

  Result<void> write(archive_entry* entry, const std::string& path, bool with_bytes) {
    if (::archive_write_header(handle_.get(), entry) < ARCHIVE_WARN) return failed(path);
    if (!with_bytes) return {};
    const Fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!file) return fail_errno(path);
    std::string buffer(chunk_bytes, '\0');
    while (true) {
      const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
      if (count == 0) return {};
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return fail_errno(path);
      if (::archive_write_data(handle_.get(), buffer.data(), static_cast<std::size_t>(count)) !=
          count)
        return failed(path);
    }
  }

  std::string root_;
  std::unique_ptr<archive, decltype(&::archive_write_free)> handle_;
  bool is_open_ = false;
  std::map<std::pair<dev_t, ino_t>, std::string> links_;  ///< The first name of each file.
};

}  // namespace

Result<Documents> documents_of(const std::string& lease, const std::string& digest) {
  const Store store = TRY(Store::open(fs::path(lease).parent_path().parent_path()));
  Documents documents;
  documents.manifest = TRY(store.read_blob(digest));
  const std::variant<Manifest, Index> read = TRY(manifest_from(documents.manifest));
  const Manifest* one = std::get_if<Manifest>(&read);
  if (one == nullptr) return fail(Errc::protocol, digest + ": not an image's manifest");
  documents.config = TRY(store.read_blob(one->config.digest));
  return documents;
}

Result<std::uint64_t> pack_layer(const std::string& root, const std::string& to) {
  const Fd file(::open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file) return fail_errno(to);
  Packing packing(root, file.get());
  TRY(packing.run());
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return fail_errno(to);
  return static_cast<std::uint64_t>(status.st_size);
}

}  // namespace muster::image
