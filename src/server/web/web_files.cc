#include "server/web/web_files.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

// The concatenated files, which CMake packs before it compiles this file.
__asm__(
    ".pushsection .rodata\n"
    "muster_web_begin:\n"
    ".incbin \"" MUSTER_WEB_BYTES
    "\"\n"
    ".popsection\n");

extern "C" {
extern const char muster_web_begin[] __attribute__((visibility("hidden")));
}

namespace muster::web {
namespace {

struct Row {
  std::string_view name;
  std::string_view type;
  std::size_t begin;
  std::size_t size;
};

#include MUSTER_WEB_TABLE

}  // namespace

const WebFile* find_web_file(std::string_view name) {
  static const auto files = [] {
    std::array<WebFile, std::size(web_rows)> all;
    std::transform(web_rows.begin(), web_rows.end(), all.begin(), [](const Row& row) {
      return WebFile{row.name, row.type, {muster_web_begin + row.begin, row.size}};
    });
    return all;
  }();
  const auto found = std::find_if(files.begin(), files.end(),
                                  [&](const WebFile& file) { return file.name == name; });
  return found == files.end() ? nullptr : &*found;
}

std::string_view web_edition() {
  return edition;
}

}  // namespace muster::web
