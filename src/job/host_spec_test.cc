#include "job/host_spec.h"

#include <doctest/doctest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "base/json.h"

namespace muster::job {
namespace {

HostSpec whole_host_spec() {
  HostSpec spec;
  spec.spec.name = "mpi-demo-1";
  spec.spec.instance_count = 3;
  spec.spec.environment = {{"A", "b c"}};
  spec.host = "algo-2";
  spec.hosts = {{"algo-1", "10.177.0.1"}, {"algo-2", "10.177.0.2"}, {"algo-3", "10.177.0.3"}};
  spec.bridge = "mu0123abcd";
  spec.state_folder = "/var/lib/muster";
  spec.job_folder = "/var/lib/muster/jobs/mpi-demo-1";
  spec.host_folder = "/var/lib/muster/jobs/mpi-demo-1/algo-2";
  spec.key_file = "/var/lib/muster/jobs/mpi-demo-1/key";
  return spec;
}

TEST_CASE("host spec: what is written is read back") {
  const HostSpec host = whole_host_spec();
  const Result<HostSpec> host_read = host_spec_from(*parse_json(to_text(to_json(host))));
  REQUIRE(host_read);
  CHECK(*host_read == host);
  CHECK(own_address(*host_read) == "10.177.0.2");
}

TEST_CASE("host spec: a host's part is checked too") {
  struct {
    const char* text;
    std::function<void(HostSpec&)> change;
  } const cases[] = {
      {"host: expected one of", [](HostSpec& spec) { spec.host = "algo-4"; }},
      {"hosts[algo-1].address", [](HostSpec& spec) { spec.hosts[0].address = "::1"; }},
      {"bridge: expected", [](HostSpec& spec) { spec.bridge = "mu0123abcd012345"; }},
      {"prefix_length: expected", [](HostSpec& spec) { spec.prefix_length = 33; }},
      {"key_file: expected", [](HostSpec& spec) { spec.key_file = "key"; }},
      {"host_folder: expected",
       [](HostSpec& spec) { spec.host_folder = "/" + std::string(3001, 'x'); }},
      {"Environment[A]: expected UTF-8",
       [](HostSpec& spec) { spec.spec.environment["A"] = "\xff"; }},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    HostSpec spec = whole_host_spec();
    c.change(spec);
    const Result<void> checked = check(spec);
    REQUIRE(!checked);
    CHECK(checked.error().text.find(c.text) == 0);
  }
  Json json = to_json(whole_host_spec());
  json["more"] = 1;
  CHECK(host_spec_from(json).error().text == "more: expected no such field");
  CHECK(host_spec_from(Json::object()).error().text == "spec: expected it to be there");
}

}  // namespace
}  // namespace muster::job
