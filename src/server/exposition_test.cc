#include "server/exposition.h"

#include <doctest/doctest.h>

namespace muster::server {
namespace {

TEST_CASE("exposition: families, labels, numbers") {
  Exposition to;
  to.family("muster_jobs", "gauge", "Jobs.");
  to.sample({{"status", "a\"b\\c\nd"}, {"host", "x"}}, 12);
  to.sample({}, 0.25, "_sum");
  CHECK(to.text() ==
        "# HELP muster_jobs Jobs.\n"
        "# TYPE muster_jobs gauge\n"
        "muster_jobs{status=\"a\\\"b\\\\c\\nd\",host=\"x\"} 12\n"
        "muster_jobs_sum 0.25\n");
}

}  // namespace
}  // namespace muster::server
