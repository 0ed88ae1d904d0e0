#include "image/layers/layer.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "base/text.h"
#include "image/layers/disk_use.h"
#include "image/layers/layer_tree.h"
#include "image/layers/path_limit.h"
#include "image/layers/sparse.h"
#include "os/packing/archive_member.h"

namespace muster::image {
namespace {

constexpr std::string_view whiteout_start = ".wh.";
constexpr std::string_view whiteout_own = ".wh..wh.";  ///< What aufs kept for itself.
constexpr std::string_view whiteout_opaque = ".wh..wh..opq";
constexpr std::int64_t id_max = 0xffff'fffe;

struct Device {
  unsigned major;
  unsigned minor;
};
/// null, zero, full, random, urandom, tty, console, ptmx: what base images bring.
constexpr std::array<Device, 8> harmless = {
    {{1, 3}, {1, 5}, {1, 7}, {1, 8}, {1, 9}, {5, 0}, {5, 1}, {5, 2}}};

Error damaged(const std::string& text) {
  return fail(Errc::protocol, text);
}

/// As if "/" were above it: "./a/../b" is b, "../../etc" is etc.
LayerTree::Parts inside(std::string_view name) {
  LayerTree::Parts parts;
  for (std::string& part : split(name, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..")
      parts.push_back(std::move(part));
    else if (!parts.empty())
      parts.pop_back();
  }
  return parts;
}

/// One run: the tar being read and the tree being made.
class Unpacking {
 public:
  Unpacking(std::unique_ptr<Bytes> tar, LayerTree tree, const LayerLimits& limits, Budget& budget,
            Meter& meter)
      : tar_(std::move(tar)),
        tree_(std::move(tree)),
        limits_(limits),
        budget_(budget),
        meter_(meter),
        handle_(::archive_read_new(), ::archive_read_free) {}

  Result<LayerReport> run();

 private:
  static la_ssize_t read(archive* handle, void* self, const void** bytes);

  Result<std::string_view> next_bytes();
  Result<archive_entry*> next_member();
  Result<void> take(archive_entry* entry);
  Result<bool> take_whiteout(const LayerTree::Parts& path);
  Result<void> make(archive_entry* entry, const LayerTree::Parts& path);
  Result<void> make_file(archive_entry* entry, const LayerTree::Parts& path,
                         const Attributes& attributes);
  Result<void> make_device(archive_entry* entry, const LayerTree::Parts& path,
                           const Attributes& attributes);
  Result<void> write_data(int file, std::uint64_t size);
  Result<Attributes> attributes_of(archive_entry* entry) const;
  Error library_error() const;
  Error too_much() const;

  std::unique_ptr<Bytes> tar_;
  LayerTree tree_;
  LayerLimits limits_;
  Budget& budget_;
  Meter& meter_;
  std::uint64_t file_bytes_ = 0;
  std::optional<Error> read_error_;  ///< Why the library got no more bytes.
  std::unique_ptr<archive, int (*)(archive*)> handle_;
  LayerReport report_;
};

Error Unpacking::too_much() const {
  return damaged("contains more than " + std::to_string(limits_.bytes_max) +
                 " bytes when unpacked");
}

Result<std::string_view> Unpacking::next_bytes() {
  const std::string_view bytes = TRY(tar_->next());
  TRY(meter_.look());
  report_.tar_bytes += bytes.size();
  if (report_.tar_bytes > limits_.bytes_max) return too_much();
  return bytes;
}

la_ssize_t Unpacking::read(archive* handle, void* self, const void** bytes) {
  Unpacking& own = *static_cast<Unpacking*>(self);
  const Result<std::string_view> got = own.next_bytes();
  if (!got) {
    own.read_error_ = got.error();
    ::archive_set_error(handle, EIO, "%s", got.error().text.c_str());
    return ARCHIVE_FATAL;
  }
  *bytes = got->data();
  return static_cast<la_ssize_t>(got->size());
}

Error Unpacking::library_error() const {
  if (read_error_) return *read_error_;
  const char* text = ::archive_error_string(handle_.get());
  const std::string what = report_.entries == 0 ? "is not a tar archive: " : "is damaged: ";
  return damaged(what + (text != nullptr ? text : "wrong data"));
}

/// The next member's header; null at the end.
Result<archive_entry*> Unpacking::next_member() {
  archive_entry* entry = nullptr;
  const int status = ::archive_read_next_header(handle_.get(), &entry);
  if (status == ARCHIVE_EOF) return static_cast<archive_entry*>(nullptr);
  // A warning is about a name that cannot be converted to this process's locale, which has none:
  // only the bytes count.
  if (status == ARCHIVE_OK || status == ARCHIVE_WARN) return entry;
  return library_error();
}

Result<LayerReport> Unpacking::run() {
  archive* const handle = handle_.get();
  CHECK_THAT(handle != nullptr && ::archive_read_support_format_tar(handle) == ARCHIVE_OK &&
                 ::archive_read_support_format_empty(handle) == ARCHIVE_OK,
             "libarchive knows tar");
  if (::archive_read_open(handle, this, nullptr, &Unpacking::read, nullptr) != ARCHIVE_OK)
    return library_error();
  while (archive_entry* entry = TRY(next_member())) TRY(take(entry));
  if (read_error_) return *read_error_;  // To the library bytes that fail at once are none at all.
  while (true) {                         // Checksums are checked at the end of the bytes.
    const std::string_view rest = TRY(next_bytes());
    if (rest.empty()) break;
  }
  TRY(tree_.finish());
  if (tree_.strangers() > 0)
    report_.said.push_back(
        std::to_string(tree_.strangers()) +
        " files belong to root, because you do not have the ids of their owners here");
  return report_;
}

Result<void> Unpacking::take(archive_entry* entry) {
  if (++report_.entries > limits_.entries_max)
    return damaged("contains more than " + std::to_string(limits_.entries_max) + " entries");
  TRY(meter_.tick());
  const std::string_view name = TRY(checked_path(::archive_entry_pathname(entry)));
  const LayerTree::Parts path = inside(name);
  const bool is_folder = ::archive_entry_filetype(entry) == AE_IFDIR;
  if (path.empty() && !is_folder)
    return damaged("has a member named " + packing::shown(name) + " that is not a folder");
  if (!path.empty()) {
    const bool taken = TRY(take_whiteout(path));
    if (taken) return {};
  }
  return make(entry, path);
}

/// An entry that marks a removal from the lower layers is not a file.
Result<bool> Unpacking::take_whiteout(const LayerTree::Parts& path) {
  const std::string& name = path.back();
  if (!name.starts_with(whiteout_start)) return false;
  const LayerTree::Parts folder(path.begin(), path.end() - 1);
  if (name == whiteout_opaque) {
    TRY(tree_.hide_below(folder));
  } else if (!name.starts_with(whiteout_own)) {
    const std::string hidden = name.substr(whiteout_start.size());
    if (hidden.empty() || hidden == "." || hidden == "..")
      return damaged("has a whiteout without a name: " + packing::shown(join(path, "/")));
    LayerTree::Parts target = folder;
    target.push_back(hidden);
    TRY(tree_.hide(target));
  }
  return true;
}

Result<Attributes> Unpacking::attributes_of(archive_entry* entry) const {
  const std::int64_t user = ::archive_entry_uid(entry);
  const std::int64_t group = ::archive_entry_gid(entry);
  if (user < 0 || user > id_max || group < 0 || group > id_max)
    return damaged("has an invalid owner");
  Attributes attributes{static_cast<uid_t>(user),
                        static_cast<gid_t>(group),
                        ::archive_entry_perm(entry) & 07777u,
                        {::archive_entry_mtime(entry), ::archive_entry_mtime_nsec(entry)}};
  ::archive_entry_xattr_reset(entry);
  const char* name = nullptr;
  const void* value = nullptr;
  std::size_t count = 0;
  while (::archive_entry_xattr_next(entry, &name, &value, &count) == ARCHIVE_OK)
    if (name != nullptr)
      attributes.extended.emplace_back(name, std::string(static_cast<const char*>(value), count));
  return attributes;
}

Result<void> Unpacking::make(archive_entry* entry, const LayerTree::Parts& path) {
  if (const char* target = ::archive_entry_hardlink(entry))
    return tree_.make_hard_link(path, inside(TRY(checked_path(target))));
  const Attributes attributes = TRY(attributes_of(entry));
  switch (::archive_entry_filetype(entry)) {
    case AE_IFREG:
      return make_file(entry, path, attributes);
    case AE_IFDIR:
      return tree_.make_folder(path, attributes);
    case AE_IFLNK: {
      const std::string target(TRY(checked_path(::archive_entry_symlink(entry))));
      return tree_.make_link(path, target, attributes);
    }
    case AE_IFIFO:
      return tree_.make_node(path, S_IFIFO, 0, attributes);
    default:
      return make_device(entry, path, attributes);
  }
}

/// Devices of a machine are no image's matter, and 0:0 would be an overlay's whiteout.
Result<void> Unpacking::make_device(archive_entry* entry, const LayerTree::Parts& path,
                                    const Attributes& attributes) {
  const auto major = static_cast<unsigned>(::archive_entry_rdevmajor(entry));
  const auto minor = static_cast<unsigned>(::archive_entry_rdevminor(entry));
  const bool fine = ::archive_entry_filetype(entry) == AE_IFCHR &&
                    std::any_of(harmless.begin(), harmless.end(), [&](const Device& device) {
                      return device.major == major && device.minor == minor;
                    });
  if (fine) {
    Result<void> made = tree_.make_node(path, S_IFCHR, makedev(major, minor), attributes);
    if (made || made.error().code != Errc::denied) return made;  // Only root makes devices.
  }
  ++report_.left_out;
  if (report_.said.size() < LayerReport::said_max)
    report_.said.push_back(packing::shown(join(path, "/")) + " left out: it is a device, " +
                           std::to_string(major) + ":" + std::to_string(minor));
  return {};
}

Result<void> Unpacking::make_file(archive_entry* entry, const LayerTree::Parts& path,
                                  const Attributes& attributes) {
  const la_int64_t size = ::archive_entry_size(entry);
  const std::string name = packing::shown(join(path, "/"));
  if (size < 0) return damaged("is damaged: the size of " + name);
  const auto bytes = static_cast<std::uint64_t>(size);
  if (bytes > limits_.bytes_max - file_bytes_) return too_much();
  file_bytes_ += bytes;
  const Fd file = TRY(tree_.make_file(path));
  const Result<void> written = write_data(file.get(), bytes);
  if (!written) return written.error().in(name);
  return tree_.finish_file(file.get(), path, attributes);
}

Result<void> Unpacking::write_data(int file, std::uint64_t size) {
  SparseWriter writer(file, budget_);
  while (true) {
    const void* block = nullptr;
    std::size_t count = 0;
    la_int64_t at = 0;
    const int status = ::archive_read_data_block(handle_.get(), &block, &count, &at);
    if (status == ARCHIVE_EOF) break;
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN) return library_error();
    if (at < 0 || count > size || static_cast<std::uint64_t>(at) > size - count)
      return damaged("is larger than its recorded size");
    TRY(writer.write(static_cast<const char*>(block), count, at));
  }
  if (size > 0 && ::ftruncate(file, static_cast<off_t>(size)) != 0)
    return fail_errno("cannot write");
  return {};
}

}  // namespace

Result<LayerReport> unpack_layer(std::unique_ptr<Bytes> bytes, const std::string& diff_id,
                                 const std::string& root, const std::vector<std::string>& lowers,
                                 const LayerLimits& limits, Budget& budget, Gunzip by) {
  std::vector<Fd> open;
  std::vector<int> numbers;
  for (const std::string& path : lowers) {
    open.emplace_back(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!open.back()) return fail_errno("cannot open " + path);
    numbers.push_back(open.back().get());
  }
  const Fd own(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!own) return fail_errno("cannot open " + root);
  // One thread unpacks, the other hashes and writes.
  std::unique_ptr<Bytes> tar = unpacked(counted(std::move(bytes), budget), by);
  tar = read_ahead(metered(std::move(tar), budget));
  if (!diff_id.empty()) tar = checked(std::move(tar), diff_id);
  Meter meter(budget);
  LayerTree tree(own.get(), std::move(numbers), budget, meter);
  Unpacking unpacking(std::move(tar), std::move(tree), limits, budget, meter);
  LayerReport report = TRY(unpacking.run());
  open.clear();  // disk_use() may need as many.
  report.disk_bytes = TRY(disk_use(root));
  return report;
}

Result<void> check_layer(std::unique_ptr<Bytes> bytes, const std::string& diff_id,
                         const LayerLimits& limits, Budget& budget) {
  std::unique_ptr<Bytes> tar = unpacked(counted(std::move(bytes), budget));
  tar = checked(read_ahead(metered(std::move(tar), budget)), diff_id);
  Meter meter(budget);
  std::uint64_t count = 0;
  while (true) {
    const std::string_view piece = TRY(tar->next());
    TRY(meter.look());
    if (piece.empty()) return {};
    count += piece.size();
    if (count > limits.bytes_max)
      return damaged("contains more than " + std::to_string(limits.bytes_max) +
                     " bytes when unpacked");
  }
}

}  // namespace muster::image
