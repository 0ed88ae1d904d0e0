#include "os/packing/tar.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "base/fd.h"
#include "base/text.h"

namespace muster::packing {
namespace {

constexpr std::uint64_t block = 512;
constexpr std::size_t name_max = 100;
constexpr std::size_t prefix_max = 155;
constexpr std::uint64_t size_max = 0777'7777'7777;  // Eleven octal digits.
constexpr std::uint64_t id_max = 0777'7777;         // Seven.
constexpr std::size_t path_bytes_max = 4095;

std::uint64_t padded(std::uint64_t bytes) {
  return (bytes + block - 1) / block * block;
}

/// `width` octal digits and a NUL.
void put_octal(std::string& header, std::size_t at, std::size_t width, std::uint64_t value) {
  for (std::size_t i = 0; i < width; ++i) {
    header[at + width - 1 - i] = static_cast<char>('0' + (value & 7));
    value >>= 3;
  }
}

void put_text(std::string& header, std::size_t at, std::string_view text) {
  header.replace(at, text.size(), text);
}

/// One header, whose fields all fit.
struct Header {
  std::string name;
  std::string prefix{};
  char type = '0';
  unsigned mode = 0644;
  std::uint64_t user = 0;
  std::uint64_t group = 0;
  std::uint64_t bytes = 0;
  std::int64_t time = 0;
  std::string link{};
  unsigned device_major = 0;
  unsigned device_minor = 0;
};

std::string ustar(const Header& of) {
  std::string header(block, '\0');
  put_text(header, 0, of.name);
  put_octal(header, 100, 7, of.mode);
  put_octal(header, 108, 7, of.user);
  put_octal(header, 116, 7, of.group);
  put_octal(header, 124, 11, of.bytes);
  put_octal(header, 136, 11, static_cast<std::uint64_t>(of.time));
  put_text(header, 148, "        ");
  header[156] = of.type;
  put_text(header, 157, of.link);
  put_text(header, 257, std::string_view("ustar\00000", 8));
  put_octal(header, 329, 7, of.device_major);
  put_octal(header, 337, 7, of.device_minor);
  put_text(header, 345, of.prefix);
  std::uint64_t sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  put_octal(header, 148, 6, sum);
  header[154] = '\0';
  return header;
}

/// "LENGTH name=value\n", where the length counts itself.
std::string pax_record(const std::string& name, const std::string& value) {
  const std::size_t rest = name.size() + value.size() + 3;
  std::size_t length = rest + 1;
  while (std::to_string(length).size() + rest != length)
    length = std::to_string(length).size() + rest;
  return std::to_string(length) + " " + name + "=" + value + "\n";
}

/// Seconds with a fraction. Before 1970 that counts forwards, too, as libarchive writes and reads
/// it, which unpacks what is packed here.
std::string time_text(const TarEntry& entry) {
  std::string fraction = std::to_string(entry.time_ns);
  fraction.insert(0, 9 - fraction.size(), '0');
  return std::to_string(entry.time) + "." + fraction;
}

/// Puts `path` into name and prefix; false if it does not fit.
bool split_name(const std::string& path, Header& header) {
  header.name = path;
  if (path.size() <= name_max) return true;
  // The last slash may be the one of a folder's own name.
  const std::size_t slash = path.find('/', path.size() - name_max - 1);
  if (slash == std::string::npos || slash + 1 >= path.size() || slash > prefix_max || slash == 0)
    return false;
  header.prefix = path.substr(0, slash);
  header.name = path.substr(slash + 1);
  return true;
}

/// An entry's path from its root.
std::string_view below(std::string_view path, std::string_view name) {
  return name.empty() ? path : path.substr(std::min(path.size(), name.size() + 1));
}

/// The file of an entry, for errors.
std::string shown(const Root& root, const std::string& path) {
  const std::string_view rest = below(path, root.name);
  return rest.empty() ? root.at.path : root.at.path + "/" + std::string(rest);
}

}  // namespace

std::string tar_header(const TarEntry& entry) {
  Header header{.name = "",
                .type = static_cast<char>(entry.kind),
                .mode = entry.mode,
                .bytes = entry.bytes,
                .link = entry.target,
                .device_major = entry.device_major,
                .device_minor = entry.device_minor};
  const std::string path = entry.path + (entry.kind == TarEntry::Kind::folder ? "/" : "");
  std::string records;
  if (!split_name(path, header) || !is_utf8(path)) {
    if (!is_utf8(path)) records += pax_record("hdrcharset", "BINARY");
    records += pax_record("path", path);
    header.name = path.substr(0, name_max);
    header.prefix.clear();
  }
  if (header.link.size() > name_max) {
    records += pax_record("linkpath", header.link);
    header.link.resize(name_max);
  }
  const auto number = [&](const char* name, std::uint64_t value, std::uint64_t most) {
    if (value > most) records += pax_record(name, std::to_string(value));
    return value > most ? 0 : value;
  };
  header.bytes = number("size", entry.bytes, size_max);
  header.user = number("uid", entry.user, id_max);
  header.group = number("gid", entry.group, id_max);
  header.time = std::max<std::int64_t>(entry.time, 0);
  if (entry.time < 0 || entry.time_ns != 0) records += pax_record("mtime", time_text(entry));
  for (const auto& [name, value] : entry.attributes)
    records += pax_record("SCHILY.xattr." + name, value);
  std::string text;
  if (!records.empty()) {
    text = ustar({.name = "PaxHeaders/x", .type = 'x', .bytes = records.size()});
    records.resize(padded(records.size()), '\0');
    text += records;
  }
  return text + ustar(header);
}

std::string tar_header(const TreeEntry& entry) {
  using Kind = TarEntry::Kind;
  const bool is_folder = entry.kind == TreeEntry::Kind::folder;
  const bool is_link = entry.kind == TreeEntry::Kind::link;
  return tar_header(TarEntry{.path = entry.path,
                             .kind = is_folder ? Kind::folder
                                     : is_link ? Kind::link
                                               : Kind::file,
                             .mode = entry.mode,
                             .time = entry.time,
                             .bytes = entry.bytes,
                             .target = entry.target});
}

std::uint64_t tar_padding(std::uint64_t bytes) {
  return padded(bytes) - bytes;
}

Result<TarPlan> TarPlan::make(EntryList entries, std::vector<Root> roots) {
  TarPlan plan(std::move(entries), std::move(roots));
  EntryList::Cursor cursor(plan.entries_);
  TreeEntry entry;
  while (true) {
    const Start start{plan.bytes_, cursor.place()};
    if (cursor.is_start()) plan.starts_.push_back(start);
    if (!TRY(cursor.next(entry))) break;
    CHECK_THAT(entry.root < plan.roots_.size(), "an entry comes from one of the roots");
    if (entry.path.size() > path_bytes_max)
      return fail(Errc::invalid_input, "a path has " + std::to_string(entry.path.size()) +
                                           " bytes, but paths in an archive can have at most 4095");
    plan.bytes_ += tar_header(entry).size() + padded(entry.bytes);
  }
  plan.bytes_ += tar_end_bytes;
  return plan;
}

/// Others may have put anything in the place of the file since it was listed.
Fd TarPlan::open(const TreeEntry& entry, std::optional<Last>& last) const {
  constexpr int flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC;
  const Root& root = roots_[entry.root];
  if (entry.path == root.name) return Fd(::open(held_path(root.at.held).c_str(), flags));
  if (!last || last->root != entry.root) last = Last{entry.root, Below(root.at.held.get())};
  return last->below.open(below(entry.path, root.name), flags);
}

/// Puts bytes [from, to) of the entry, header and padding included, to `into`.
Result<void> TarPlan::read_entry(const TreeEntry& entry, const std::string& header,
                                 std::uint64_t from, std::uint64_t to, char* into,
                                 std::optional<Last>& last) const {
  const std::uint64_t data_end = header.size() + entry.bytes;
  if (from < header.size())
    into += header.copy(into, std::min<std::uint64_t>(to, header.size()) - from, from);
  std::uint64_t offset = std::max<std::uint64_t>(from, header.size());
  const std::uint64_t until = std::min(to, data_end);
  if (offset < until) {
    const std::string path = shown(roots_[entry.root], entry.path);
    const Fd file = open(entry, last);
    if (!file) return fail_errno("cannot open " + path);
    while (offset < until) {
      const ssize_t count =
          ::pread(file.get(), into, until - offset, static_cast<off_t>(offset - header.size()));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return fail_errno("cannot read " + path);
      if (count == 0)
        return fail(Errc::invalid_input, path + ": the file was truncated while it was being read");
      into += count;
      offset += static_cast<std::uint64_t>(count);
    }
  }
  if (to > data_end) std::memset(into, 0, to - std::max(from, data_end));
  return {};
}

Result<std::size_t> TarPlan::read(std::uint64_t offset, std::span<char> into) const {
  const std::uint64_t end = std::min<std::uint64_t>(bytes_, offset + into.size());
  if (offset >= end) return std::size_t{0};
  const std::uint64_t content_end = bytes_ - tar_end_bytes;
  const auto after = std::upper_bound(
      starts_.begin(), starts_.end(), offset,
      [](std::uint64_t wanted, const Start& each) { return wanted < each.offset; });
  std::uint64_t start = std::prev(after)->offset;  // The first one is 0.
  EntryList::Cursor cursor(entries_, std::prev(after)->place);
  TreeEntry entry;
  std::optional<Last> last;
  while (start < std::min(end, content_end) && TRY(cursor.next(entry))) {
    const std::string header = tar_header(entry);
    const std::uint64_t stop = start + header.size() + padded(entry.bytes);
    const std::uint64_t from = std::max(offset, start);
    const std::uint64_t to = std::min(end, stop);
    if (from < to)
      TRY(read_entry(entry, header, from - start, to - start, into.data() + (from - offset), last));
    start = stop;
  }
  const std::uint64_t rest = std::max(offset, content_end);  // Two empty blocks end an archive.
  if (rest < end) std::memset(into.data() + (rest - offset), 0, end - rest);
  return static_cast<std::size_t>(end - offset);
}

}  // namespace muster::packing
