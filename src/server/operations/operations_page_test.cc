#include "server/operations/operations_page.h"

#include <doctest/doctest.h>

#include "base/fd.h"
#include "base/result.h"

namespace muster::server {
namespace {

TEST_CASE("operations page: the one in docs/users is what the tables say") {
  const Result<std::string> page = read_file(MUSTER_SOURCE_DIR "/docs/users/operations.md");
  REQUIRE(page);
  CHECK_MESSAGE(*page == operations_page(),
                "write it anew: sm server --operations > docs/users/operations.md");
}

}  // namespace
}  // namespace muster::server
