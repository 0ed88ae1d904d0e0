#include "container/cipher.h"

#include <openssl/evp.h>
#include <openssl/kdf.h>

#include <memory>

#include "base/base64.h"
#include "base/text.h"
#include "container/segment.h"

namespace muster::container {
namespace {

constexpr std::size_t wireguard_key_bytes = 32;
constexpr std::size_t esp_key_bytes = 36;  // RFC 4106: AES-256's and 4 bytes of salt.
constexpr int first_spi = 4096;            // Below 256 they are reserved.
constexpr int spis_per_host = 1000;
/// What leaves the job goes by the machine's links.
constexpr const char* outside_mtu = "1500";
constexpr const char* esp_algorithm = "aead rfc4106(gcm(aes)) 0x";

using Pkey = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using PkeyContext = std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)>;

const unsigned char* bytes_of(const std::string& text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string private_key(const std::string& job_key, const std::string& host) {
  std::string key =
      derived(job_key, "muster wireguard 1 private key of " + host, wireguard_key_bytes);
  key.front() = static_cast<char>(key.front() & 248);  // As X25519 has its keys (RFC 7748).
  key.back() = static_cast<char>((key.back() & 127) | 64);
  return key;
}

std::string public_key(const std::string& own) {
  const Pkey key(EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr, bytes_of(own), own.size()),
                 EVP_PKEY_free);
  std::string text(wireguard_key_bytes, '\0');
  std::size_t length = text.size();
  const int done = EVP_PKEY_get_raw_public_key(
      key.get(), reinterpret_cast<unsigned char*>(text.data()), &length);
  CHECK_THAT(done == 1 && length == text.size(), "X25519 is always there");
  return text;
}

/// The key that two hosts share besides, the same for both.
std::string pair_key(const std::string& job_key, const std::string& one, const std::string& other) {
  return derived(
      job_key,
      "muster wireguard 1 shared key of " + std::min(one, other) + " and " + std::max(one, other),
      wireguard_key_bytes);
}

std::string esp_key(const std::string& job_key, const std::string& from, const std::string& to) {
  return hex(derived(job_key, "muster esp 1 key from " + from + " to " + to, esp_key_bytes));
}

std::vector<job::HostAddress> others(const job::HostSpec& spec) {
  std::vector<job::HostAddress> all;
  for (const job::HostAddress& host : spec.hosts)
    if (host.name != spec.host) all.push_back(host);
  return all;
}

/// Another host, as WireGuard has to know it; keys as bytes.
struct Peer {
  std::string public_key;
  std::string shared_key;
  std::string address;
};

std::vector<Peer> peers_of(const job::HostSpec& spec, const std::string& job_key) {
  std::vector<Peer> peers;
  for (const job::HostAddress& other : others(spec))
    peers.push_back({public_key(private_key(job_key, other.name)),
                     pair_key(job_key, spec.host, other.name), other.address});
  return peers;
}

int number_of(const std::string& host) {
  return static_cast<int>(parse_integer(host.substr(host.rfind('-') + 1)).value_or(0));
}

std::string spi(const std::string& from, const std::string& to) {
  return std::to_string(first_spi + number_of(from) * spis_per_host + number_of(to));
}

std::string esp_state(const job::HostAddress& from, const job::HostAddress& to,
                      const std::string& job_key) {
  return "xfrm state add src " + from.address + " dst " + to.address + " proto esp spi " +
         spi(from.name, to.name) + " reqid 1 mode transport replay-window 32 flag esn " +
         esp_algorithm + esp_key(job_key, from.name, to.name) + " 128\n";
}

std::string esp_policy(const job::HostAddress& from, const job::HostAddress& to,
                       const std::string& direction) {
  const std::string ends = "src " + from.address + " dst " + to.address;
  return "xfrm policy add " + ends + " dir " + direction + " tmpl " + ends +
         " proto esp reqid 1 mode transport\n";
}

}  // namespace

const char* cipher_name(Cipher cipher) {
  if (cipher == Cipher::wireguard) return "wireguard";
  return cipher == Cipher::esp ? "esp" : "wireguard-go";
}

std::optional<Cipher> cipher_from(std::string_view name) {
  for (const Cipher cipher : {Cipher::wireguard, Cipher::esp, Cipher::wireguard_go})
    if (name == cipher_name(cipher)) return cipher;
  return std::nullopt;
}

std::string cipher_words(Cipher cipher) {
  if (cipher == Cipher::wireguard) return "WireGuard of the kernel";
  return cipher == Cipher::esp ? "ESP of the kernel (AES-GCM)" : "WireGuard (wireguard-go)";
}

bool is_encrypted(const job::HostSpec& spec) {
  return spec.spec.encrypted && spec.hosts.size() > 1;
}

const char* host_cable(std::optional<Cipher> cipher) {
  return cipher && *cipher != Cipher::esp ? cable_beside_tunnel : "eth0";
}

