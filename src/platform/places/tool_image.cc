#include "platform/places/tool_image.h"

#include "image/reference.h"

namespace muster::places {
namespace {

constexpr const char* dockers_registry = "docker.io";

/// enroot has a '#' behind a registry, and Docker's is what it takes without one.
std::string in_enroots_words(const image::Reference& reference) {
  if (reference.registry == dockers_registry) return reference.repository;
  return reference.registry + "#" + reference.repository;
}

}  // namespace

Result<job::Image> image_for_tool(const std::string& tool, const std::string& name) {
  job::Image image;
  image.tool = tool;
  image.name = name;
  if (!name.starts_with('/') && name.find("://") == std::string::npos) {
    const image::Reference reference = TRY(image::reference_from(name));
    if (reference.transport != image::Reference::Transport::registry)
      return fail(Errc::invalid_input,
                  "expected a path on the nodes, or the name of an image in "
                  "a registry, got " +
                      name);
    image.name = "docker://" + (tool == "enroot" ? in_enroots_words(reference)
                                                 : reference.registry + "/" + reference.repository);
    image.name += reference.digest.empty() ? ":" + reference.tag : "@" + reference.digest;
  }
  TRY(job::check(image));
  return image;
}

std::string image_tool(const std::optional<SlurmCluster>& cluster, const std::string& type) {
  if (!cluster) return "";
  const auto found = cluster->sites.find(type);
  return slurm::image_tool((found == cluster->sites.end() ? cluster->site : found->second).hosts);
}

Result<std::optional<job::Image>> image_on_nodes(const std::optional<SlurmCluster>& cluster,
                                                 const std::string& type,
                                                 const job::ImageWish& wish) {
  const std::string tool = image_tool(cluster, type);
  if (tool.empty()) return std::optional<job::Image>();
  const auto refuse = [&](const char* what) {
    return fail(
        Errc::invalid_input,
        "image " + wish.name + ": " + tool +
            " reads the image with the nodes' own registry logins, so muster cannot apply the " +
            what + " in this server's config");
  };
  if (!wish.policy.empty()) return refuse("policy (jobs.image_policy)");
  if (wish.private_to_login || !wish.logins.empty()) return refuse("login");
  return std::optional<job::Image>(TRY(image_for_tool(tool, wish.name)));
}

}  // namespace muster::places
