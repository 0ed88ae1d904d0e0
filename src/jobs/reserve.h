#pragma once

#include <string>

namespace muster::jobs {

/// Space on the disk that is kept for when there is no other: with it the end of a job that filled
/// the disk can still be written down. A file without content; it may be removed at any time.
class Reserve final {
 public:
  explicit Reserve(std::string path) : path_(std::move(path)) {}

  /// Takes the space, if it can be had. Costs nothing if it is there.
  void take() const;
  /// Leaves it to whoever writes next; false if there was none.
  bool give() const;

 private:
  std::string path_;
};

}  // namespace muster::jobs
