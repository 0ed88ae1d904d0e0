#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "aws/refusal.h"
#include "job/image_wish.h"
#include "server/jobs/job_config.h"

namespace muster::jobs {

// What a job's TrainingImage means on this server. Pure.
// Source: docs/decisions/0032-images-on-a-server.md.

struct TrainingImage {
  std::string python;                   ///< The interpreter, where this machine is the image.
  std::optional<job::ImageWish> image;  ///< Instead of it: the job's own image.
};

/// Names that mean this machine come first, then what was pushed to this server (only users' keys
/// may), then images that `registries` of the config lists. Refused: all others; a `provider`, the
/// ARN of a TrainingRepositoryCredentialsProviderArn or nothing, that the config does not know, or
/// whose login is not for the image's registry.
Result<TrainingImage, aws::Refusal> training_image(const std::string& asked,
                                                   const std::string& provider,
                                                   const JobConfig& config);

/// The repository of this server that the image was pushed to, the only one that the job's key can
/// read; empty if the image is not from this server's registry.
std::string own_repository(const std::string& asked, const JobConfig& config);

/// The note of a job that runs an image: "runs image docker.io/team/box:v1, sha256:…".
std::string image_note(const std::string& name, const std::string& digest);
/// What such a note says, out of a job's notes, a line each; empty: it runs none, or has not begun.
struct NotedImage {
  std::string name;
  std::string digest;
};
NotedImage noted_image(std::string_view notes);

}  // namespace muster::jobs
