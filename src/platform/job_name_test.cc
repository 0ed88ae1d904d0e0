#include "platform/job_name.h"

#include <doctest/doctest.h>

namespace muster::platform {
namespace {

constexpr UnixMillis noon{1769860800123};  // 2026-01-31 12:00:00.123 UTC

TEST_CASE("job name: made of the script's stem and the time, as the SDK does") {
  struct {
    const char* script;
    const char* want;
  } const cases[] = {
      {"train.py", "train-2026-01-31-12-00-00-1a2b"},
      {"dir/mpi_demo.py", "mpi-demo-2026-01-31-12-00-00-1a2b"},
      {"__main__.py", "main-2026-01-31-12-00-00-1a2b"},
      {"a.b.sh", "a-b-2026-01-31-12-00-00-1a2b"},
      {".py", "py-2026-01-31-12-00-00-1a2b"},
      {"é.py", "job-2026-01-31-12-00-00-1a2b"},
      {"a-very-long-script-name-of-somebody-who-likes-words.py",
       "a-very-long-script-name-of-2026-01-31-12-00-00-1a2b"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.script);
    const std::string name = default_job_name(c.script, noon, "1a2b");
    CHECK(name == c.want);
    CHECK(check_job_name(name));
  }
}

TEST_CASE("job name: names that SageMaker would refuse are refused") {
  const std::string long_name(64, 'a');
  for (const char* name : {"", "-a", "a-", "a_b", "a b", "a/b", "..", long_name.c_str()}) {
    CAPTURE(name);
    REQUIRE(!check_job_name(name));
    CHECK(check_job_name(name).error().code == Errc::invalid_input);
  }
  CHECK(check_job_name("a"));
  CHECK(check_job_name("A--9"));
}

}  // namespace
}  // namespace muster::platform
