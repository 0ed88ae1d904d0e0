#include "base/files/mounts.h"

#include <algorithm>

#include "base/text.h"

namespace muster {
namespace {

/// mountinfo writes space, tab, newline and backslash as \ooo.
std::string decoded(std::string_view word) {
  std::string text;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] == '\\' && i + 3 < word.size()) {
      const int value = (word[i + 1] - '0') * 64 + (word[i + 2] - '0') * 8 + (word[i + 3] - '0');
      text += static_cast<char>(value);
      i += 3;
    } else {
      text += word[i];
    }
  }
  return text;
}

}  // namespace

std::vector<MountPoint> mounts_of(std::string_view mountinfo) {
  std::vector<MountPoint> mounts;
  for (const std::string& line : split(mountinfo, '\n')) {
    const std::vector<std::string> words = split_words(line);
    if (words.size() <= 4) continue;
    // Optional fields come first, then a dash.
    auto dash = std::find(words.begin() + 5, words.end(), "-");
    if (dash != words.end()) ++dash;
    mounts.push_back({decoded(words[4]), dash == words.end() ? std::string() : *dash});
  }
  return mounts;
}

std::vector<std::string> sockets_of(std::string_view net_unix) {
  std::vector<std::string> paths;
  for (const std::string& line : split(net_unix, '\n'))
    if (const std::size_t at = line.find(" /"); at != std::string::npos)
      paths.push_back(line.substr(at + 1));
  return paths;
}

}  // namespace muster
