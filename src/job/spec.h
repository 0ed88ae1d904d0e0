#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/command.h"
#include "base/files/clean_tree.h"
#include "base/json.h"
#include "base/result.h"
#include "job/image.h"
#include "job/limits.h"
#include "job/ml_paths.h"
#include "job/vpc_place.h"

namespace muster::job {

/// Objects of S3 that a channel is made of: CreateTrainingJob's S3DataSource, File mode.
struct S3Source {
  std::string url{};      ///< "s3://bucket/…": a folder, the start of keys, an object.
  bool manifest = false;  ///< `url` is a ManifestFile; else an S3Prefix.
  std::string etag{};     ///< What the manifest had when the job was taken; empty: any is fine.
  bool sharded = false;   ///< ShardedByS3Key: each host gets a share of the objects.
  bool gzip = false;      ///< CompressionType Gzip: objects named *.gz are unpacked.
  std::vector<std::string> groups{};  ///< Only hosts of these get it; none: all do.

  bool operator==(const S3Source&) const = default;
};

/// Data for the job, either from `folder` or from `s3`.
struct InputChannel {
  std::string name;      ///< Letters, digits, '.', '-', '_'; 1 to 64 of them.
  std::string folder{};  ///< Absolute path on the submitter's machine; never written to.
  S3Source s3{};
  std::string content_type{};
  std::string record_wrapper = "None";  ///< Passed to the job, not applied.

  bool operator==(const InputChannel&) const = default;
};

/// How stewards reach S3. Secrets are only in files.
struct S3Access {
  std::string endpoint{};          ///< "http://127.0.0.1:7700"; empty: Amazon's.
  std::string region{};            ///< Empty: us-east-1.
  std::string credentials_file{};  ///< Absolute, mode 0600, in the form of ~/.aws/credentials.
  std::string ca_file{};           ///< Roots to trust; empty: the machine's.
  /// Like credentials_file, but only for storing the job's results. Empty: credentials_file is used
  /// for them too.
  std::string results_credentials_file{};

  bool operator==(const S3Access&) const = default;
};

/// A group of hosts that are alike, in a job with several kinds of hosts: one of
/// ResourceConfig.InstanceGroups.
struct HostGroup {
  std::string name{};             ///< InstanceGroupName: 1 to 64 bytes.
  std::string type{};             ///< InstanceType.
  int count = 0;                  ///< InstanceCount.
  std::int64_t memory_bytes = 0;  ///< Limit per host; 0: none.
  int gpus = 0;                   ///< Each host's own.
  std::int64_t cpu_millis = 0;    ///< As Spec::cpu_millis.

  bool operator==(const HostGroup&) const = default;
};

/// A folder or file of the machine that every host sees: the original, not a copy.
struct BoundPath {
  std::string outside{};   ///< Absolute, links resolved.
  std::string inside{};    ///< Absolute.
  bool writable = false;   ///< Else nothing in it can be changed from inside.
  std::uint32_t user = 0;  ///< Writable: of the machine, whom a host's root is there.
  std::uint32_t group = 0;

  bool operator==(const BoundPath&) const = default;
};

/// What the hosts of a job reach besides each other and the job's S3.
enum class Network {
  none,  ///< Nothing.
  nat,   ///< What their machine reaches, by its addresses; nothing of the machine itself.
  host,  ///< The machine's own network: its services, too. A job of one host can have it.
};
/// "none", "nat", "host".
const char* network_name(Network network);
std::optional<Network> network_from(std::string_view name);

/// One training job as requested: a superset of SageMaker's CreateTrainingJob.
///
/// Pure. Source of names and limits: the CreateTrainingJob API; muster's own part is below "Muster"
/// in the JSON (docs/protocols/steward.md). That part decides what a root process reads, writes and
/// shows to untrusted code, so it comes from muster alone, never from the job's request.
struct Spec {
  std::string name;  ///< TrainingJobName: 1 to 63 letters, digits and inner '-'.
  std::map<std::string, std::string>
      hyperparameters;  ///< Values as the SDK sends them (JSON text).
  std::vector<InputChannel> input;
  Env environment;         ///< Given to the container as it is.
  int instance_count = 1;  ///< Hosts, 1 to hosts_max.
  std::string instance_type = "local";
  /// algo-1 and the next hosts are in the first group, and so on; their counts add up to
  /// `instance_count`. Empty: all hosts are alike.
  std::vector<HostGroup> groups;
  std::int64_t volume_gib = 0;  ///< VolumeSizeInGB: what a host may have on disk; 0: no limit.
  std::chrono::seconds run_time_max{86400};
  /// MaxWaitTimeInSeconds: the longest time for waiting and running together; 0: no limit.
  std::chrono::seconds wait_max{0};
  /// Further attempts after machines were lost, if the engine can start a job again. 0: none, not
  /// even after a preemption.
  int retries = retries_default;
  std::chrono::seconds hang_after{
      0};  ///< The job hangs after this time without output or progress; 0: never checked.
  bool end_hung = false;      ///< End a job that hangs; false: only report it.
  int spares = 0;             ///< Standby nodes; a lost host continues on one of them.
  Args entrypoint;            ///< ContainerEntrypoint: runs in place of `train`.
  Args arguments;             ///< ContainerArguments.
  std::string s3_output;      ///< S3OutputPath: results go below <this>/<job>/output; may be empty.
  bool packed_output = true;  ///< As .tar.gz; else file by file (CompressionType NONE).
  std::string checkpoint_url;  ///< CheckpointConfig.S3Uri; empty: none are kept.
  std::string checkpoint_path = checkpoints_path;  ///< Where the job finds and writes them.

