#include "os/packing/entry_list.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace muster::packing {
namespace {

constexpr std::size_t memory_bytes_max = 1u << 20;
constexpr std::size_t piece_bytes = 64u << 10;

/// The numbers before an entry's texts.
struct Record {
  std::uint64_t bytes;
  std::int64_t time;
  std::uint32_t mode;
  std::uint32_t root;
  std::uint32_t shared;  ///< Bytes of the path that are as in the entry before.
  std::uint32_t own;     ///< And those that follow here.
  std::uint32_t target;
  TreeEntry::Kind kind;
};

std::size_t shared_start(std::string_view one, std::string_view other) {
  const auto ends = std::mismatch(one.begin(), one.end(), other.begin(), other.end());
  return static_cast<std::size_t>(ends.first - one.begin());
}

}  // namespace

Result<void> EntryList::add(const TreeEntry& entry) {
  const std::size_t shared = count_ % run == 0 ? 0 : shared_start(entry.path, last_path_);
  Record record{};
  record.bytes = entry.bytes;
  record.time = entry.time;
  record.mode = entry.mode;
  record.root = static_cast<std::uint32_t>(entry.root);
  record.shared = static_cast<std::uint32_t>(shared);
  record.own = static_cast<std::uint32_t>(entry.path.size() - shared);
  record.target = static_cast<std::uint32_t>(entry.target.size());
  record.kind = entry.kind;
  rest_.append(reinterpret_cast<const char*>(&record), sizeof record);
  rest_.append(entry.path, shared).append(entry.target);
  last_path_ = entry.path;
  ++count_;
  if (spill_.empty() || rest_.size() < memory_bytes_max) return {};
  return write_out();
}

Result<void> EntryList::write_out() {
  if (!file_) {
    std::string path = spill_ + "/.entries-XXXXXX";
    file_ = Fd(::mkostemp(path.data(), O_CLOEXEC));
    if (!file_) return fail_errno("cannot open " + path);
    ::unlink(path.c_str());
  }
  const Result<void> written = write_all(file_.get(), rest_);
  if (!written) return written.error().in(spill_);
  file_bytes_ += rest_.size();
  rest_.clear();
  return {};
}

/// A piece from `place` on; empty at the end.
Result<void> EntryList::read(std::uint64_t place, std::string& into) const {
  if (place >= file_bytes_) {
    into = rest_.substr(std::min<std::uint64_t>(place - file_bytes_, rest_.size()), piece_bytes);
    return {};
  }
  into.resize(std::min<std::uint64_t>(piece_bytes, file_bytes_ - place));
  ssize_t count = 0;
  do count = ::pread(file_.get(), into.data(), into.size(), static_cast<off_t>(place));
  while (count < 0 && errno == EINTR);
  if (count < 0) return fail_errno("cannot read " + spill_);
  into.resize(static_cast<std::size_t>(count));
  return {};
}

/// The next bytes: fewer at the end only. They are there until the next call.
Result<std::string_view> EntryList::Cursor::take(std::size_t bytes) {
  while (held_.size() - used_ < bytes) {
    std::string more;
    TRY(list_.read(place_ + held_.size(), more));
    if (more.empty()) break;
    held_.erase(0, used_);
    place_ += std::exchange(used_, 0);
    held_ += more;
  }
  const std::size_t count = std::min(bytes, held_.size() - used_);
  used_ += count;
  return std::string_view(held_).substr(used_ - count, count);
}

Result<bool> EntryList::Cursor::next(TreeEntry& into) {
  Record record{};
  const std::string_view head = TRY(take(sizeof record));
  if (head.empty()) return false;
  CHECK_THAT(head.size() == sizeof record, "a list of entries is read from an entry's place");
  std::memcpy(&record, head.data(), sizeof record);
  const std::string_view texts = TRY(take(std::size_t{record.own} + record.target));
  CHECK_THAT(texts.size() == std::size_t{record.own} + record.target, "an entry is whole");
  path_.resize(record.shared);
  path_ += texts.substr(0, record.own);
  into.path = path_;
  into.target = texts.substr(record.own);
  into.kind = record.kind;
  into.mode = record.mode;
  into.time = record.time;
  into.bytes = record.bytes;
  into.root = record.root;
  ++read_;
  return true;
}

}  // namespace muster::packing
