#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "server/store/status.h"

namespace muster::store {

class Database;

using Tags = std::vector<std::pair<std::string, std::string>>;  ///< Sorted by key where read.

/// A job in the store.
struct Job {
  std::int64_t number = 0;  ///< Order of submission.
  std::string name;
  std::string arn;
  std::string request;  ///< CreateTrainingJob's input without Tags, as JSON text.
  JobState state;
  UnixMillis created{0};
  UnixMillis modified{0};
  std::string failure_reason;
  std::string cause;            ///< The cause of its failure as JSON text; empty: it did not fail.
  std::string model_artifacts;  ///< S3 URI; empty: none.
  std::string notes;            ///< Lines for users about how it runs; may be empty.
  std::string note;             ///< The runner's own data, unchanged: JSON text or empty.
  std::string access_key;       ///< Who submitted it; empty: a job of muster 0.1's.
  std::string manifests;        ///< As NewJob::manifests.
};

/// A job that has started and ended: data for the usage of its key.
struct EndedJob {
  std::int64_t number = 0;
  std::string access_key;
  std::string request;
  std::string tag;  ///< The value of the requested tag; empty: none.
  UnixMillis created{0};
  UnixMillis started{0};
  UnixMillis ended{0};
};

struct UnfinishedJob {
  std::string name;
  std::string access_key;
  friend bool operator==(const UnfinishedJob&, const UnfinishedJob&) = default;
};

/// A job's data for lists.
struct JobSummary {
  std::int64_t number = 0;
  std::string name;
  std::string arn;
  Status status = Status::in_progress;
  std::string secondary;
  UnixMillis created{0};
  UnixMillis modified{0};
  std::optional<UnixMillis> training_end;
};

enum class SortBy { name, creation_time, status, modified };

/// Where a list continues: after the job with this sort key (text, or decimal milliseconds) and
/// number.
using ListPlace = std::pair<std::string, std::int64_t>;

struct JobQuery {
  SortBy sort_by = SortBy::creation_time;
  bool descending = false;
  std::string name_prefix = {};
  std::string name_contains = {};
  std::optional<Status> status = {};
  std::optional<UnixMillis> created_after = {};  ///< All four exclusive.
  std::optional<UnixMillis> created_before = {};
  std::optional<UnixMillis> modified_after = {};
  std::optional<UnixMillis> modified_before = {};
  std::string instance_type_contains = {};  ///< A part of the type of one group of hosts.
  std::string tag_key = {};
  std::optional<std::string> tag_value = {};  ///< The value of the tag `tag_key`; none: any.
  bool has_streams = false;                   ///< Only jobs that have log streams.
  std::optional<ListPlace> after = {};
  std::size_t limit = 10;
  /// The number of jobs to examine: if few match the conditions, a page may have few jobs, or none.
  std::size_t looked_at_max = 10'000;
};

struct JobPage {
  std::vector<JobSummary> jobs;
  std::optional<ListPlace> next;  ///< JobQuery::after of the next page; none: this is the last.
  std::size_t looked_at = 0;
};

/// The key of `job` by which `sort_by` sorts: for JobQuery::after.
std::string sort_key(const JobSummary& job, SortBy sort_by);

struct NewJob {
  std::string name;
  std::string arn;
  std::string request;  ///< As Job::request.
  Tags tags;
  UnixMillis now{0};
  std::string invocation;       ///< The client's token, the same for repeated calls; may be empty.
  std::string access_key = {};  ///< Who submits it.
  std::string manifests = {};   ///< Versions of the manifests that it names: JSON text or empty.
};

enum class Submitted {
  made,
  repeated,  ///< The call that created it was repeated: respond as the first time.
  taken,     ///< Another job has that name.
};

/// How a job ended: stored in one transaction with its last status.
struct JobFinish {
  StatusChange change;  ///< A terminal one.
  std::string failure_reason = {};
  std::string cause = {};  ///< As Job::cause.
  std::string model_artifacts = {};
};

struct AccessKey {
  std::string id;
  std::string secret;
  std::string token;   ///< Session token; empty for none.
  std::string job;     ///< The job whose key it is; empty: a user's key.
  std::string policy;  ///< Permissions, as the creator wrote them (JSON text); empty: all.
  UnixMillis created{0};
  std::string comment = {};  ///< A comment for users.
  /// Ids of the keys by which it was made on the page, that key's makers first; they may be
  /// deleted. Empty: made on the machine.
  std::vector<std::string> makers = {};
};

/// A temporary key, as STS makes them. Its secret is derived from its creator's and not stored.
struct Session {
  std::string id;
  std::string token;
  std::string maker;  ///< A user's lasting key.
  std::string name;   ///< "ROLE/NAME"; empty: GetSessionToken made it.
  UnixMillis expires{};

