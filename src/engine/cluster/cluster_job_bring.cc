#include <unistd.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "engine/cluster/cluster_job.h"
#include "engine/cluster/slurm_engine.h"
#include "engine/slurm/orders.h"
#include "image/kept/pack_layer.h"
#include "job/wire/node_messages.h"
#include "net/loop/worker.h"

// How a job comes to its nodes (docs/protocols/slurm-job.md).

namespace muster::cluster {

/// Where the nodes have `sm`; empty: it is brought.
std::string ClusterJob::node_program() const {
  const std::string shared = shared_ ? shared_->program.path : std::string();
  return shared.empty() ? engine_.options().node_program : shared;
}

Result<void> ClusterJob::write_order(const std::string& path) const {
  job::NodeJob order = TRY(engine_.order(spec_, submission()));
  order.nonce = note_.nonce;
  order.key = note_.key;
  order.port = note_.port;
  if (shared_) {
    order.archive = shared_->archive.path;
    order.archive_digest = shared_->archive.digest;
    if (order.image) order.image->layers = shared_->folder + "/layer-";
  }
  order.job_key = from_hex(trim(TRY(read_file(folder_path_ + "/key")))).value_or("");
  return write_file(path, to_text(job::to_json(order)), 0600);
}

/// The small file that the script waits for comes last, when all else is on every node.
loop::Task<Result<void>> ClusterJob::bring() {
  using slurm::BroughtFile;
  if (note_.place.empty())  // An older script would run what others can put in its way.
    co_return fail(Errc::unsupported, "the job was submitted by an older version of muster");
  const slurm::Submission own = submission();
  const std::string order = folder_path_ + "/order";
  const std::string go = folder_path_ + "/go";
  co_await engine_.learn_graces(partition_);
  if (Result<void> made = write_order(order); !made) co_return made.error();
  std::vector<std::pair<std::string, BroughtFile>> files;
  if (node_program().empty()) files.emplace_back(engine_.options().program, BroughtFile::program);
  if (::access((folder_path_ + "/archive").c_str(), F_OK) == 0)
    files.emplace_back(folder_path_ + "/archive", BroughtFile::archive);
  files.emplace_back(order, BroughtFile::job);
  slurm::BroughtFiles names;
  for (const auto& [from, file] : files) names.push_back(file);
  if (Result<void> made = write_file(go, slurm::go_text(own, names), 0600); !made)
    co_return made.error();
  files.emplace_back(go, BroughtFile::go);
  Result<void> brought;
  for (const auto& [from, file] : files) {
    const std::string to = slurm::arrival_of(own, file);
    brought = co_await engine_.slurm().broadcast(note_.slurm_id, from, to);
    if (!brought) break;
  }
  ::unlink(order.c_str());  // The key is in it.
  ::unlink(go.c_str());
  co_return brought;
}

loop::Task<> ClusterJob::deliver() {
  note_.delivered = true;
  Result<void> done = write_note(folder_path_, note_);
  if (done) done = co_await bring();
  if (!done) set_fault(slurm::node_named_by_sbcast(done.error().text));
  perform(attempt_->on_delivered(done, wall_time(), Clock::now()));
}

/// sbcast brings a file to all nodes of a job: one that has the layer removes it again.
loop::Task<Result<void>> ClusterJob::bring_layer(int number) {
  const auto index = static_cast<std::size_t>(number);
  if (!spec_.image || index >= spec_.image->layers.size())
    co_return fail(Errc::protocol, "a node requested a layer that is not in the job's image");
  const std::string folder = shared_ ? shared_->folder : folder_path_;
  const std::string file = folder + "/layer-" + std::to_string(number);
  const std::function<Result<void>()> pack = [root = spec_.image->layers[index],
                                              file]() -> Result<void> {
    ::unlink(file.c_str());  // An earlier attempt's, for other nodes.
    TRY(image::pack_layer(root, file));
    return {};
  };
  Result<void> done = co_await loop::in_thread(engine_.loop(), pack);
  if (shared_) co_return done;
  if (note_.place.empty())
    co_return fail(Errc::unsupported, "the job was submitted by an older version of muster");
  const std::string to = places_of(submission()).layer + std::to_string(number);
  if (done) done = co_await engine_.slurm().broadcast(note_.slurm_id, file, to);
  ::unlink(file.c_str());
  co_return done;
}

}  // namespace muster::cluster
