// Gives every file of the folders that it is called with to the fuzz target it is linked with.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "base/fd.h"
#include "fuzz.h"

namespace fs = std::filesystem;

int main(int count, char** arguments) {
  std::vector<std::string> files;
  for (int i = 1; i < count; ++i)
    for (const fs::directory_entry& entry : fs::directory_iterator(arguments[i]))
      if (entry.is_regular_file()) files.push_back(entry.path().string());
  std::ranges::sort(files);
  for (const std::string& path : files) {
    const muster::Result<std::string> bytes = muster::read_file(path);
    CHECK_THAT(bytes, "an input that can be read");
    std::printf("%s\n", path.c_str());
    std::fflush(stdout);  // Before the input that ends us.
    muster::LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes->data()),
                                   bytes->size());
  }
  std::printf("%zu inputs\n", files.size());
  return files.empty() ? 1 : 0;
}
