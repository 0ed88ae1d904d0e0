#include "os/packing/contents.h"

#include <algorithm>
#include <utility>

#include "base/terminal.h"
#include "os/packing/gzip.h"
#include "os/packing/tar_reader.h"

namespace muster::packing {
namespace {

constexpr std::size_t name_bytes_max = 512;

std::string name_of(const char* raw) {
  const std::string_view name = raw != nullptr ? raw : "";
  if (name.size() <= name_bytes_max) return visible_line(name);
  return visible_line(name.substr(0, name_bytes_max)) + "…";
}

Member member_of(archive_entry* entry) {
  Member member{.name = name_of(::archive_entry_pathname(entry)),
                .time = ::archive_entry_mtime(entry)};
  const char* hard_link = ::archive_entry_hardlink(entry);
  const auto type = ::archive_entry_filetype(entry);
  if (hard_link != nullptr || type == AE_IFLNK) {
    member.kind = Member::Kind::link;
    member.target = name_of(hard_link != nullptr ? hard_link : ::archive_entry_symlink(entry));
  } else if (type == AE_IFREG) {
    member.bytes = static_cast<std::uint64_t>(std::max<la_int64_t>(::archive_entry_size(entry), 0));
  } else {
    member.kind = type == AE_IFDIR ? Member::Kind::folder : Member::Kind::other;
  }
  return member;
}

}  // namespace

Result<Contents> contents_of(Fd file, std::uint64_t file_bytes, const ContentsLimits& limits) {
  GzipReader reader = TRY(GzipReader::from(std::move(file), file_bytes));
  bool stopped = false;
  TarReader tar([&]() -> Result<std::string_view> {
    stopped = reader.bytes_out() > limits.bytes_max || Clock::now() > limits.deadline;
    if (stopped) return Error{Errc::timeout, {}};  // Not reported: it only ends the list.
    return reader.next();
  });
  Contents contents;
  while (true) {
    const Result<archive_entry*> entry = tar.next();
    if (!entry && !stopped) return entry.error();
    contents.more = stopped || (*entry != nullptr && contents.members.size() == limits.members_max);
    if (contents.more || *entry == nullptr) return contents;
    contents.members.push_back(member_of(*entry));
  }
}

}  // namespace muster::packing
