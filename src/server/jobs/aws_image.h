#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::jobs {

// AWS's own framework images (Deep Learning Containers and SageMaker's), which run here with this
// machine's files: their content is known from their names.
//
// Pure. Source of accounts and repositories: sagemaker 2.257.7, image_uri_config/*.json; of tags:
// github.com/aws/deep-learning-containers, available_images.md.

/// The parts of such a name.
struct AwsImage {
  std::vector<std::string> modules;  ///< The Python modules in it, "torch"; none: only Python.
  std::string version;               ///< The first module's, "2.0.1"; empty: the tag has none.

  bool operator==(const AwsImage&) const = default;
};

/// "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.0.1-cpu-py310". None for any
/// other: a user's image in ECR is not AWS's, whatever its name.
std::optional<AwsImage> aws_image(std::string_view name);

/// The parts of the image that are missing in `versions` (an interpreter's modules and versions),
/// as text: "the image has torch 2.0, this machine's Python has none". Empty if nothing is known to
/// be missing. Two versions differ if their first two numbers differ.
std::string lack_of(const AwsImage& image, const std::map<std::string, std::string>& versions);

/// How a job of such an image runs: "runs with this machine's programs: python
/// /usr/bin/python3 (3.11.2), packages torch 2.1.0, numpy 1.26.4".
std::string runs_as(const std::string& python, const std::map<std::string, std::string>& versions);

/// The failure's reason with `lack` after its first line, if an import failed.
std::string with_lack(const std::string& reason, const std::string& lack);

}  // namespace muster::jobs
