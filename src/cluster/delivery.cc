#include "cluster/delivery.h"

#include <fcntl.h>
#include <unistd.h>

#include <span>

#include "base/fd.h"
#include "packing/tar.h"

namespace muster::cluster {
namespace {

constexpr std::size_t chunk_bytes = 1u << 20;

Error cannot(const std::string& what) {
  return fail(Errc::unsupported, "hosts of a Slurm cluster cannot have " + what);
}

/// Hosts are light: their node's network and programs (docs/decisions/0047-slurm.md).
Result<void> check_possible(const job::Spec& spec) {
  if (spec.vpc) return cannot("a VpcConfig: they are on their nodes' network");
  if (spec.encrypted) return cannot("encrypted traffic: they are on their nodes' network");
  if (spec.image) return cannot("an image yet: they run their nodes' programs");
  if (!spec.bound.empty()) return cannot("folders of this machine (--bind): name a shared one");
  if (!spec.checkpoint_folder.empty())
    return cannot("checkpoints in a folder of this machine: name a prefix of S3");
  return {};
}

}  // namespace

NodePlaces places_of(const slurm::Submission& submission) {
  const std::string start = "/tmp/muster-" + submission.nonce;
  return {start + ".sm", start + ".job", start + ".tar", start};
}

Result<Delivery> plan_delivery(const job::Spec& spec, const std::string& folder) {
  TRY(check_possible(spec));
  Delivery delivery{{}, spec};
  const auto bring = [&](std::string& path, const std::string& name) {
    if (path.empty()) return;
    delivery.folders.push_back({path, name});
    path = folder + "/inputs/" + name;
  };
  bring(delivery.spec.source_folder, "source");
  for (job::InputChannel& channel : delivery.spec.input)
    bring(channel.folder, "channel-" + channel.name);
  delivery.spec.output_folder.clear();
  delivery.spec.hidden.clear();
  delivery.spec.read_only_binds.clear();
  return delivery;
}

Result<void> make_archive(const std::vector<Brought>& folders, const std::string& to) {
  // Entries are read as <root>/<path>: a link stands for each folder's place below one root.
  const std::string root = to + ".folders";
  TRY(make_folders(root, 0700));
  std::vector<packing::TreeEntry> entries;
  for (const Brought& folder : folders) {
    const std::string link = root + "/" + folder.name;
    if (::symlink(folder.from.c_str(), link.c_str()) != 0) return fail_errno(link);
    entries.push_back(
        {.path = folder.name, .kind = packing::TreeEntry::Kind::folder, .mode = 0755});
    for (packing::TreeEntry& entry : TRY(packing::walk_tree(folder.from))) {
      entry.path = folder.name + "/" + entry.path;
      entries.push_back(std::move(entry));
    }
  }
  const packing::TarPlan plan(std::move(entries), {root});
  const Fd file(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return fail_errno(to);
  std::string buffer(chunk_bytes, '\0');
  for (std::uint64_t at = 0; at < plan.bytes();) {
    const std::size_t count = TRY(plan.read(at, std::span<char>(buffer.data(), buffer.size())));
    TRY(write_all(file.get(), std::string_view(buffer.data(), count)));
    at += count;
  }
  for (const Brought& folder : folders) ::unlink((root + "/" + folder.name).c_str());
  ::rmdir(root.c_str());
  return {};
}

}  // namespace muster::cluster
