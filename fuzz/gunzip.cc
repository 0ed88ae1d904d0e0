// A channel's file of CompressionType Gzip: unpacked, or refused in one line, never more than
// comes.
#include "os/packing/gunzip.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "fuzz.h"

namespace muster {
namespace fs = std::filesystem;

namespace {

struct Place {
  Place() {
    char name[] = "/dev/shm/muster-fuzz-XXXXXX";
    CHECK_THAT(::mkdtemp(name) != nullptr, "a temporary folder");
    path = name;
  }
  ~Place() { fs::remove_all(path); }
  fs::path path;
};

/// Deflate makes no more than this of a byte. Source: zlib.net/zlib_tech.html, "Maximum
/// Compression Factor".
constexpr std::uintmax_t ratio_max = 1032;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Place place;
  const std::string from = place.path / "file.gz";
  const std::string to = place.path / "file";
  std::ofstream(from, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  const Result<void> done = packing::gunzip_file(from, to);
  if (done) CHECK_THAT(fs::file_size(to) <= size * ratio_max, "bytes come from somewhere");
  if (!done) CHECK_THAT(done.error().text.find('\n') == std::string::npos, "an error is one line");
  fs::remove(to);
  return 0;
}

}  // namespace muster
