#include "jobs/job_keys.h"

#include <unistd.h>

#include "base/fd.h"
#include "base/folder.h"
#include "jobs/job_spec.h"

namespace muster::jobs {

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
  TRY(write_file(file(job.name),
                 "[default]\naws_access_key_id = " + key->id +
                     "\naws_secret_access_key = " + key->secret + "\n",
                 0600));
  return aws::Credentials{key->id, key->secret, {}};
}

Result<void> JobKeys::reopen(const store::Job& job, const job::Spec& spec,
                             const std::string& repository) {
  if (job.note.empty()) return {};
  const std::optional<store::AccessKey> key = TRY(store_.key(job.note));
  return key ? admit(*key, spec, repository) : Result<void>();
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

void JobKeys::remove_file(const std::string& job) const {
  ::unlink(file(job).c_str());
}

std::vector<std::string> JobKeys::files() const {
  return names_in(folder_).value_or({});  // No folder: no job has had a key yet.
}

}  // namespace muster::jobs
