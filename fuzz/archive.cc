// A code archive: wherever its entries point, they stay in its folder; its content is listed in
// lines.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/fd.h"
#include "fuzz.h"
#include "os/packing/contents.h"
#include "os/packing/unpack.h"

namespace muster {
namespace fs = std::filesystem;

namespace {

constexpr packing::UnpackLimits limits{
    .bytes_max = 1 << 20, .ratio_max = 0, .entries_max = 64, .depth_max = 16};

struct Place {
  Place() {
    char name[] = "/dev/shm/muster-fuzz-XXXXXX";
    char other[] = "/tmp/muster-fuzz-XXXXXX";
    const char* made = ::mkdtemp(name);
    if (made == nullptr) made = ::mkdtemp(other);
    CHECK_THAT(made != nullptr, "a temporary folder");
    path = made;
    fs::create_directory(path / "code");
    fs::create_directory(path / "outside");
    std::ofstream(path / "outside/secret") << "secret";
  }
  ~Place() { fs::remove_all(path); }

  fs::path path;
};

/// Nothing beside the folder changed, and no link in it leads there.
void check_place(const Place& place) {
  std::size_t beside = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(place.path))
    if (!entry.path().string().starts_with((place.path / "code").string())) ++beside;
  CHECK_THAT(beside == 2, "nothing is made or removed outside");
  CHECK_THAT(fs::file_size(place.path / "outside/secret") == 6, "nothing is written outside");
  const std::string code = (place.path / "code").string();
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(code)) {
    if (!entry.is_symlink()) {
      CHECK_THAT(entry.is_directory() || entry.is_regular_file(), "no special files");
      CHECK_THAT((entry.status().permissions() & fs::perms(07022)) == fs::perms::none,
                 "no rights beyond the usual");
      continue;
    }
    char* end = ::realpath(entry.path().c_str(), nullptr);
    if (end == nullptr) continue;  // Leads nowhere.
    const std::string target = end;
    ::free(end);
    CHECK_THAT(target == code || target.starts_with(code + "/"), "a link leads outside");
  }
}

void check_contents(const std::string& archive, std::size_t size) {
  Fd file(::open(archive.c_str(), O_RDONLY | O_CLOEXEC));
  const Result<packing::Contents> told = packing::contents_of(
      std::move(file), size, {.members_max = limits.entries_max, .bytes_max = limits.bytes_max});
  if (!told) {
    CHECK_THAT(told.error().text.find('\n') == std::string::npos, "an error is one line");
    return;
  }
  CHECK_THAT(told->members.size() <= limits.entries_max, "members are bounded");
  for (const packing::Member& each : told->members)
    CHECK_THAT((each.name + each.target).find_first_of("\n\x1b") == std::string::npos,
               "names are for people");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Place place;
  const std::string archive = (place.path / "archive").string();
  std::ofstream(archive, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  check_contents(archive, size);
  const std::string folder = (place.path / "code").string();
  const Result<packing::UnpackReport> report = packing::unpack(archive, folder, limits, "archive");
  if (!report) {
    CHECK_THAT(fs::is_empty(folder), "nothing half unpacked stays");
    CHECK_THAT(report.error().text.find('\n') == std::string::npos, "an error is one line");
  } else {
    for (const std::string& line : report->said)
      CHECK_THAT(line.find('\n') == std::string::npos, "what is said is in lines");
  }
  fs::remove(archive);
  if (report && !fs::is_empty(folder)) {
    check_place(place);
    fs::remove_all(folder);
    fs::create_directory(folder);
  }
  return 0;
}

}  // namespace muster
