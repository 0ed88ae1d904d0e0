#include "engine/cluster/sweep_slurm.h"

#include <unistd.h>

#include "engine/cluster/notes.h"
#include "engine/cluster/shared_folder.h"
#include "engine/job_folder.h"
#include "engine/slurm/submission.h"

namespace muster::cluster {
namespace {

/// A job that never came into the queue has nothing there.
loop::Task<Result<void>> take_out(Slurm& slurm, std::string name, std::string folder) {
  const Result<std::optional<AttemptNote>> note = read_note(folder);
  if (!note || !*note) co_return Result<void>();
  slurm::Submission submission;
  submission.job = std::move(name);
  submission.nonce = (*note)->submitted;
  co_return co_await slurm.cancel_named(slurm::slurm_name(submission));
}

}  // namespace

loop::Task<Swept> sweep(Slurm& slurm, std::string state, bool kept_too) {
  Swept swept;
  const std::string root = state + "/slurm";
  for (const std::string& name : engine::JobFolder::names(root)) {
    const std::string path = root + "/jobs/" + name;
    if (!kept_too && ::access((path + "/kept").c_str(), F_OK) == 0) continue;
    Result<engine::JobFolder> folder = engine::JobFolder::take(path);
    if (!folder) continue;  // A living process's.
    Result<void> done = co_await take_out(slurm, name, path);
    if (done) done = remove_shared(path);
    if (done) done = folder->remove();
    if (done)
      swept.removed.push_back("job " + name + " of the cluster");
    else
      swept.failed.push_back(path + ": " + done.error().text);
  }
  co_return swept;
}

}  // namespace muster::cluster