std::string packets_of(Cipher cipher) {
  if (cipher == Cipher::esp) return "meta l4proto 50";
  const std::string port = std::to_string(tunnel_port);
  return "udp sport " + port + " udp dport " + port;
}

std::string derived(const std::string& key, const std::string& label, std::size_t length) {
  const PkeyContext context(EVP_PKEY_CTX_new_id(EVP_PKEY_HKDF, nullptr), EVP_PKEY_CTX_free);
  std::string made(length, '\0');
  std::size_t count = length;
  const bool done =
      context && EVP_PKEY_derive_init(context.get()) == 1 &&
      EVP_PKEY_CTX_set_hkdf_md(context.get(), EVP_sha256()) == 1 &&
      EVP_PKEY_CTX_set1_hkdf_key(context.get(), bytes_of(key), static_cast<int>(key.size())) == 1 &&
      EVP_PKEY_CTX_add1_hkdf_info(context.get(), bytes_of(label), static_cast<int>(label.size())) ==
          1 &&
      EVP_PKEY_derive(context.get(), reinterpret_cast<unsigned char*>(made.data()), &count) == 1;
  CHECK_THAT(done && count == length, "HKDF-SHA256 is always there");
  return made;
}

std::string probe(Cipher cipher) {
  if (cipher == Cipher::wireguard) return "link add probe0 type wireguard\nlink del probe0\n";
  const std::string state = "src 192.0.2.1 dst 192.0.2.2 proto esp spi 4096";
  return "xfrm state add " + state + " mode transport " + esp_algorithm +
         hex(std::string(esp_key_bytes, '\1')) + " 128\nxfrm state delete " + state + "\n";
}

std::string wireguard_config(const job::HostSpec& spec, const std::string& job_key) {
  const std::string port = std::to_string(tunnel_port);
  std::string text = "[Interface]\nPrivateKey = " + base64(private_key(job_key, spec.host)) +
                     "\nListenPort = " + port + "\nFwMark = " + port + "\n";
  for (const Peer& peer : peers_of(spec, job_key))
    text += "[Peer]\nPublicKey = " + base64(peer.public_key) +
            "\nPresharedKey = " + base64(peer.shared_key) + "\nEndpoint = " + peer.address + ":" +
            port + "\nAllowedIPs = " + peer.address + "/32\nPersistentKeepalive = 25\n";
  return text;
}

std::string wireguard_request(const job::HostSpec& spec, const std::string& job_key) {
  const std::string port = std::to_string(tunnel_port);
  std::string text = "set=1\nprivate_key=" + hex(private_key(job_key, spec.host)) +
                     "\nlisten_port=" + port + "\nfwmark=" + port + "\nreplace_peers=true\n";
  for (const Peer& peer : peers_of(spec, job_key))
    text += "public_key=" + hex(peer.public_key) + "\npreshared_key=" + hex(peer.shared_key) +
            "\nendpoint=" + peer.address + ":" + port + "\nallowed_ip=" + peer.address +
            "/32\npersistent_keepalive_interval=25\n";
  return text + "\n";
}

std::string cable_links(const job::HostSpec& spec) {
  const job::PlacedAddress place = place_of(spec);
  const std::string cable = cable_beside_tunnel;
  const std::string mark = std::to_string(tunnel_port);
  return "address add " + place.address + "/32 dev " + cable + "\nlink set " + cable + " mtu " +
         std::to_string(cable_mtu) + " up\nroute add " + place.router + " dev " + cable +
         "\nroute add default via " + place.router + " dev " + cable + " table " + mark +
         "\nrule add fwmark " + mark + " table " + mark + "\n";
}

std::string tunnel_links(const job::HostSpec& spec, bool outside) {
  const job::PlacedAddress place = place_of(spec);
  std::string text = "address add " + place.address + "/" +
                     std::to_string(place.subnet.prefix_length) + " dev eth0\nlink set eth0 mtu " +
                     std::to_string(tunnel_mtu) + " up\n";
  if (spec.spec.vpc && spec.spec.vpc->cidr != cidr(place.subnet))
    text += "route add " + spec.spec.vpc->cidr + " dev eth0 src " + place.address + "\n";
  if (outside)
    text += "route add default via " + place.router + " dev " + cable_beside_tunnel + " src " +
            place.address + " mtu " + outside_mtu + "\n";
  return text;
}

std::string esp_states(const job::HostSpec& spec, const std::string& job_key) {
  const job::HostAddress own{spec.host, job::own_address(spec)};
  std::string text;
  for (const job::HostAddress& other : others(spec))
    text += esp_state(own, other, job_key) + esp_state(other, own, job_key) +
            esp_policy(own, other, "out") + esp_policy(other, own, "in");
  return text;
}

}  // namespace muster::container
