#include "engine/cluster/delivery.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <span>

#include "base/fd.h"
#include "base/files/remove_tree.h"
#include "engine/cluster/shared_folder.h"
#include "os/packing/tar.h"

namespace muster::cluster {
namespace {

constexpr std::size_t chunk_bytes = 1u << 20;

Error cannot(const std::string& what) {
  return fail(Errc::unsupported, "hosts of a Slurm cluster cannot have " + what);
}

/// Hosts have their nodes' network, light ones also their programs (docs/decisions/0047-slurm.md).
Result<void> check_possible(const job::Spec& spec, slurm::Hosts hosts, const std::string& shared) {
  if (spec.network == job::Network::none)
    return cannot(
        "network isolation (EnableNetworkIsolation, --network none): they use their nodes' "
        "network");
  if (spec.vpc) return cannot("a VpcConfig: they use their nodes' network");
  if (spec.encrypted) return cannot("encrypted traffic: they use their nodes' network");
  if (spec.image && hosts == slurm::Hosts::light)
    return cannot(
        "an image if they are light; use --slurm hosts=container, hosts=apptainer or hosts=enroot");
  if (spec.image && spec.image->tool != slurm::image_tool(hosts))
    return cannot("an image that " + (spec.image->tool.empty() ? "muster" : spec.image->tool) +
                  " opens");
  if (!spec.bound.empty()) return cannot("folders of this machine (--bind); use a shared folder");
  if (!spec.checkpoint_folder.empty() && !is_shared(spec.checkpoint_folder, shared))
    return cannot(
        "checkpoints in a folder of this machine; use an S3 prefix, or a folder in the shared "
        "folder that --slurm shared= names");
  return {};
}

/// True for a link to somewhere outside of the folder that it is in.
bool leads_out(const packing::TreeEntry& entry) {
  if (entry.kind != packing::TreeEntry::Kind::link) return false;
  const std::filesystem::path target(entry.target);
  const std::filesystem::path from = std::filesystem::path(entry.path).parent_path();
  return target.is_absolute() || (from / target).lexically_normal().string().starts_with("..");
}

}  // namespace

NodePlaces places_of(const slurm::Submission& submission) {
  const std::string folder = slurm::place_of(submission) + "/run";
  return {slurm::final_path_of(submission, slurm::BroughtFile::archive), folder,
          folder + ".layer-"};
}

Result<Delivery> plan_delivery(const job::Spec& spec, const std::string& folder,
                               const slurm::Site& site, const std::string& shared) {
  TRY(check_possible(spec, site.hosts, shared));
  Delivery delivery{{}, spec};
  const auto bring = [&](std::string& path, const std::string& name) {
    if (path.empty() || is_shared(path, shared)) return;
    delivery.folders.push_back({path, name});
    path = folder + "/" + name;
  };
  bring(delivery.spec.source_folder, "source");
  for (job::InputChannel& channel : delivery.spec.input)
    bring(channel.folder, "channel-" + channel.name);
  bring(delivery.spec.s3.credentials_file, "credentials");
  delivery.spec.s3.results_credentials_file.clear();  // Results are stored from here.
  bring(delivery.spec.s3.ca_file, "ca.pem");
  bring(delivery.spec.pip_conf, "pip.conf");
  for (const auto& [name, value] : site.preflight) delivery.spec.environment.emplace(name, value);
  // Nodes differ where containers of one machine cannot.
  if (spec.instance_count > 1) delivery.spec.environment.emplace("MUSTER_PREFLIGHT", "light");
  if (delivery.spec.image) delivery.spec.image->lease.clear();
  delivery.spec.output_folder.clear();
  delivery.spec.hidden.clear();
  return delivery;
}

Result<std::vector<std::string>> make_archive(const std::vector<Brought>& folders,
                                              const std::string& to) {
  std::vector<std::string> left_out;
  // Entries are read as <root>/<path>: below one root there is a link to each folder's place, and
  // the files themselves, which are small.
  const std::string root = to + ".folders";
  TRY(make_folders(root, 0700));
  packing::EntryList entries;
  for (const Brought& folder : folders) {
    const std::string link = root + "/" + folder.name;
    struct stat status {};
    if (::stat(folder.from.c_str(), &status) != 0) return fail_errno("cannot open " + folder.from);
    if (S_ISREG(status.st_mode)) {
      const std::string text = TRY(read_file(folder.from));
      TRY(write_file(link, text, 0600));
      TRY(entries.add({.path = folder.name, .mode = 0600, .bytes = text.size()}));
      continue;
    }
    if (::symlink(folder.from.c_str(), link.c_str()) != 0)
      return fail_errno("cannot create the link " + link);
    TRY(entries.add({.path = folder.name, .kind = packing::TreeEntry::Kind::folder, .mode = 0755}));
    for (packing::TreeEntry& entry : TRY(packing::walk_tree(folder.from))) {
      if (leads_out(entry)) {
        left_out.push_back(folder.from + "/" + entry.path + " -> " + entry.target);
        continue;
      }
      entry.path = folder.name + "/" + entry.path;
      TRY(entries.add(entry));
    }
  }
  const packing::TarPlan plan = TRY(packing::TarPlan::make(std::move(entries), {root}));
  const Fd file(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return fail_errno("cannot create " + to);
  std::string buffer(chunk_bytes, '\0');
  for (std::uint64_t at = 0; at < plan.bytes();) {
    const std::size_t count = TRY(plan.read(at, std::span<char>(buffer.data(), buffer.size())));
    TRY(write_all(file.get(), std::string_view(buffer.data(), count)));
    at += count;
  }
  TRY(remove_tree(root));
  return left_out;
}

}  // namespace muster::cluster
