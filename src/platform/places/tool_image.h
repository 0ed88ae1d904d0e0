#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "job/image.h"
#include "job/image_wish.h"
#include "platform/places/slurm_cluster.h"

namespace muster::places {

// Pure: images that a program on a cluster's nodes opens there, with its own logins
// (docs/decisions/0062-image-tools.md).

/// The image's name for the program `tool`: a path on the nodes and "docker://…" are unchanged; any
/// other name is that of a registry's image, completed as Docker does. Error: `invalid_input`.
Result<job::Image> image_for_tool(const std::string& tool, const std::string& name);

/// The program that opens images of hosts of this type; "" where muster does.
std::string image_tool(const std::optional<SlurmCluster>& cluster, const std::string& type);

/// The image for a server's job; none if it must be fetched to this machine first. Error:
/// `invalid_input` for conditions in the wish that the nodes would not enforce.
Result<std::optional<job::Image>> image_on_nodes(const std::optional<SlurmCluster>& cluster,
                                                 const std::string& type,
                                                 const job::ImageWish& wish);

}  // namespace muster::places
