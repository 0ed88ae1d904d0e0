#include "aws/s3wire/checksum.h"

#include <openssl/evp.h>

#include <array>

#include "base/base64.h"
#include "base/crc.h"
#include "base/result.h"
#include "base/text.h"

namespace muster::s3wire {
namespace {

/// Most significant first.
std::string bytes_of(Checksum kind, std::uint64_t value) {
  const int size = kind == Checksum::crc64nvme ? 8 : 4;
  std::string bytes;
  for (int i = size - 1; i >= 0; --i) bytes += static_cast<char>(value >> (8 * i) & 255);
  return bytes;
}

/// The CRC that a checksum is; none of a digest.
std::optional<Crc> crc_of(Checksum kind) {
  switch (kind) {
    case Checksum::crc32:
      return Crc::crc32;
    case Checksum::crc32c:
      return Crc::crc32c;
    case Checksum::crc64nvme:
      return Crc::crc64nvme;
    default:
      return std::nullopt;
  }
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
  std::optional<Crc> crc_kind;
  std::uint64_t crc = 0;
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> evp{nullptr, EVP_MD_CTX_free};
};

Digest::Digest(Checksum kind) : state_(std::make_unique<State>()) {
  state_->kind = kind;
  state_->crc_kind = crc_of(kind);
  if (state_->crc_kind) {
    state_->crc = kind == Checksum::crc64nvme ? ~std::uint64_t{0} : 0xFFFFFFFF;
    return;
  }
  state_->evp.reset(EVP_MD_CTX_new());
  CHECK_THAT(state_->evp && EVP_DigestInit_ex(state_->evp.get(), evp_of(kind), nullptr) == 1,
             "digest");
}

Digest::~Digest() = default;
Digest::Digest(Digest&&) noexcept = default;
Digest& Digest::operator=(Digest&&) noexcept = default;

void Digest::add(std::string_view bytes) {
  if (state_->crc_kind) {
    state_->crc = crc_updated(*state_->crc_kind, state_->crc, bytes);
    return;
  }
  CHECK_THAT(EVP_DigestUpdate(state_->evp.get(), bytes.data(), bytes.size()) == 1, "digest");
}

std::string Digest::finish() {
  if (state_->crc_kind) return bytes_of(state_->kind, ~state_->crc);
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned size = 0;
  CHECK_THAT(EVP_DigestFinal_ex(state_->evp.get(), bytes.data(), &size) == 1, "digest");
  return {reinterpret_cast<const char*>(bytes.data()), size};
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
  const std::optional<Crc> crc = crc_of(kind);
  CHECK_THAT(crc && first.size() == digest_bytes(kind) && second.size() == first.size(),
             "two CRCs");
  const std::uint64_t moved = crc_shifted(*crc, number_of(first), second_bytes);
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

}  // namespace muster::s3wire
