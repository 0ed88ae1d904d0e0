#include "os/packing/unpack.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/text.h"
#include "os/packing/archive_member.h"
#include "os/packing/confined_tree.h"
#include "os/packing/gzip.h"
#include "os/packing/staging_folder.h"
#include "os/packing/tar_reader.h"

namespace muster::packing {
namespace {

/// One run: the archive being read and the tree being made.
class Unpacking {
 public:
  Unpacking(GzipReader reader, Tree tree, const UnpackLimits& limits);

  Result<UnpackReport> run();

 private:
  Result<std::string_view> next_bytes();
  Result<void> take(archive_entry* entry);
  Result<LeftOut> make(archive_entry* entry, const Tree::Parts& path);
  Result<LeftOut> make_file(archive_entry* entry, const Tree::Parts& path);
  Result<void> write_data(int file, std::uint64_t size, const std::string& name);
  Result<void> read_rest();
  Error too_much() const;
  void say(std::string line);

  GzipReader reader_;
  Tree tree_;
  UnpackLimits limits_;
  std::uint64_t bytes_max_;
  std::uint64_t entries_ = 0;
  TarReader tar_;
  UnpackReport report_;
};

Unpacking::Unpacking(GzipReader reader, Tree tree, const UnpackLimits& limits)
    : reader_(std::move(reader)),
      tree_(std::move(tree)),
      limits_(limits),
      bytes_max_(std::max(limits.bytes_max, limits.ratio_max * reader_.file_bytes())),
      tar_([this] { return next_bytes(); }) {}

Error Unpacking::too_much() const {
  return fail(Errc::invalid_input,
              "the archive contains more than " + std::to_string(bytes_max_) +
                  " bytes when unpacked (MUSTER_CODE_BYTES_MAX sets the limit)");
}

/// What the tar layer reads. Counts against the limit too: headers and what lies behind the end
/// can be a bomb as well as files can.
Result<std::string_view> Unpacking::next_bytes() {
  const std::string_view bytes = TRY(reader_.next());
  if (reader_.bytes_out() > bytes_max_) return too_much();
  return bytes;
}

void Unpacking::say(std::string line) {
  ++report_.refused;
  if (report_.said.size() < UnpackReport::said_max) report_.said.push_back(std::move(line));
}

Result<UnpackReport> Unpacking::run() {
  while (archive_entry* entry = TRY(tar_.next())) TRY(take(entry));
  TRY(read_rest());
  for (const std::string& path : TRY(tree_.remove_strays())) {
    --report_.links;
    say(shown(path) + " left out: it leads outside the code folder through another link");
  }
  return report_;
}

/// To the end of the file, where gzip's checksum is.
Result<void> Unpacking::read_rest() {
  while (true) {
    const std::string_view bytes = TRY(next_bytes());
    if (bytes.empty()) return {};
  }
}

Result<void> Unpacking::take(archive_entry* entry) {
  if (++entries_ > limits_.entries_max)
    return fail(Errc::invalid_input, "the archive contains more than " +
                                         std::to_string(limits_.entries_max) + " entries");
  const char* raw = ::archive_entry_pathname(entry);
  const std::string name = raw != nullptr ? raw : "";
  const Placed place = placed(name);
  if (place.parts.empty()) {
    const bool plain = name == "." || name == "./";  // The folder itself, of `tar -C folder .`
    if (!plain) say(shown(name) + " left out: its name is empty");
    return {};
  }
  const LeftOut left_out = TRY(make(entry, place.parts));
  if (left_out)
    say(shown(name) + " left out: " + left_out.why);
  else if (place.changed)
    say(shown(name) + " unpacked as " + shown(join(place.parts, "/")));
  return {};
}

Result<LeftOut> Unpacking::make(archive_entry* entry, const Tree::Parts& path) {
  if (const char* target = ::archive_entry_hardlink(entry)) {
    const LeftOut left_out = TRY(tree_.make_hard_link(path, target));
    if (!left_out) ++report_.links;
    return left_out;
  }
  switch (::archive_entry_filetype(entry)) {
    case AE_IFREG:
      return make_file(entry, path);
    case AE_IFDIR: {
      const LeftOut left_out = TRY(tree_.make_folder(path));
      if (!left_out) ++report_.folders;
      return left_out;
    }
    case AE_IFLNK: {
      const char* target = ::archive_entry_symlink(entry);
      const LeftOut left_out = TRY(tree_.make_link(path, target != nullptr ? target : ""));
      if (!left_out) ++report_.links;
      return left_out;
    }
    default:
      return LeftOut{"it is a device or a pipe"};
  }
}

Result<LeftOut> Unpacking::make_file(archive_entry* entry, const Tree::Parts& path) {
  const la_int64_t size = ::archive_entry_size(entry);
  const std::string name = shown(join(path, "/"));
  if (size < 0)
    return fail(Errc::invalid_input, "the archive is damaged: the size of " + name + " is invalid");
  const std::uint64_t bytes = static_cast<std::uint64_t>(size);
  if (bytes > bytes_max_ - report_.bytes) return too_much();
  std::pair<Fd, LeftOut> made = TRY(tree_.make_file(path));
  if (made.second) return made.second;
  const int file = made.first.get();
  TRY(write_data(file, bytes, name));
  const timespec times[2] = {
      {.tv_sec = 0, .tv_nsec = UTIME_OMIT},
      {.tv_sec = ::archive_entry_mtime(entry), .tv_nsec = ::archive_entry_mtime_nsec(entry)}};
  static_cast<void>(::futimens(file, times));  // A time that the file system cannot hold: so be it.
  if (::fchmod(file, placed_mode(::archive_entry_perm(entry))) != 0)
    return fail_errno("cannot change the mode of " + name);
  report_.bytes += bytes;
  ++report_.files;
  return LeftOut();
}

/// Writes the member that was read last. Holes stay holes.
Result<void> Unpacking::write_data(int file, std::uint64_t size, const std::string& name) {
  while (true) {
    const void* block = nullptr;
    std::size_t count = 0;
    la_int64_t at = 0;
    const int status = ::archive_read_data_block(tar_.handle(), &block, &count, &at);
    if (status == ARCHIVE_EOF) break;
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN) return tar_.error("the archive is damaged");
    if (at < 0 || count > size || static_cast<std::uint64_t>(at) > size - count)
      return fail(Errc::invalid_input,
                  "the archive is damaged: " + name + " is larger than its recorded size");
    const char* bytes = static_cast<const char*>(block);
    while (count > 0) {
      const ssize_t put = ::pwrite(file, bytes, count, at);
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return fail_errno("cannot write " + name);
      bytes += put;
      at += put;
      count -= static_cast<std::size_t>(put);
    }
  }
  if (::ftruncate(file, static_cast<off_t>(size)) != 0) return fail_errno("cannot write " + name);
  return {};
}

Result<UnpackReport> unpack_into(const std::string& archive, const std::string& folder,
                                 const UnpackLimits& limits) {
  GzipReader reader = TRY(GzipReader::open(archive));
  Staging staging = TRY(Staging::open(folder));
  Unpacking unpacking(std::move(reader), Tree(staging.fd(), staging.folder(), limits.depth_max),
                      limits);
  UnpackReport report = TRY(unpacking.run());
  TRY(staging.move_in());
  return report;
}

}  // namespace

Result<UnpackLimits> limits_from(const Env& env) {
  UnpackLimits limits;
  const Env::const_iterator set = env.find("MUSTER_CODE_BYTES_MAX");
  if (set == env.end() || set->second.empty()) return limits;
  const std::optional<std::int64_t> bytes = parse_integer(set->second);
  if (!bytes || *bytes < 1)
    return fail(Errc::invalid_input,
                "MUSTER_CODE_BYTES_MAX is '" + set->second + "'; expected a number of bytes");
  limits.bytes_max = static_cast<std::uint64_t>(*bytes);
  limits.ratio_max = 0;
  return limits;
}

Result<UnpackReport> unpack(const std::string& archive, const std::string& folder,
                            const UnpackLimits& limits, const std::string& name) {
  Result<UnpackReport> report = unpack_into(archive, folder, limits);
  if (!report) return report.error().in(name);
  return report;
}

}  // namespace muster::packing
