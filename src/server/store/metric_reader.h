#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/store/store.h"

namespace muster::store {

/// A job's metric and the seconds since 1970 in which it has its first and its last samples.
struct MetricSpan {
  std::string name;
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t first_step = -1;  ///< -1: none of its samples has a step.
  std::int64_t last_step = -1;

  bool operator==(const MetricSpan&) const = default;
};

/// Reads metrics and hosts' usage independently of the store, on a separate read-only connection: a
/// series of millions of seconds would block all other users of the store's thread. On any thread,
/// one at a time. Errors: `system` with SQLite's text, unless stated otherwise.
class MetricReader {
 public:
  /// `path`: the file of an open store. `gone`: whether the client has hung up; reading then fails
  /// soon. May be empty.
  static Result<MetricReader> open(const std::string& path, std::function<bool()> gone = {});
  MetricReader(MetricReader&&) noexcept;
  MetricReader& operator=(MetricReader&&) noexcept;
  ~MetricReader();

  /// A job's first 1,000 metrics, by name. Error: `not_found`.
  Result<std::vector<MetricSpan>> spans(const std::string& job);
  /// Passes the metric's seconds in [from, to) to `take`, sorted, until it returns false.
  Result<void> read(const std::string& job, const std::string& name, std::int64_t from,
                    std::int64_t to, const std::function<bool(const MetricSecond&)>& take);
  /// As read(), per minute, each identified by its first second, which is in [from, to).
  Result<void> read_minutes(const std::string& job, const std::string& name, std::int64_t from,
                            std::int64_t to, const std::function<bool(const MetricSecond&)>& take);
  /// As read(), by step: the ranges of `width` (one of step_widths) that begin in [from, to).
  Result<void> read_steps(const std::string& job, const std::string& name, std::int64_t width,
                          std::int64_t from, std::int64_t to,
                          const std::function<bool(const MetricSecond&)>& take);

  /// The job's hosts with samples, in the job's order. Error: `not_found`.
  Result<std::vector<HostSpan>> hosts(const std::string& job);
  /// Passes on the host's samples in [from, to), sorted, and the last one before them.
  Result<void> usage(const std::string& job, const std::string& host, UnixMillis from,
                     UnixMillis to, const std::function<void(const HostSample&)>& take);
  /// As usage(), for the host's GPUs: samples of the same time follow each other; none before
  /// `from`.
  Result<void> gpus(const std::string& job, const std::string& host, UnixMillis from, UnixMillis to,
                    const std::function<void(const GpuSample&)>& take);

 private:
  explicit MetricReader(std::unique_ptr<Database> database);
  Result<void> read_from(const char* statement, const std::string& job, const std::string& name,
                         std::int64_t from, std::int64_t to,
                         const std::function<bool(const MetricSecond&)>& take);
  std::unique_ptr<Database> database_;
};

}  // namespace muster::store
