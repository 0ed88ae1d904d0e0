#include "machine/housing/overruns.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <optional>

namespace muster::steward {
namespace {

constexpr std::int64_t gibi = std::int64_t{1} << 30;

constexpr std::string_view complaints[] = {"No space left on device", "Disk quota exceeded",
                                           "Bus error", "SIGBUS", "insufficient shared memory"};

std::optional<Space> space_of(const Fd& folder) {
  struct statvfs info {};
  if (::fstatvfs(folder.get(), &info) != 0) return std::nullopt;
  const auto block = static_cast<std::int64_t>(info.f_frsize);
  return Space{static_cast<std::int64_t>(info.f_blocks) * block,
               static_cast<std::int64_t>(info.f_bavail) * block,
               static_cast<std::int64_t>(info.f_files), static_cast<std::int64_t>(info.f_ffree)};
}

bool is_used_up(std::int64_t all, std::int64_t free, bool told) {
  return all > 0 && free <= all / (told ? 10 : 100);
}

}  // namespace

std::string size_text(std::int64_t bytes) {
  if (bytes < gibi) return std::to_string(bytes >> 20) + " MiB";
  const std::int64_t tenths = bytes * 10 / gibi;
  const std::string rest = tenths % 10 == 0 ? "" : "." + std::to_string(tenths % 10);
  return std::to_string(tenths / 10) + rest + " GiB";
}

Full fullness(const Space& space, bool told) {
  if (is_used_up(space.bytes, space.bytes_free, told)) return Full::bytes;
  // Unlike a large write, creating a file does not fail while any is free: `told` changes nothing.
  if (is_used_up(space.files, space.files_free, false)) return Full::files;
  return Full::no;
}

bool tells_of_no_room(std::string_view text) {
  return std::any_of(std::begin(complaints), std::end(complaints), [text](std::string_view words) {
    return text.find(words) != std::string_view::npos;
  });
}

bool tells_of_open_files(std::string_view text) {
  return text.find("Too many open files") != std::string_view::npos;
}

void FullPlaces::watch(const std::string& name, std::string size, Fd folder) {
  places_.push_back({name, std::move(size), std::move(folder)});
}

void FullPlaces::look(bool told) {
  told_ = told_ || told;
  for (Place& place : places_) {
    const std::optional<Space> space = place.folder ? space_of(place.folder) : std::nullopt;
    if (!space) continue;
    const bool first = place.least.bytes == 0;
    place.least = {space->bytes,
                   first ? space->bytes_free : std::min(place.least.bytes_free, space->bytes_free),
                   space->files,
                   first ? space->files_free : std::min(place.least.files_free, space->files_free)};
  }
}

std::vector<std::string> FullPlaces::found() const {
  std::vector<std::string> lines;
  for (const Place& place : places_) {
    const Full full = fullness(place.least, told_);
    if (full == Full::no) continue;
    lines.push_back(place.name + ": " + place.size +
                    (full == Full::bytes ? " full" : " full (no inodes left)"));
  }
  return lines;
}

void FullPlaces::close() {
  for (Place& place : places_) place.folder.reset();
}

}  // namespace muster::steward
