#pragma once

#include <string_view>
#include <vector>

#include "aws/request_head.h"

namespace muster {

/// A request's head as targets are given it: "METHOD TARGET", then lines of "name: value". Views.
struct Head {
  std::string_view method;
  std::string_view target;
  std::vector<aws::HeaderView> headers;

  aws::RequestHead view() const { return {method, target, headers}; }
};

inline Head head_of(std::string_view text) {
  Head head;
  bool first = true;
  while (!text.empty() && head.headers.size() < 64) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t cut = std::min(line.find(first ? ' ' : ':'), line.size());
    const std::string_view name = line.substr(0, cut);
    std::string_view value = line.substr(std::min(cut + 1, line.size()));
    while (value.starts_with(' ')) value.remove_prefix(1);
    if (first) {
      head.method = name;
      head.target = value;
    } else {
      head.headers.emplace_back(name, value);
    }
    first = false;
  }
  return head;
}

}  // namespace muster
