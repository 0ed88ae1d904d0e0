#include "host/code/install.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include "host/code/code_folder.h"
#include "os/packing/testing.h"

using namespace muster;
using namespace muster::code;

TEST_CASE("install: the folder and the entry point's name decide what pip installs") {
  const Args requirements = {"py", "-m", "pip", "install", "-r", "requirements.txt"};
  const Args module = {"py", "-m", "pip", "install", "."};
  const Args both = {"py", "-m", "pip", "install", ".", "-r", "requirements.txt"};
  struct {
    std::string name;
    CodeFolder folder;
    std::string entry_point;
    Args want;
    std::string error_class;
  } const cases[] = {
      {"a script alone", {}, "train.py", {}, ""},
      {"a script and requirements",
       {.has_requirements = true},
       "train.py",
       requirements,
       "InstallRequirementsError"},
      {"a shell script never installs",
       {.has_setup_py = true, .has_requirements = true},
       "train.sh",
       {},
       ""},
      {"a program never installs",
       {.has_requirements = true, .has_entry_point = true},
       "train",
       {},
       ""},
      {"setup.py", {.has_setup_py = true}, "train.py", module, "InstallModuleError"},
      {"setup.py of a module", {.has_setup_py = true}, "train", module, "InstallModuleError"},
      {"setup.py and requirements",
       {.has_setup_py = true, .has_requirements = true},
       "train.py",
       both,
       "InstallModuleError"},
      {"pyproject.toml beside a script is for its tools",
       {.has_pyproject = true},
       "train.py",
       {},
       ""},
      {"pyproject.toml beside a program",
       {.has_pyproject = true, .has_entry_point = true},
       "train",
       {},
       ""},
      {"pyproject.toml of a module",
       {.has_pyproject = true, .has_requirements = true},
       "pkg.train",
       both,
       "InstallModuleError"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const Env env = {{"PATH", "/bin"}, {"PIP_EXTRA_INDEX_URL", "http://x"}};
    const std::optional<Install> got =
        plan_install(c.folder, c.entry_point, "py", "/code", env, "");
    REQUIRE(got.has_value() == !c.want.empty());
    if (!got) continue;
    CHECK(got->command == Command{.argv = c.want, .env = env, .cwd = "/code"});
    CHECK(got->error_class == c.error_class);
  }
}

TEST_CASE("install: an index with a token is passed to pip in its environment") {
  const CodeFolder folder{.has_requirements = true};
  const std::string index = "https://aws:token@host/simple/";
  const std::optional<Install> got =
      plan_install(folder, "a.py", "py", "/code", {{"PIP_INDEX_URL", "old"}}, index);
  REQUIRE(got);
  CHECK(got->command.env == Env{{"PIP_INDEX_URL", index}});
  for (const std::string& word : got->command.argv) CHECK(word.find("token") == std::string::npos);
  // As the reference: without requirements the module's own needs come from pip's own index.
  const std::optional<Install> module =
      plan_install({.has_setup_py = true}, "a.py", "py", "/code", {}, index);
  REQUIRE(module);
  CHECK(module->command.env.empty());
}

TEST_CASE("folder: files in the code folder are found, and a missing folder is an error") {
  const packing::Scratch scratch;
  packing::put_file(scratch.path + "/setup.py", "");
  packing::put_file(scratch.path + "/train", "");
  const Result<CodeFolder> seen = look_at(scratch.path, "train");
  REQUIRE(seen);
  CHECK(seen->has_setup_py);
  CHECK(seen->has_entry_point);
  CHECK(!seen->has_pyproject);
  CHECK(!seen->has_requirements);
  CHECK(look_at(scratch.path + "/no", "train").error().code == Errc::not_found);
}

TEST_CASE("folder: users who may read the entry point may execute it, and no others") {
  const packing::Scratch scratch;
  const std::string code = scratch.path + "/code";
  packing::put_file(code + "/train.sh", "x");
  packing::put_file(scratch.path + "/outside", "x");
  std::filesystem::permissions(code + "/train.sh", std::filesystem::perms(0640));
  std::filesystem::permissions(scratch.path + "/outside", std::filesystem::perms(0640));
  std::filesystem::create_symlink("../outside", code + "/link");
  CHECK(make_executable(code, "train.sh"));
  CHECK(packing::snapshot(code)["train.sh"] == "file 750 x");
  CHECK(make_executable(code, "no/such"));
  const Result<void> out = make_executable(code, "link");
  REQUIRE(!out);
  CHECK(out.error().code == Errc::invalid_input);
  CHECK(packing::snapshot(scratch.path)["outside"] == "file 640 x");
}
