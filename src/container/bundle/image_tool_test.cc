#include "container/bundle/image_tool.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/text.h"
#include "container/bundle/bundle.h"
#include "job/host_settings.h"

namespace muster::container {
namespace {

job::Image image(const std::string& tool, const std::string& name) {
  job::Image image;
  image.tool = tool;
  image.name = name;
  return image;
}

ToolPlace place() {
  return {.program = "/usr/bin/tool",
          .outside = "/scratch/tmp/.muster-image",
          .inside = "/tmp/.muster-image",
          .shown = {"/tmp", "/run/muster", "/opt/ml/input"},
          .env = {{"HOME", "/home/ann"}}};
}

TEST_CASE(
    "image tool: apptainer opens a file of the node's, or pulls one to the host's own folder") {
  const ToolPlan file = *plan_image_tool(image("apptainer", "/shared/box.sif"), place());
  CHECK(file.before.empty());
  CHECK(join(file.enter.argv, " ") ==
        "/usr/bin/tool --quiet exec --userns --cleanenv --bind /tmp --bind /run/muster --bind "
        "/opt/ml/input /shared/box.sif");
  CHECK(file.enter.env == Env{{"HOME", "/home/ann"}});
  const ToolPlan named = *plan_image_tool(image("apptainer", "docker://team/box:v1"), place());
  REQUIRE(named.before.size() == 1);
  CHECK(join(named.before[0].argv, " ") ==
        "/usr/bin/tool --quiet pull /scratch/tmp/.muster-image/image.sif docker://team/box:v1");
  CHECK(named.before[0].env.at("TMPDIR") == "/scratch/tmp/.muster-image");
  CHECK(named.enter.argv.back() == "/tmp/.muster-image/image.sif");
}

TEST_CASE("image tool: enroot makes a root of it in the host's own folder, and starts that") {
  const ToolPlan file = *plan_image_tool(image("enroot", "/shared/box.sqsh"), place());
  REQUIRE(file.before.size() == 1);
  CHECK(join(file.before[0].argv, " ") == "/usr/bin/tool create --name image -- /shared/box.sqsh");
  CHECK(file.before[0].env.at("ENROOT_DATA_PATH") == "/scratch/tmp/.muster-image/data");
  CHECK(join(file.enter.argv, " ") ==
        "/usr/bin/tool start --rw --rc /tmp/.muster-image/rc "
        "--mount /tmp:/tmp:none:x-create=auto,rbind "
        "--mount /run/muster:/run/muster:none:x-create=auto,rbind "
        "--mount /opt/ml/input:/opt/ml/input:none:x-create=auto,rbind -- image");
  CHECK(file.enter.env.at("ENROOT_DATA_PATH") == "/tmp/.muster-image/data");
  const ToolPlan named = *plan_image_tool(image("enroot", "docker://nvcr.io#box:v1"), place());
  REQUIRE(named.before.size() == 2);
  CHECK(join(named.before[0].argv, " ") ==
        "/usr/bin/tool import --output /scratch/tmp/.muster-image/image.sqsh -- "
        "docker://nvcr.io#box:v1");
  CHECK(named.before[1].argv.back() == "/scratch/tmp/.muster-image/image.sqsh");
}

TEST_CASE("image tool: GPUs are asked for where the scheduler gave some") {
  ToolPlace given = place();
  given.gives_gpus = true;
  const auto line = [&](const char* tool) {
    return join(plan_image_tool(image(tool, "/x"), given)->enter.argv, " ");
  };
  CHECK(line("apptainer").find(" --nv /x") != std::string::npos);
  CHECK(line("enroot").find(" --env NVIDIA_VISIBLE_DEVICES=all ") != std::string::npos);
  given.changes_root = true;
  CHECK(line("apptainer").find(" --writable-tmpfs --nv /x") != std::string::npos);
  given.changes_root = false;
  given.gives_rocm = true;
  CHECK(line("apptainer").find(" --nv --rocm /x") != std::string::npos);
}

TEST_CASE("image tool: a path that would be two fields of the program's is refused") {
  for (const char* path : {"/a:b", "/a,b", "/a b", "/a\nb", "/a\\b"}) {
    CAPTURE(path);
    ToolPlace odd = place();
    odd.shown.push_back(path);
    CHECK(plan_image_tool(image("enroot", "/x"), odd).error().code == Errc::unsupported);
    CHECK(plan_image_tool(image("apptainer", "/x"), odd).error().code == Errc::unsupported);
  }
}

TEST_CASE(
    "image tool: a program of the node puts a light host in its image, with the job's variables") {
  job::HostSpec spec;
  spec.spec.name = "demo";
  spec.spec.instance_count = 2;
  spec.spec.source_folder = "/code";
  spec.host = "algo-2";
  spec.hosts = {{"algo-1", "10.0.0.1"}, {"algo-2", "10.0.0.2"}};
  spec.light = true;
  spec.spec.image.emplace();
  spec.spec.image->tool = "apptainer";
  spec.spec.environment = {{"TEAM", "blue"}, {"HOME", "/work"}};
  const Command first = first_process_in(
      spec, {},
      {.argv = {"/usr/bin/apptainer", "exec", "/x.sif"}, .env = {{"USER", "ann"}}, .cwd = {}});
  CHECK(join(first.argv, " ") ==
        "/run/muster/bin/sm init --lifeline 4 -- /usr/bin/apptainer exec /x.sif "
        "/run/muster/bin/sm init --variables /run/muster/variables --everyone -- train");
  CHECK(first.env == Env{{"USER", "ann"}});
  const Env variables = *job::variables_from(host_variables(spec, {}, {{"TZ", "UTC"}}));
  CHECK(variables.at("TEAM") == "blue");
  CHECK(variables.at("HOME") == "/work");
  CHECK(variables.at("TZ") == "UTC");
  CHECK(!variables.contains("PATH"));
  CHECK(!variables.contains("MUSTER_JOB_KEY_FILE"));
  std::vector<std::string> targets;
  for (const Bind& bind : light_binds(spec, "/opt/sm")) targets.push_back(bind.target);
  CHECK(std::find(targets.begin(), targets.end(), "/opt/ml/model") != targets.end());
  CHECK(std::find(targets.begin(), targets.end(), "/opt/ml") == targets.end());
}

}  // namespace
}  // namespace muster::container