  bool operator==(const Session&) const = default;
};

enum class KeyRemoval {
  removed,
  unknown,  ///< No user has such a key.
  last,     ///< The users' only key: it stays.
};

/// Maximum number of a job's metric names per query; a job defines 40.
constexpr std::int64_t metrics_at_a_time = 1000;

struct MetricSample {
  std::string name;
  UnixMillis time{0};
  double value = 0;
  std::optional<std::int64_t> step = {};  ///< 0 to 2^53.
  int attempt = 1;                        ///< The host's.

  bool operator==(const MetricSample&) const = default;
};

/// Length of the periods for which the store also keeps sums, for queries over a long time.
constexpr std::int64_t metric_minute = 60;
/// Widths of the ranges of steps of which the store keeps sums: single steps, then ranges that
/// begin at multiples of their width, each of as many as `step_factor` of the next smaller width.
constexpr std::int64_t step_factor = 64;
constexpr std::array<std::int64_t, 4> step_widths = {1, step_factor, step_factor* step_factor,
                                                     step_factor* step_factor* step_factor};

/// Number of a job's values by step: further ones are kept by time alone.
constexpr std::int64_t metric_steps_max = 10'000'000;

/// All samples of a metric within one second; or of one step, or of one range of steps.
struct MetricSecond {
  std::int64_t second = 0;  ///< Since 1970; by step: the first step.
  double sum = 0;
  double least = 0;
  double most = 0;
  std::int64_t count = 0;

  void add(double value);
  void add(const MetricSecond& other);  ///< The other is of the same time, or within it.
  bool operator==(const MetricSecond&) const = default;
};

/// What a host of a job has used. All values except `memory` grow from the host's start on; -1:
/// unknown.
struct HostSample {
  UnixMillis time{0};
  std::int64_t processor = 0;  ///< Microseconds of processors.
  std::int64_t memory = 0;     ///< Bytes; after thin_usage() the most of a while.
  std::int64_t disk_read = -1;
  std::int64_t disk_written = -1;
  std::int64_t net_in = -1;
  std::int64_t net_out = -1;

  bool operator==(const HostSample&) const = default;
};
/// The use of one of a host's GPUs at one time.
struct GpuSample {
  UnixMillis time{0};
  std::int64_t gpu = 0;  ///< The machine's number of it.
  double percent = 0;
  std::int64_t memory = 0;  ///< Bytes.

  bool operator==(const GpuSample&) const = default;
};
/// The hosts of a job with samples, and the time range of these.
struct HostSpan {
  std::string host;
  UnixMillis first{0};
  UnixMillis last{0};
  bool has_gpus = false;  ///< There are samples of these.

