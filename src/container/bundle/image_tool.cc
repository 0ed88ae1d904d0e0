#include "container/bundle/image_tool.h"

namespace muster::container {
namespace {

bool is_path(const job::Image& image) {
  return image.name.starts_with('/');
}

/// Both tools use some characters as separators in their lists of mounts.
Result<void> check_shown(const ToolPlace& place) {
  for (const std::string& path : place.shown)
    if (path.find_first_of(":, \t\n\\\"") != std::string::npos)
      return fail(Errc::unsupported, path +
                                         ": image tools cannot mount a path that contains white "
                                         "space, ':', ',', a quote or a backslash");
  return {};
}

ToolPlan plan_apptainer(const job::Image& image, const ToolPlace& place) {
  ToolPlan plan;
  std::string file = image.name;
  if (!is_path(image)) {
    Command pull{.argv = {place.program, "--quiet", "pull", place.outside + "/image.sif", file},
                 .env = place.env,
                 .cwd = "/"};
    pull.env["TMPDIR"] = place.outside;
    plan.before.push_back(std::move(pull));
    file = place.inside + "/image.sif";
  }
  // Only the variables of the image and of the job, not those of the node. Without the setuid
  // program, which has no privileges in a light host's user namespace.
  Args argv = {place.program, "--quiet", "exec", "--userns", "--cleanenv"};
  for (const std::string& path : place.shown) {
    argv.emplace_back("--bind");
    argv.push_back(path);
  }
  if (place.changes_root) argv.emplace_back("--writable-tmpfs");
  if (place.gives_gpus) argv.emplace_back("--nv");
  if (place.gives_rocm) argv.emplace_back("--rocm");
  argv.push_back(file);
  plan.enter = {.argv = std::move(argv), .env = place.env, .cwd = "/"};
  return plan;
}

/// enroot's containers are removed with the host; its download cache belongs to the user and
/// follows the user's settings.
Env enroot_env(const ToolPlace& place, const std::string& folder) {
  Env env = place.env;
  env["ENROOT_DATA_PATH"] = folder + "/data";
  env["ENROOT_RUNTIME_PATH"] = folder + "/run";
  env["ENROOT_TEMP_PATH"] = folder;
  // Otherwise, the shell that enroot starts changes to the user's home and reads the user's
  // profile.
  env["ENROOT_LOGIN_SHELL"] = "no";
  return env;
}

ToolPlan plan_enroot(const job::Image& image, const ToolPlace& place) {
  ToolPlan plan;
  const Env outside = enroot_env(place, place.outside);
  const auto before = [&](Args argv) {
    argv.insert(argv.begin(), place.program);
    plan.before.push_back({.argv = std::move(argv), .env = outside, .cwd = "/"});
  };
  std::string file = image.name;
  if (!is_path(image)) {
    file = place.outside + "/image.sqsh";
    before({"import", "--output", file, "--", image.name});
  }
  before({"create", "--name", "image", "--", file});
  Args argv = {place.program, "start", "--rw", "--rc",
               place.inside + "/" + std::string(tool_script_name)};
  for (const std::string& path : place.shown) {
    argv.emplace_back("--mount");
    argv.push_back(path + ":" + path + ":none:x-create=auto,rbind");
  }
  // A hook of enroot reads these variables; the scheduler sets which GPUs are visible.
  if (place.gives_gpus)
    argv.insert(argv.end(), {"--env", "NVIDIA_VISIBLE_DEVICES=all", "--env",
                             "NVIDIA_DRIVER_CAPABILITIES=compute,utility"});
  argv.insert(argv.end(), {"--", "image"});
  plan.enter = {.argv = std::move(argv), .env = enroot_env(place, place.inside), .cwd = "/"};
  return plan;
}

}  // namespace

Result<ToolPlan> plan_image_tool(const job::Image& image, const ToolPlace& place) {
  TRY(check_shown(place));
  return image.tool == "enroot" ? plan_enroot(image, place) : plan_apptainer(image, place);
}

}  // namespace muster::container
