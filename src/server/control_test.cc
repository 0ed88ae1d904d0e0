#include "server/control.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/json.h"
#include "base/process/private_folders.h"

namespace muster::server {
namespace {

TEST_CASE("control: a folder without a running server has no control socket to write to") {
  const std::string folder = *make_private_folder("/tmp", "muster-control-");
  CHECK(tell_server(folder, Json::object())->is_null());
  CHECK(tell_server(folder + "/none", Json::object())->is_null());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace muster::server