  bool operator==(const HostSpan&) const = default;
};

/// A stack of CloudFormation, as its creator stored it: texts that the store does not parse.
struct StackRow {
  std::string name;
  std::string arn;
  std::string token;  ///< The client's call, the same for its repetitions; may be empty.
  UnixMillis created{0};
  std::optional<UnixMillis> deleted =
      {};                     ///< None: it exists, and no other stack can have its name.
  std::string request = {};   ///< CreateStack's input, as JSON text.
  std::string made = {};      ///< JSON text.
  std::string networks = {};  ///< JSON text; empty once it is deleted.
  std::string status = "CREATE_COMPLETE";  ///< CloudFormation's status, while it exists.
  std::optional<UnixMillis> updated = {};  ///< The last time.
};
/// A change set of a stack: a text that the store does not parse.
struct ChangeSetRow {
  std::string arn;
  std::string name;
  std::string stack;  ///< The ARN.
  UnixMillis created{0};
  std::string document;
};

/// How far the jobs of an earlier muster have been brought to this muster's tables.
using FillProgress = std::function<void(std::int64_t done, std::int64_t all)>;

/// The job server's state: one SQLite file (WAL) in its data folder. Belongs to one thread. Every
/// call is one transaction, blocks meanwhile, and is synced to the disk when it returns. Only
/// put_metrics, put_usage, put_note and put_notes can be lost in a power failure, but not in a
/// crash. All errors are `system` with SQLite's text (a full disk, a damaged file), unless stated
/// otherwise.
class Store {
 public:
  /// Opens or creates `path` (0600). The first time with an earlier muster's jobs, this takes a
  /// while, and continues where it was interrupted. Error: `invalid_input` if a newer muster
  /// created it.
  static Result<Store> open(const std::string& path, const FillProgress& progress = {});
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  // Jobs.
  Result<Submitted> submit(const NewJob& job);
  Result<std::optional<Job>> job(const std::string& name);
  /// A page. Its cost depends on the number of examined jobs, not of all jobs. Some conditions use
  /// an index: a prefix of the name in a list by name, a status and bounds of the creation time in
  /// one by that, bounds of the modification time in a list by that, streams by both.
  Result<JobPage> page(const JobQuery& query);
  /// The jobs of one page.
  Result<std::vector<JobSummary>> list(const JobQuery& query);
  /// The last job submitted before `name`, among the 1,000 before it, with the same image or
  /// algorithm, entry point, program and number of hosts. Empty if there is none.
  Result<std::string> last_run(const std::string& name);
  /// The number of jobs of each status that occurs.
  Result<std::vector<std::pair<Status, std::int64_t>>> counts();
  /// Grows with every visible change of a job; starts again with the process.
  std::uint64_t revision() const { return revision_; }
  /// A visible property of a job has changed that is not in the store.
  void changed_elsewhere() { ++revision_; }
  /// What statements have cost so far: see Database::effort(). For tests.
  std::uint64_t effort() const;
  /// For a MetricReader.
  std::string path() const;
  /// The jobs that have not ended, in order of submission: the jobs that a start resumes. `text`:
  /// only those with it in their requests.
  Result<std::vector<UnfinishedJob>> unfinished(const std::string& text = {});
  /// Jobs that ran and ended after `ended`, or then with a higher number, by that: at most `most`,
  /// each with its tag `tag`.
  Result<std::vector<EndedJob>> ended_after(UnixMillis ended, std::int64_t number,
                                            const std::string& tag, std::int64_t most);
  /// Applies `change` as status.h says. False if it changed nothing (unknown jobs too).
  Result<bool> set_status(const std::string& name, const StatusChange& change);
  /// Stores the end; later ends change nothing. Deletes the job's access keys.
  Result<bool> finish(const std::string& name, const JobFinish& finish);
  Result<bool> set_request(const std::string& name, const std::string& request, UnixMillis now);
  Result<void> put_note(const std::string& name, const std::string& note);
  Result<void> put_notes(const std::string& name, const std::string& notes);
  /// Deletes a job with its tags, metrics and keys. False if it does not exist.
  Result<bool> remove(const std::string& name);
  /// Removes up to so many rows of the job's metrics and its hosts' usage; false: none are left.
  Result<bool> remove_rows(const std::string& name, std::int64_t most);

  // Tags of a job, or of anything else that has an ARN.
  Result<Tags> tags(const std::string& arn);
  /// Replaces equal keys. False, and nothing is changed, if there were more than `most` then.
  Result<bool> add_tags(const std::string& arn, const Tags& tags, std::size_t most);
  Result<void> remove_tags(const std::string& arn, const std::vector<std::string>& keys);

