#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "aws/refusal.h"
#include "job/image_wish.h"
#include "server/jobs/job_config.h"

namespace muster::jobs {

// Resolves a job's TrainingImage on this server. Pure. Source:
// docs/decisions/0032-images-on-a-server.md.

struct TrainingImage {
  std::string python;                   ///< The interpreter, if this machine is the image.
  std::optional<job::ImageWish> image;  ///< Otherwise: the job's own image.
};

/// Checks the names of this machine first, then images that were pushed to this server (only users'
/// keys can push), then images that `registries` of the config lists. Rejects all others. Also
/// rejects a `provider` (a TrainingRepositoryCredentialsProviderArn, or nothing) that is not in the
/// config, or whose login is not for the image's registry.
Result<TrainingImage, aws::Refusal> training_image(const std::string& asked,
                                                   const std::string& provider,
                                                   const JobConfig& config);

/// The repository of this server that the image was pushed to, the only one that the job's key can
/// read; empty if the image is not from this server's registry.
std::string own_repository(const std::string& asked, const JobConfig& config);

}  // namespace muster::jobs
