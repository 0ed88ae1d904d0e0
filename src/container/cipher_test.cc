#include "container/cipher.h"

#include <doctest/doctest.h>

#include "base/text.h"

namespace muster::container {
namespace {

const std::string job_key(32, '\7');

job::HostSpec host(const std::string& name) {
  job::HostSpec spec;
  spec.spec.instance_count = 2;
  spec.spec.encrypted = true;
  spec.host = name;
  spec.hosts = {{"algo-1", "10.177.3.1"}, {"algo-2", "10.177.3.2"}};
  return spec;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// What stands behind `name` in its line.
std::string value_in(const std::string& text, const std::string& name) {
  const std::size_t at = text.find(name);
  if (at == std::string::npos) return {};
  return text.substr(at + name.size(), text.find('\n', at) - at - name.size());
}

TEST_CASE("cipher: keys are derived as RFC 5869 says") {
  // Test case 3 of its appendix A: SHA-256 without salt and label.
  CHECK(hex(derived(std::string(22, '\x0b'), "", 42)) ==
        "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8");
}

TEST_CASE("cipher: names are read back, nobody else's are") {
  for (const Cipher cipher : {Cipher::wireguard, Cipher::esp, Cipher::wireguard_go})
    CHECK(cipher_from(cipher_name(cipher)) == cipher);
  CHECK(!cipher_from("rot13"));
}

TEST_CASE("cipher: each host has a key of its own, and each pair one that both know") {
  const std::string first = wireguard_request(host("algo-1"), job_key);
  const std::string second = wireguard_request(host("algo-2"), job_key);
  const std::string other_job = wireguard_request(host("algo-1"), std::string(32, '\1'));
  CHECK(value_in(first, "private_key=").size() == 64);
  CHECK(value_in(first, "private_key=") != value_in(second, "private_key="));
  CHECK(value_in(first, "private_key=") != value_in(other_job, "private_key="));
  CHECK(value_in(first, "public_key=") != value_in(second, "public_key="));
  CHECK(value_in(first, "preshared_key=") == value_in(second, "preshared_key="));
  CHECK(!has(first, hex(job_key)));
  CHECK(has(first, "\nlisten_port=500\nfwmark=500\nreplace_peers=true\npublic_key="));
  CHECK(has(first, "\nendpoint=10.177.3.2:500\nallowed_ip=10.177.3.2/32\n"));
  CHECK(first.ends_with("persistent_keepalive_interval=25\n\n"));
}

TEST_CASE("cipher: the kernel's WireGuard is told the same by wg") {
  const std::string text = wireguard_config(host("algo-2"), job_key);
  CHECK(text.starts_with("[Interface]\nPrivateKey = "));
  CHECK(value_in(text, "PrivateKey = ").size() == 44);
  CHECK(has(text, "\nListenPort = 500\nFwMark = 500\n[Peer]\nPublicKey = "));
  CHECK(has(text, "\nEndpoint = 10.177.3.1:500\nAllowedIPs = 10.177.3.1/32\n"));
}

TEST_CASE("cipher: tunnel and cable have the host's one address") {
  CHECK(cable_links(host("algo-2")) ==
        "address add 10.177.3.2/32 dev plain0\n"
        "link set plain0 mtu 65535 up\n"
        "route add 10.177.3.254 dev plain0\n"
        "route add default via 10.177.3.254 dev plain0 table 500\n"
        "rule add fwmark 500 table 500\n");
  CHECK(tunnel_links(host("algo-2"), true) ==
        "address add 10.177.3.2/24 dev eth0\n"
        "link set eth0 mtu 60000 up\n"
        "route add default via 10.177.3.254 dev plain0 src 10.177.3.2 mtu 1500\n");
  job::HostSpec placed = host("algo-1");
  placed.spec.vpc =
      job::VpcPlace{.cidr = "10.0.0.0/16", .subnets = {"10.0.1.0/24"}, .in = {}, .out = {}};
  placed.hosts = {{"algo-1", "10.0.1.4"}, {"algo-2", "10.0.1.5"}};
  CHECK(
      tunnel_links(placed, false)
          .ends_with("link set eth0 mtu 60000 up\nroute add 10.0.0.0/16 dev eth0 src 10.0.1.4\n"));
}

TEST_CASE("cipher: ESP has a key for each direction, and both ends the same") {
  const std::string first = esp_states(host("algo-1"), job_key);
  const std::string second = esp_states(host("algo-2"), job_key);
  const std::string there = "xfrm state add src 10.177.3.1 dst 10.177.3.2 proto esp spi 5098 ";
  const std::string back = "xfrm state add src 10.177.3.2 dst 10.177.3.1 proto esp spi 6097 ";
  CHECK(value_in(first, there) == value_in(second, there));
  CHECK(value_in(first, back) == value_in(second, back));
  CHECK(value_in(first, there) != value_in(first, back));
  CHECK(value_in(first, there)
            .starts_with(
                "reqid 1 mode transport replay-window 32 flag esn aead rfc4106(gcm(aes)) 0x"));
  CHECK(has(first,
            "\nxfrm policy add src 10.177.3.1 dst 10.177.3.2 dir out tmpl src 10.177.3.1 "
            "dst 10.177.3.2 proto esp reqid 1 mode transport\n"));
  CHECK(has(first, "\nxfrm policy add src 10.177.3.2 dst 10.177.3.1 dir in tmpl "));
}

TEST_CASE("cipher: a probe adds what only a kernel with the cipher takes, and removes it") {
  CHECK(probe(Cipher::wireguard) == "link add probe0 type wireguard\nlink del probe0\n");
  const std::string esp = probe(Cipher::esp);
  CHECK(esp.starts_with("xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 4096 "));
  CHECK(esp.ends_with("\nxfrm state delete src 192.0.2.1 dst 192.0.2.2 proto esp spi 4096\n"));
  CHECK(!has(esp, "policy"));
}

}  // namespace
}  // namespace muster::container