  // Metrics.
  /// Adds samples (kept by the second: CloudWatch's finest; those with a step also by step, where a
  /// later attempt's values replace an earlier one's) and remembers, in the same transaction, up to
  /// which event of the host's log they were read.
  Result<void> put_metrics(const std::string& job, const std::string& host,
                           const std::vector<MetricSample>& samples, std::uint64_t read_to);
  Result<std::uint64_t> metrics_read_to(const std::string& job, const std::string& host);
  /// The latest of each name, by name.
  /// At most `most`, from behind the name `after`. A job defines 40.
  Result<std::vector<MetricSample>> final_metrics(const std::string& job,
                                                  const std::string& after = {},
                                                  std::int64_t most = metrics_at_a_time);

  // What hosts use.
  /// Adds a sample of each listed host. Ignores an unknown job.
  Result<void> put_usage(const std::string& job,
                         const std::vector<std::pair<std::string, HostSample>>& samples);
  /// Adds samples of GPUs of the listed hosts. Ignores an unknown job.
  Result<void> put_gpus(const std::string& job,
                        const std::vector<std::pair<std::string, GpuSample>>& samples);
  /// Keeps one sample of the host for each `cell` of time since 1970: the last; of each of its GPUs
  /// too, with the mean of its use and the most of its memory.
  Result<void> thin_usage(const std::string& job, const std::string& host,
                          std::chrono::milliseconds cell);
  /// When the job's first sample was taken.
  Result<std::optional<UnixMillis>> usage_began(const std::string& job);

  // Stacks.
  /// False if another that lives has its name.
  Result<bool> add_stack(const StackRow& stack);
  Result<std::vector<StackRow>> stacks();  ///< By age, deleted ones too.
  /// All but its name, ARN and creation; its change sets go. False if none lives by that ARN.
  Result<bool> update_stack(const StackRow& stack);
  /// In the place of one with its ARN. Of the stack's, the last `most` stay.
  Result<void> put_change_set(const ChangeSetRow& row, std::int64_t most);
  /// By its ARN, or by its name among the stack's.
  Result<std::optional<ChangeSetRow>> change_set(const std::string& stack, const std::string& name);
  Result<void> remove_change_set(const std::string& arn);
  /// Forgets its networks and change sets, and stacks that were deleted long ago. False if none
  /// lives by that ARN.
  Result<bool> delete_stack(const std::string& arn, UnixMillis now);

  // Access keys. Secrets lie in the file as they are: it is 0600, as SigV4 needs them.
  Result<void> add_key(const AccessKey& key);
  Result<std::optional<AccessKey>> key(const std::string& id);
  Result<std::vector<AccessKey>> keys();  ///< Users' only, by age.
  /// Forgets the sessions that have expired, and adds their ids to `expired`. False, and the
  /// session is not added, if `most` of its maker's are alive.
  Result<bool> add_session(const Session& session, UnixMillis now, std::int64_t most,
                           std::vector<std::string>& expired);
  Result<std::vector<Session>> sessions();
  /// A user's, with its sessions; their last one only if `even_last`.
  Result<KeyRemoval> remove_key(const std::string& id, bool even_last);

  /// Checks that the disk is writable, by writing a value that is never read.
  Result<void> try_write(UnixMillis now);

 private:
  explicit Store(std::unique_ptr<Database> database);
  Result<void> thin_gpus(std::int64_t job, const std::string& host, std::chrono::milliseconds cell);
  Result<std::int64_t> number_of(const std::string& name);  ///< 0 for no such job.
  std::unique_ptr<Database> database_;
  std::uint64_t revision_ = 1;
  std::uint64_t counted_at_ = 0;  ///< The revision that `counts_` are of.
  std::vector<std::pair<Status, std::int64_t>> counts_;
};

}  // namespace muster::store
