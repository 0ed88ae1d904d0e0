#pragma once

#include <string>

#include "engine/fake.h"
#include "server/journal_files.h"

/// For tests: journals of jobs of an engine in memory.
namespace muster::server {

/// The engine's are `folder`/JOB-HOST; those that are kept are in `folder`/kept.
struct TestJournals {
  explicit TestJournals(const std::string& folder) : files(folder + "/kept", engine) {
    cluster.journals = folder;
  }
  loop::Loop loop{};
  engine::FakeCluster cluster{loop};
  engine::FakeEngine engine{cluster};
  JournalFiles files;
};

}  // namespace muster::server
