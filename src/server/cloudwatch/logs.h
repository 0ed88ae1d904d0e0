#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "aws/api/realm.h"
#include "aws/api/request.h"
#include "server/cloudwatch/log_stream.h"
#include "server/journal_files.h"
#include "server/store/store.h"

namespace muster::cloudwatch {

/// CloudWatch Logs over the journals, read only: DescribeLogGroups, DescribeLogStreams,
/// GetLogEvents, FilterLogEvents. The group is /aws/sagemaker/TrainingJobs, streams are
/// `<job>/algo-<n>-<ms>`, one for each host from the first Downloading or Training on. Source:
/// docs/protocols/api.md, "Logs as clients read them".
///
/// Use it only on the store's thread. Reading a long journal for the first time blocks (about 400
/// MB/s).
class Logs {
 public:
  /// `store` and `journals` outlive this.
  Logs(store::Store& store, api::Realm realm, const server::JournalFiles& journals);

  /// `input` was validated against the service's model.
  api::Answer operate(const std::string& operation, const Json& input);

  /// The host's log, read up to now. Valid until forget(), or until 500 others were requested.
  Result<LogStream*> stream(const std::string& job, const std::string& host, bool ended);
  /// The job was deleted: removes everything kept about it.
  void forget(const std::string& job);

 private:
  struct Kept {
    LogStream stream;
    std::uint64_t used;  ///< Higher is more recent.
  };
  /// A stream that exists.
  struct Named {
    std::string name;
    std::string job;
    std::string host;
    std::int64_t job_number = 0;
    int host_number = 0;
    UnixMillis since{0};
    bool ended = false;
  };
  struct Cursor;
  struct Page;
  static std::vector<Named> streams_of(const store::Job& job);
  Result<Named, aws::Refusal> find(const std::string& name);
  Result<std::vector<std::string>, aws::Refusal> jobs_with(const std::string& prefix,
                                                           std::optional<std::int64_t> start);
  Result<std::vector<Named>, aws::Refusal> chosen(const Json& input);
  api::Answer describe_groups(const Json& input) const;
  api::Answer describe_streams(const Json& input);
  api::Answer describe_all_streams(const Json& input);
  api::Answer get_events(const Json& input);
  api::Answer filter_events(const Json& input);
  Result<void> merge(std::vector<Cursor>& cursors, Page& page);
  Json described(const Named& stream, bool with_events);

  store::Store& store_;
  api::Realm realm_;
  const server::JournalFiles& journals_;
  std::uint64_t uses_ = 0;
  std::map<std::string, Kept> streams_;  ///< By "<job>/<host>".
};

/// `<job>/<host>-<ms>`.
std::string stream_name(const std::string& job, const std::string& host, UnixMillis since);

}  // namespace muster::cloudwatch
