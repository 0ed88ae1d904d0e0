#include "objects/checksum.h"

#include <openssl/evp.h>

#include <array>
#include <bit>
#include <cstring>

#include "base/result.h"
#include "base/text.h"

namespace muster::objects {
namespace {

static_assert(std::endian::native == std::endian::little);

/// Eight tables: the checksum takes eight bytes in a step.
using CrcTables = std::array<std::array<std::uint64_t, 256>, 8>;

/// `polynomial`: its bits reversed.
CrcTables make_tables(std::uint64_t polynomial) {
  CrcTables tables{};
  for (std::size_t byte = 0; byte < 256; ++byte) {
    std::uint64_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ ((value & 1) != 0 ? polynomial : 0);
    tables[0][byte] = value;
  }
  for (std::size_t table = 1; table < 8; ++table)
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint64_t before = tables[table - 1][byte];
      tables[table][byte] = before >> 8 ^ tables[0][before & 255];
    }
  return tables;
}

const CrcTables& tables_of(Checksum kind) {
  static const CrcTables crc32 = make_tables(0xEDB88320);
  static const CrcTables crc32c = make_tables(0x82F63B78);
  static const CrcTables crc64nvme = make_tables(0x9A6C9329AC4BC9B5);
  if (kind == Checksum::crc32) return crc32;
  return kind == Checksum::crc32c ? crc32c : crc64nvme;
}

std::uint64_t crc_step(const CrcTables& tables, std::uint64_t crc, std::string_view bytes) {
  while (bytes.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), 8);
    word ^= crc;
    crc = 0;
    for (std::size_t i = 0; i < 8; ++i) crc ^= tables[7 - i][word >> (8 * i) & 255];
    bytes.remove_prefix(8);
  }
  for (const char c : bytes)
    crc = crc >> 8 ^ tables[0][(crc ^ static_cast<unsigned char>(c)) & 255];
  return crc;
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
  const CrcTables* tables = nullptr;
  std::uint64_t crc = 0;
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> evp{nullptr, EVP_MD_CTX_free};
};

Digest::Digest(Checksum kind) : state_(std::make_unique<State>()) {
  state_->kind = kind;
  const EVP_MD* evp = evp_of(kind);
  if (evp == nullptr) {
    state_->tables = &tables_of(kind);
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
  if (state_->tables != nullptr) {
    state_->crc = crc_step(*state_->tables, state_->crc, bytes);
    return;
  }
  CHECK_THAT(EVP_DigestUpdate(state_->evp.get(), bytes.data(), bytes.size()) == 1, "digest");
}

std::string Digest::finish() {
  if (state_->tables != nullptr) {
    const int size = state_->kind == Checksum::crc64nvme ? 8 : 4;
    const std::uint64_t value = ~state_->crc;
    std::string bytes;
    for (int i = size - 1; i >= 0; --i) bytes += static_cast<char>(value >> (8 * i) & 255);
    return bytes;
  }
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

std::string rendered(const Expected& expected, const std::string& digest) {
  return expected.kind == Checksum::md5 ? hex(digest) : base64(digest);
}

}  // namespace muster::objects
