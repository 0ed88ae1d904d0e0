#include "machine/steward/host_stacks.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "base/fd.h"
#include "base/files/remove_tree.h"

namespace muster::steward {
namespace {

/// <folder>/<name>/bin with a py-spy.
std::string environment(const std::string& folder, const std::string& name) {
  std::string bin = folder + "/" + name + "/bin";
  REQUIRE(make_folders(bin));
  REQUIRE(write_file(bin + "/py-spy", "#!/bin/sh\n", 0755));
  return bin;
}

TEST_CASE("py-spy: in the job's own Python environment before PATH, without links") {
  const std::string folder = *make_private_folder("/tmp", "muster-spy-");
  const std::string own = environment(folder, "own");
  const std::string machine = environment(folder, "machine");
  std::filesystem::create_directory_symlink(folder + "/own", folder + "/link");
  REQUIRE(write_file(folder + "/py-spy", "not a program", 0644));
  job::Spec spec;
  const Env env{{"PATH", folder + ":relative::" + machine + ":/nowhere"}};
  CHECK(py_spy_paths(spec, env) == Args{machine + "/py-spy"});
  spec.python = folder + "/link/bin/python3";
  CHECK(py_spy_paths(spec, env) == Args{own + "/py-spy", machine + "/py-spy"});
  CHECK(py_spy_paths(spec, {}) == Args{own + "/py-spy"});
  CHECK(remove_tree(folder));
}

TEST_CASE("py-spy: not one that the job's hosts can replace") {
  const std::string folder = *make_private_folder("/tmp", "muster-spy-");
  const std::string own = environment(folder, "project/.venv");
  std::filesystem::create_directory_symlink(own, folder + "/bin");
  job::Spec spec;
  spec.python = own + "/python3";
  const Env env{{"PATH", folder + "/bin"}};
  spec.bound = {{.outside = folder + "/project", .inside = "/project", .writable = false}};
  CHECK(py_spy_paths(spec, env).size() == 2);
  spec.bound.front().writable = true;
  CHECK(py_spy_paths(spec, env).empty());
  spec.bound.clear();
  spec.checkpoint_folder = folder + "/project/.venv";
  CHECK(py_spy_paths(spec, env).empty());
  CHECK(remove_tree(folder));
}

}  // namespace
}  // namespace muster::steward
