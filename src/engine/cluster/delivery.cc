#include "engine/cluster/delivery.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <span>

#include "base/fd.h"
#include "base/files/given_path.h"
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

/// Adds the last root: a file, or a folder with all that is in it, but links that lead out of it.
Result<void> add_entries(const std::vector<packing::Root>& roots, packing::EntryList& entries,
                         std::vector<std::string>& left_out) {
  using packing::TreeEntry;
  const packing::Root& root = roots.back();
  const std::size_t number = roots.size() - 1;
  struct stat status {};
  if (::fstat(root.at.held.get(), &status) != 0) return fail_errno("cannot open " + root.at.path);
  if (S_ISREG(status.st_mode))
    return entries.add({.path = root.name,
                        .mode = 0600,
                        .bytes = static_cast<std::uint64_t>(status.st_size),
                        .root = number});
  TRY(entries.add({.path = root.name, .kind = TreeEntry::Kind::folder, .mode = 0755}));
  return packing::walk_trees({&root, 1}, [&](const TreeEntry& found) -> Result<void> {
    TreeEntry entry = found;
    entry.path = root.name + "/" + found.path;
    entry.root = number;
    if (!leads_out(found)) return entries.add(entry);
    left_out.push_back(root.at.path + "/" + found.path + " -> " + found.target);
    return {};
  });
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
  std::vector<packing::Root> roots;
  packing::EntryList entries;
  for (const Brought& folder : folders) {
    roots.push_back({TRY(find_given(folder.from)), folder.name});
    TRY(add_entries(roots, entries, left_out));
  }
  const packing::TarPlan plan = TRY(packing::TarPlan::make(std::move(entries), std::move(roots)));
  const Fd file(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return fail_errno("cannot create " + to);
  std::string buffer(chunk_bytes, '\0');
  for (std::uint64_t at = 0; at < plan.bytes();) {
    const std::size_t count = TRY(plan.read(at, std::span<char>(buffer.data(), buffer.size())));
    TRY(write_all(file.get(), std::string_view(buffer.data(), count)));
    at += count;
  }
  return left_out;
}

}  // namespace muster::cluster
