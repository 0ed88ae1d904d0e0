#pragma once

#include <string>
#include <vector>

#include "base/command.h"
#include "base/result.h"
#include "job/image.h"

namespace muster::container {

// Pure: the command lines of image tools, which run an image on a node
// (docs/decisions/0062-image-tools.md). Source: their manuals, Apptainer 1.6 (apptainer-exec.1,
// apptainer-pull.1), enroot 4.1 (doc/cmd).

/// The input for an image tool's commands.
struct ToolPlace {
  std::string program;  ///< A path.
  /// The tool's own folder in the host, with its path for the steward and its path in the host.
  std::string outside;
  std::string inside;
  std::vector<std::string> shown{};  ///< Paths that are mounted at the same path in the image.
  bool changes_root = false;         ///< The host writes outside of the shown folders.
  bool gives_gpus = false;           ///< NVIDIA's; `gives_rocm`: AMD's.
  bool gives_rocm = false;
  Env env{};  ///< Variables with the user's name and home, and PATH.
};

struct ToolPlan {
  std::vector<Command> before;  ///< Commands that the steward runs one after the other.
  Command enter;  ///< Run in the host; the command line of the program in the image follows.
};
/// Error: `unsupported` for a path that the program's command line cannot name.
Result<ToolPlan> plan_image_tool(const job::Image& image, const ToolPlace& place);

/// In ToolPlace::outside: the script that enroot's containers run instead of their own start
/// script.
inline constexpr const char* tool_script_name = "rc";
inline constexpr const char* tool_script = "exec \"$@\"\n";

}  // namespace muster::container
