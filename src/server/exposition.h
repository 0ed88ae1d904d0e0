#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace muster::server {

/// Writes Prometheus' text format, version 0.0.4: a family's head, then its samples. Pure. Source:
/// Prometheus' documentation, "Exposition formats".
class Exposition {
 public:
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  /// `type`: "counter" or "gauge".
  void family(std::string_view name, std::string_view type, std::string_view help);
  /// A sample of the last family; `suffix` behind its name.
  void sample(Labels labels, double value, std::string_view suffix = {});
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::string name_;
};

}  // namespace muster::server
