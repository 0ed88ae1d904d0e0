#pragma once

#include <filesystem>
#include <string>

#include "base/fd.h"
#include "server/store/store.h"

namespace muster::store {

inline UnixMillis at(std::int64_t ms) {
  return UnixMillis(ms);
}

/// The folder of a store.
struct Folder {
  std::string path = *make_private_folder("/tmp", "muster-store-");
  std::string file() const { return path + "/store.db"; }
  ~Folder() { std::filesystem::remove_all(path); }
};

/// Takes a store back to version 16.
inline constexpr const char* without_runs =
    "DROP TABLE run_names; DROP TABLE run_values; DROP TABLE run_metrics; DROP TABLE IF EXISTS "
    "runs_fill; "
    "DROP INDEX jobs_arn; DROP INDEX jobs_times; PRAGMA user_version=16;";

inline NewJob job_named(const std::string& name, UnixMillis now = at(1000)) {
  return {.name = name,
          .arn = "arn:" + name,
          .request = "{\"RoleArn\":\"r\"}",
          .tags = {},
          .now = now,
          .invocation = {}};
}

}  // namespace muster::store
