#include "objects/checksum.h"

#include <openssl/evp.h>

#include <array>

#include "base/result.h"
#include "base/text.h"
#include "objects/crc.h"

namespace muster::objects {
namespace {

/// Most significant first.
std::string bytes_of(Checksum kind, std::uint64_t value) {
  const int size = kind == Checksum::crc64nvme ? 8 : 4;
  std::string bytes;
  for (int i = size - 1; i >= 0; --i) bytes += static_cast<char>(value >> (8 * i) & 255);
  return bytes;
}

std::uint64_t number_of(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char c : bytes) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

const EVP_MD* evp_of(Checksum kind) {
  switch (kind) {
    case Checksum::sha1:
      return EVP_sha1();
    case Checksum::sha256:
      return EVP_sha256();
    case Checksum::md5:
      return EVP_md5();
    default:
      return nullptr;
  }
}

}  // namespace

struct Digest::State {
  Checksum kind;
  bool is_crc = false;
  std::uint64_t crc = 0;
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> evp{nullptr, EVP_MD_CTX_free};
};

Digest::Digest(Checksum kind) : state_(std::make_unique<State>()) {
  state_->kind = kind;
  const EVP_MD* evp = evp_of(kind);
  if (evp == nullptr) {
    state_->is_crc = true;
    state_->crc = kind == Checksum::crc64nvme ? ~std::uint64_t{0} : 0xFFFFFFFF;
    return;
  }
  state_->evp.reset(EVP_MD_CTX_new());
  CHECK_THAT(state_->evp && EVP_DigestInit_ex(state_->evp.get(), evp, nullptr) == 1, "digest");
}

Digest::~Digest() = default;
Digest::Digest(Digest&&) noexcept = default;
Digest& Digest::operator=(Digest&&) noexcept = default;

void Digest::add(std::string_view bytes) {
  if (state_->is_crc) {
    state_->crc = crc_updated(state_->kind, state_->crc, bytes);
    return;
  }
  CHECK_THAT(EVP_DigestUpdate(state_->evp.get(), bytes.data(), bytes.size()) == 1, "digest");
}

std::string Digest::finish() {
  if (state_->is_crc) return bytes_of(state_->kind, ~state_->crc);
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned size = 0;
  CHECK_THAT(EVP_DigestFinal_ex(state_->evp.get(), bytes.data(), &size) == 1, "digest");
  return {reinterpret_cast<const char*>(bytes.data()), size};
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::string_view group = bytes.substr(i, 3);
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k)
      bits = bits << 8 | (k < group.size() ? static_cast<unsigned char>(group[k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k)
      text += k <= group.size() ? digits[bits >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  constexpr unsigned bad = 64;
  const auto value_of = [](char c) -> unsigned {
    if (c >= 'A' && c <= 'Z') return static_cast<unsigned>(c - 'A');
    if (c >= 'a' && c <= 'z') return static_cast<unsigned>(c - 'a' + 26);
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0' + 52);
    if (c == '+') return 62;
    return c == '/' ? 63 : bad;
  };
  if (text.size() % 4 != 0) return std::nullopt;
  std::string bytes;
  while (!text.empty()) {
    std::size_t digits = 4;
    if (text.size() == 4 && text[3] == '=') digits = text[2] == '=' ? 2 : 3;
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      const unsigned value = value_of(text[i]);
      if (value == bad) return std::nullopt;
      bits |= value << (18 - 6 * i);
    }
    const std::uint32_t unused = digits == 4 ? 0 : digits == 3 ? 0xFF : 0xFFFF;
    if ((bits & unused) != 0) return std::nullopt;
    for (std::size_t i = 0; i + 1 < digits; ++i)
      bytes += static_cast<char>(bits >> (16 - 8 * i) & 255);
    text.remove_prefix(4);
  }
  return bytes;
}

std::size_t digest_bytes(Checksum kind) {
  switch (kind) {
    case Checksum::crc32:
    case Checksum::crc32c:
      return 4;
    case Checksum::crc64nvme:
      return 8;
    case Checksum::md5:
      return 16;
    case Checksum::sha1:
      return 20;
    case Checksum::sha256:
      return 32;
  }
  return 0;
}

std::string combined(Checksum kind, std::string_view first, std::string_view second,
                     std::uint64_t second_bytes) {
  CHECK_THAT(evp_of(kind) == nullptr && first.size() == digest_bytes(kind) &&
                 second.size() == first.size(),
             "two CRCs");
  const std::uint64_t moved = crc_shifted(kind, number_of(first), second_bytes);
  return bytes_of(kind, moved ^ number_of(second));
}

std::string composite(Checksum kind, const std::vector<std::string>& parts) {
  Digest digest(kind);
  for (const std::string& part : parts) digest.add(part);
  return base64(digest.finish()) + "-" + std::to_string(parts.size());
}

std::string rendered(const Expected& expected, const std::string& digest) {
  return expected.kind == Checksum::md5 ? hex(digest) : base64(digest);
}

}  // namespace muster::objects
