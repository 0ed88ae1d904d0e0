#pragma once

#include <string>
#include <vector>

#include "base/command.h"
#include "base/result.h"
#include "job/image.h"

namespace muster::container {

// Pure: the command lines of programs that open an image on a node
// (docs/decisions/0062-image-tools.md). Source: their manuals, Apptainer 1.6 (apptainer-exec.1,
// apptainer-pull.1), enroot 4.1 (doc/cmd).

/// What such a program has to work with.
struct ToolPlace {
  std::string program;  ///< A path.
  /// A folder of the host's own for it, as the steward sees it, and as the host does.
  std::string outside;
  std::string inside;
  std::vector<std::string> shown{};  ///< Paths that the image shows as the host sees them.
  bool changes_root = false;         ///< The host writes outside of the folders shown.
  bool gives_gpus = false;           ///< NVIDIA's; `gives_rocm`: AMD's.
  bool gives_rocm = false;
  Env env{};  ///< Who the user is, and PATH.
};

struct ToolPlan {
  std::vector<Command> before;  ///< Run to their ends, one after the other, by the steward.
  Command enter;                ///< In the host; the words of what runs in the image follow.
};
/// Error: `unsupported` for a path that the program's command line cannot name.
Result<ToolPlan> plan_image_tool(const job::Image& image, const ToolPlace& place);

/// In ToolPlace::outside: the script that enroot's containers run instead of their own start
/// script.
inline constexpr const char* tool_script_name = "rc";
inline constexpr const char* tool_script = "exec \"$@\"\n";

}  // namespace muster::container
