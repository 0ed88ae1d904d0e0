#include "server/jobs/job_keys.h"

#include <unistd.h>

#include "aws/credentials.h"
#include "base/fd.h"
#include "base/files/folder.h"
#include "server/jobs/job_spec.h"

namespace muster::jobs {
namespace {

std::string credentials_file(const store::AccessKey& key) {
  return "[default]\naws_access_key_id = " + key.id + "\naws_secret_access_key = " + key.secret +
         "\n";
}

}  // namespace

Result<aws::Credentials> JobKeys::open(const store::Job& job, const job::Spec& spec,
                                       const std::string& repository) {
  std::optional<store::AccessKey> key;
  if (!job.note.empty()) key = TRY(store_.key(job.note));
  if (!key) {
    key = fresh_key_();
    key->job = job.name;
    TRY(store_.add_key(*key));
    TRY(store_.put_note(job.name, key->id));
  }
  TRY(admit(*key, spec, repository));
  TRY(make_folders(folder_, 0700));
  TRY(write_file(file(job.name), credentials_file(*key), 0600));
  TRY(admit_results_key(job.name, spec));
  return aws::Credentials{key->id, key->secret, {}};
}

Result<void> JobKeys::reopen(const store::Job& job, const job::Spec& spec,
                             const std::string& repository) {
  if (job.note.empty()) return {};
  const std::optional<store::AccessKey> key = TRY(store_.key(job.note));
  if (!key) return {};
  TRY(admit(*key, spec, repository));
  return admit_results_key(job.name, spec);
}

/// The key is only in its file, which exists as long as the job.
Result<void> JobKeys::admit_results_key(const std::string& job, const job::Spec& spec) {
  if (spec.s3_output.empty()) return {};
  const std::string path = results_file(job);
  const Result<std::string> text = read_file(path);
  std::optional<aws::Credentials> kept;
  if (text) kept = TRY(aws::credentials_in(*text, "default"));
  if (!kept) {
    const store::AccessKey fresh = fresh_key_();
    TRY(make_folders(folder_, 0700));
    TRY(write_file(path, credentials_file(fresh), 0600));
    kept = aws::Credentials{fresh.id, fresh.secret, {}};
  }
  access::AccessKey known;
  known.id = kept->access_key;
  known.secret = kept->secret_key;
  known.owner = job;
  known.policy = TRY(results_policy_of(spec));
  return ring_.add(std::move(known));
}

Result<void> JobKeys::admit(const store::AccessKey& key, const job::Spec& spec,
                            const std::string& repository) {
  access::AccessKey known;
  known.id = key.id;
  known.secret = key.secret;
  known.owner = key.job;
  known.policy = TRY(policy_of(spec));
  known.policy.read_objects = TRY(named_objects(spec, read_manifest_));
  known.policy.repository = repository;
  known.policy.bytes_max = s3_budget_of(spec, s3_budget_);
  known.policy.files_max = s3_files_max;
  return ring_.add(std::move(known));
}

void JobKeys::remove_files(const std::string& job) const {
  ::unlink(file(job).c_str());
  ::unlink(results_file(job).c_str());
}

void JobKeys::sweep(const std::function<bool(const std::string& job)>& has_ended) const {
  for (const std::string& name : names_in(folder_).value_or({})) {  // None: no job had a key yet.
    const std::string job = name.substr(0, name.find('.'));         // Jobs' names contain no dot.
    const bool is_whole = name == job || job + ".results" == name;
    if (!is_whole || has_ended(job)) ::unlink((folder_ + "/" + name).c_str());
  }
}

}  // namespace muster::jobs
