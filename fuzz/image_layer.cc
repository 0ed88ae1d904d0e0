// Layers of an image: whatever they say, they stay in their folder and within the image's budget.
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/files/folder.h"
#include "base/files/remove_tree.h"
#include "fuzz.h"
#include "image/layers/disk_use.h"
#include "image/layers/layer.h"

namespace muster {
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t own_folder_bytes = 4096;
constexpr image::LayerLimits limits{.bytes_max = 16u << 20, .entries_max = 256};

struct Place {
  Place() {
    char name[] = "/dev/shm/muster-fuzz-XXXXXX";
    char other[] = "/tmp/muster-fuzz-XXXXXX";
    const char* made = ::mkdtemp(name);
    if (made == nullptr) made = ::mkdtemp(other);
    CHECK_THAT(made != nullptr, "a temporary folder");
    path = made;
    std::ofstream(path / "secret") << "secret";
  }
  ~Place() { fs::remove_all(path); }

  fs::path path;
};

class OnePiece final : public image::Bytes {
 public:
  explicit OnePiece(std::string_view bytes) : bytes_(bytes) {}
  Result<std::string_view> next() override { return std::exchange(bytes_, {}); }

 private:
  std::string_view bytes_;
};

std::uint64_t use_of(const std::string& folder) {
  const Result<std::uint64_t> bytes = image::disk_use(folder);
  CHECK_THAT(bytes.has_value(), "a layer's folder can be read");
  return *bytes;
}

/// A layer has the devices of every machine, and an overlay's whiteouts, and no others.
void check_tree(const std::string& folder) {
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    struct stat status {};
    CHECK_THAT(::lstat(entry.path().c_str(), &status) == 0, "what is listed is there");
    CHECK_THAT(!S_ISBLK(status.st_mode) && !S_ISSOCK(status.st_mode), "no such special files");
  }
}

void check_layer(const std::string& root, std::string_view bytes,
                 const std::vector<std::string>& lowers, image::Budget& budget) {
  const std::uint64_t before = budget.written();
  const Result<image::LayerReport> report =
      image::unpack_layer(std::make_unique<OnePiece>(bytes), "", root, lowers, limits, budget);
  const std::uint64_t use = use_of(root);
  CHECK_THAT(use <= budget.written() - before + own_folder_bytes, "what is written counts");
  CHECK_THAT(use <= budget.limits().disk_bytes_max + own_folder_bytes, "the limit of the disk");
  check_tree(root);
  if (report) {
    CHECK_THAT(report->disk_bytes == use, "a layer counts what it takes");
    for (const std::string& line : report->said)
      CHECK_THAT(line.find('\n') == std::string::npos, "what is said is in lines");
  } else {
    CHECK_THAT(report.error().text.find('\n') == std::string::npos, "an error is one line");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Place place;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  image::Budget budget({.disk_bytes_max = 1u << 20,
                        .time_max = std::chrono::seconds(5),
                        .bytes_each_second = 10u << 20,
                        .names_bytes_max = 64u << 10});
  const std::string lower = (place.path / "lower").string();
  const std::string upper = (place.path / "upper").string();
  for (const std::string& root : {lower, upper}) fs::create_directory(root);
  check_layer(lower, bytes, {}, budget);
  const std::uint64_t lower_use = use_of(lower);
  check_layer(upper, bytes, {lower}, budget);
  CHECK_THAT(use_of(lower) == lower_use, "a lower layer does not change");
  CHECK_THAT(names_in(place.path)->size() == 3, "nothing is made or removed outside");
  CHECK_THAT(fs::file_size(place.path / "secret") == 6, "nothing is written outside");
  for (const std::string& root : {lower, upper})
    CHECK_THAT(remove_tree(root).has_value(), "a layer can be removed");
  return 0;
}

}  // namespace muster
