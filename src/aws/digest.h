#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

namespace muster::aws {

/// SHA-256 and HMAC for signatures, without a look-up of the algorithm at each call.
///
/// Pure: bytes in, digest out. Any number of threads.
using Sha256Bytes = std::array<unsigned char, 32>;

/// A view of the bytes as text.
inline std::string_view view_of(const Sha256Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Sha256Bytes sha256(std::string_view bytes);
Sha256Bytes hmac_sha256(std::string_view key, std::string_view bytes);

/// Compares in a time that depends on the sizes only.
bool same_bytes(std::string_view a, std::string_view b);

/// SHA-256 of data in pieces; finish() resets it.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  void add(std::string_view bytes);
  Sha256Bytes finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace muster::aws
