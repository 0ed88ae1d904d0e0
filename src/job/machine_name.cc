#include "job/machine_name.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "base/text.h"

namespace muster::job {

std::string machine_name(std::string_view job, std::string_view job_folder) {
  std::vector<std::string> parts = split(job_folder, '/');
  std::erase_if(parts, [](const std::string& part) { return part.empty() || part == "."; });
  if (!parts.empty()) parts.pop_back();
  std::uint32_t sum = 2166136261u;  // FNV-1a.
  for (const std::string& part : parts)
    for (const char c : "/" + part) sum = (sum ^ static_cast<unsigned char>(c)) * 16777619u;
  std::array<char, 16> tag{};
  static_cast<void>(std::snprintf(tag.data(), tag.size(), ".%08x", sum));
  return std::string(job) + tag.data();
}

}  // namespace muster::job
