#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "job/host_spec.h"

namespace muster::container {

// How what a job's hosts send each other is encrypted, and what the kernel and its programs are
// told for it. Pure. docs/decisions/0044-encryption-between-hosts.md says why so.

enum class Cipher {
  wireguard,     ///< The kernel's.
  esp,           ///< IPsec's, of the kernel: AES-GCM between addresses, without a tunnel.
  wireguard_go,  ///< WireGuard's program over TUN, one process for each host.
};
/// "wireguard", "esp", "wireguard-go", and back.
const char* cipher_name(Cipher cipher);
std::optional<Cipher> cipher_from(std::string_view name);
/// For people, as "WireGuard of the kernel".
std::string cipher_words(Cipher cipher);

/// True if hosts shall have a cipher between them: one host has nobody to send to.
bool is_encrypted(const job::HostSpec& spec);

/// WireGuard: UDP, from this port and to it. SageMaker's security groups have it open for IKE.
inline constexpr int tunnel_port = 500;
/// The cable beside a tunnel, which has the name that jobs look for.
inline constexpr const char* cable_beside_tunnel = "plain0";
/// Cables take packets of any length, so a tunnel needs few of them.
inline constexpr int cable_mtu = 65535;
inline constexpr int tunnel_mtu = 60000;

/// The name of a cable's end in the host.
const char* host_cable(std::optional<Cipher> cipher);
/// nft's words for what the cipher sends.
std::string packets_of(Cipher cipher);

/// `length` bytes, at most 64, by HKDF-SHA256 without a salt (RFC 5869).
std::string derived(const std::string& key, const std::string& label, std::size_t length);

/// For `ip -batch -`: fails where the kernel has no such cipher, else leaves nothing. A policy is
/// no probe: kernels take one for a transformation that they have not. Not for wireguard_go.
std::string probe(Cipher cipher);

/// For `wg setconf` and for the socket of wireguard-go: key and peers of `spec.host`, whose job has
/// the key `job_key`.
std::string wireguard_config(const job::HostSpec& spec, const std::string& job_key);
std::string wireguard_request(const job::HostSpec& spec, const std::string& job_key);
/// For `ip -batch -` in the host's network: cable and tunnel, which both have the host's one
/// address. Only the tunnel's own packets, by their mark, go to other hosts by the cable: it comes
/// first, or WireGuard's first handshake fails and the next is 5 s later. `outside`: what leaves
/// the job goes by the cable, too.
std::string cable_links(const job::HostSpec& spec);
std::string tunnel_links(const job::HostSpec& spec, bool outside);
/// For `ip -batch -` in the host's network: states and policies towards each other host.
std::string esp_states(const job::HostSpec& spec, const std::string& job_key);

}  // namespace muster::container