  // muster's own part.
  std::string source_folder;  ///< The user's code, absolute; empty: none is staged.
  std::string python;  ///< The interpreter that `path` leads to, absolute: hosts must see it.
  std::string path;    ///< The submitter's PATH.
  std::chrono::milliseconds grace = stop_grace_default;
  std::string output_folder;                 ///< Where results go, absolute; made by the platform.
  std::vector<std::string> read_only_binds;  ///< More absolute paths that the hosts must see.
  std::vector<BoundPath> bound;              ///< In the order that they are mounted in.
  std::vector<std::string> hidden;           ///< Absolute paths that the hosts must not see.
  std::string pip_conf;  ///< Absolute: what pip reads in the hosts, secrets too; may be empty.
  std::string checkpoint_folder;  ///< Absolute, in place of checkpoint_url: there they are kept.
  std::optional<Owner> checkpoint_owner;  ///< Gets the files there; none: root.
  std::int64_t shm_bytes = 0;             ///< Size limit of each host's /dev/shm; 0: default.
  std::int64_t memory_bytes = 0;          ///< Limit per host; 0: none. Groups have theirs.
  /// Processor time per host in thousandths of a processor: 1500 is one and a half. 0: no limit.
  /// Groups have their own.
  std::int64_t cpu_millis = 0;
  int gpus = 0;  ///< Each host's own, that no other has. Groups have theirs.
  Network network = Network::none;
  bool encrypted = false;       ///< Asked for: hosts on one machine alone may have it.
  std::optional<VpcPlace> vpc;  ///< The rules there stand before what `network` allows.
  S3Access s3;
  std::optional<Image> image;      ///< Hosts see that, and nothing of the machine's programs.
  std::vector<std::string> notes;  ///< Lines for people, at the head of the first host's log.

  bool operator==(const Spec&) const = default;
};

/// "algo-1" ... "algo-N" in the order SageMaker sorts them: as text, so algo-10 before algo-2.
std::vector<std::string> host_names(int count);

/// The group of the host "algo-K"; null if the job has no groups.
const HostGroup* group_of(const Spec& spec, const std::string& host);
/// A group's hosts, sorted as host_names() does.
std::vector<std::string> hosts_of(const Spec& spec, const HostGroup& group);
/// GPUs and limits of the host "algo-K": its group's, or the job's if there are no groups.
int gpus_of(const Spec& spec, const std::string& host);
std::int64_t memory_of(const Spec& spec, const std::string& host);
std::int64_t cpu_millis_of(const Spec& spec, const std::string& host);
/// True if `host` gets the channel.
bool has_channel(const Spec& spec, const std::string& host, const InputChannel& channel);

/// True if what the job writes to checkpoint_path outlives it.
bool keeps_checkpoints(const Spec& spec);

/// Where the job's results go in S3: "<s3_output>/<job>/output". Empty if nowhere.
std::string s3_results(const Spec& spec);

/// Validates the spec and names the invalid field: names outside their alphabet, relative paths,
/// text that is not UTF-8 or contains a NUL. Error: `invalid_input`.
Result<void> check(const Spec& spec);

Json to_json(const Spec& spec);
/// From a file that muster wrote: whole, with muster's own part. Checked as check() does. Fields of
/// CreateTrainingJob that muster does not use are passed over; unknown ones in muster's own part
/// are refused. Error: `invalid_input`, naming the field.
Result<Spec> spec_from(const Json& json);
/// From the input of a request, which anybody may have sent: only the fields of CreateTrainingJob
/// that muster supports, and data from S3 only. All other fields are refused. Muster's own part is
/// as in a fresh Spec, for the caller to set. Errors as spec_from().
Result<Spec> spec_asked_for(const Json& request);

}  // namespace muster::job
