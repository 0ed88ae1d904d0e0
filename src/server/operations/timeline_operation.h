#pragma once

#include <string>

#include "aws/api/request.h"
#include "net/loop/wait.h"
#include "server/journal_files.h"
#include "server/store/store.h"

namespace muster::server {

/// DescribeTrainingJobTimeline, muster's own operation: the phases of each host of a job and their
/// times (docs/protocols/timeline.md). A separate thread reads the journals, one job's at a time,
/// so a client that requests many waits longer, and others do not. Belongs to the store's thread.
class Timelines {
 public:
  /// All outlive this.
  Timelines(loop::Loop& loop, store::Store& store, const server::JournalFiles& journals)
      : loop_(loop), store_(store), journals_(journals), turned_(loop) {}

  loop::Task<api::Answer> describe(std::string job);

 private:
  loop::Loop& loop_;
  store::Store& store_;
  const server::JournalFiles& journals_;
  bool reading_ = false;
  loop::Event turned_;
};

}  // namespace muster::server
