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

TEST_CASE("host spec: a written one is read back") {
  HostSpec host = whole_host_spec();
  host.journal_from = 4711;
  const Result<HostSpec> host_read = host_spec_from(*parse_json(to_text(to_json(host))));
  REQUIRE(host_read);
  CHECK(*host_read == host);
  CHECK(own_address(*host_read) == "10.177.0.2");
  host.journal_from = -1;
  CHECK(check(host).error().text == "journal_from: expected 0 or more");
}

HostSpec in_a_vpc() {
  HostSpec spec = whole_host_spec();
  spec.spec.vpc = VpcPlace{.cidr = "10.0.0.0/16",
                           .subnets = {"10.0.1.0/24"},
                           .in = {{"tcp", 9730, 9730, ""}},
                           .out = {{"-1", -1, -1, "0.0.0.0/0"}}};
  spec.hosts = {{"algo-1", "10.0.1.4"}, {"algo-2", "10.0.1.5"}, {"algo-3", "10.0.1.6"}};
  spec.machine_subnet = "10.177.3.0/24";
  return spec;
}

TEST_CASE("host spec: in a VPC the machine reaches a host by its number in a separate network") {
  CHECK(machine_address(whole_host_spec()) == "10.177.0.2");
  const Result<HostSpec> host = host_spec_from(*parse_json(to_text(to_json(in_a_vpc()))));
  REQUIRE(host);
  CHECK(*host == in_a_vpc());
  CHECK(own_address(*host) == "10.0.1.5");
  CHECK(machine_address(*host) == "10.177.3.2");
}

TEST_CASE("host spec: a VPC and a network of the machine's go together, and hosts have room") {
  HostSpec without = in_a_vpc();
  without.machine_subnet.clear();
  CHECK(check(without).error().text.find(
            "machine_subnet: expected a subnet if the host is in a VPC") == 0);
  HostSpec wide = in_a_vpc();
  wide.machine_subnet = "10.0.0.0/8";
  CHECK(check(wide).error().text == "machine_subnet: expected a /24");
  HostSpec alone = whole_host_spec();
  alone.machine_subnet = "10.177.3.0/24";
  CHECK(!check(alone));
  HostSpec small = in_a_vpc();
  small.spec.vpc->subnets = {"10.0.1.0/29"};
  CHECK(check(small).has_value());
  small.spec.instance_count = 4;
  CHECK(check(small).error().text.find("Muster.Vpc.Subnets: the subnets have addresses for 3") ==
        0);
}

HostSpec a_light_one() {
  HostSpec spec = whole_host_spec();
  spec.light = true;
  spec.bridge.clear();
  spec.spec.network = Network::nat;
  spec.rollcall_port = 20001;
  spec.interface = "ib0";
  return spec;
}

TEST_CASE("host spec: a light host needs no network of the machine's for it") {
  const Result<HostSpec> read = host_spec_from(*parse_json(to_text(to_json(a_light_one()))));
  REQUIRE(read);
  CHECK(*read == a_light_one());
  HostSpec contained = a_light_one();
  contained.light = false;
  CHECK(check(contained).error().text.find("bridge: expected") == 0);
}

TEST_CASE("host spec: a container in a scheduler's step has its machine's network, too") {
  HostSpec spec = a_light_one();
  spec.light = false;
  spec.in_step = true;
  spec.first_id = first_id_min;
  const Result<HostSpec> read = host_spec_from(*parse_json(to_text(to_json(spec))));
  REQUIRE(read);
  CHECK(*read == spec);
  CHECK(shares_network(spec));
  spec.spec.encrypted = true;
  CHECK(check(spec).error().text.find("EnableInterContainerTrafficEncryption: a host in a ") == 0);
  spec.spec.encrypted = false;
  spec.first_id = 1;
  CHECK(check(spec).error().text.find("first_id: expected") == 0);
  spec.light = true;
  CHECK(check(spec).error().text.find("in_step: expected") == 0);
}

TEST_CASE("host spec: features that a light host lacks are refused by name") {
  struct {
    const char* text;
    std::function<void(HostSpec&)> change;
  } const cases[] = {
      {"Muster.Image: a light host cannot run an image",
       [](HostSpec& spec) {
         spec.spec.image = Image{.name = "a", .digest = "sha256:" + std::string(64, 'a')};
         spec.spec.image->layers = {"/layers/a"};
       }},
      {"VpcConfig: a light host uses its machine's network",
       [](HostSpec& spec) {
         spec.spec.vpc = in_a_vpc().spec.vpc;
         spec.hosts = in_a_vpc().hosts;
       }},
      {"EnableInterContainerTrafficEncryption: a light host",
       [](HostSpec& spec) { spec.spec.encrypted = true; }},
      {"EnableNetworkIsolation: a light host",
       [](HostSpec& spec) { spec.spec.network = Network::none; }},
      {"Muster.Bound: a light host uses its machine's folders",
       [](HostSpec& spec) { spec.spec.bound = {{.outside = "/a", .inside = "/b"}}; }},
      {"devices: a light host uses all devices",
       [](HostSpec& spec) {
         spec.devices.nodes = {{.outside = "/dev/x", .inside = "/dev/x", .major = 1, .minor = 2}};
       }},
      {"rollcall_port: expected 1 to 65535", [](HostSpec& spec) { spec.rollcall_port = 0; }},
      {"interface: expected", [](HostSpec& spec) { spec.interface = "a/b"; }},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    HostSpec spec = a_light_one();
    c.change(spec);
    const Result<void> checked = check(spec);
    REQUIRE(!checked);
    CHECK(checked.error().text.find(c.text) == 0);
  }
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
  CHECK(host_spec_from(Json::object()).error().text == "spec: expected a value");
}

}  // namespace
}  // namespace muster::job
