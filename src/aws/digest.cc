#include "aws/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <cstring>

#include "base/result.h"

namespace muster::aws {
namespace {

struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_MD_CTX, FreeContext>;

/// Looked up once: EVP_sha256() alone would be looked up at each use.
const EVP_MD* sha256_algorithm() {
  static const EVP_MD* algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  CHECK_THAT(algorithm != nullptr, "SHA-256");
  return algorithm;
}

Context new_context() {
  Context context(EVP_MD_CTX_new());
  CHECK_THAT(context && EVP_DigestInit_ex(context.get(), sha256_algorithm(), nullptr) == 1,
             "SHA-256");
  return context;
}

/// One a thread: it keeps its memory from use to use.
EVP_MD_CTX* thread_context() {
  thread_local const Context context = new_context();
  return context.get();
}

Sha256Bytes digest_of(EVP_MD_CTX* context, std::string_view first, std::string_view second) {
  Sha256Bytes digest{};
  unsigned size = 0;
  const bool done = EVP_DigestInit_ex(context, nullptr, nullptr) == 1 &&
                    EVP_DigestUpdate(context, first.data(), first.size()) == 1 &&
                    EVP_DigestUpdate(context, second.data(), second.size()) == 1 &&
                    EVP_DigestFinal_ex(context, digest.data(), &size) == 1;
  CHECK_THAT(done && size == digest.size(), "SHA-256");
  return digest;
}

}  // namespace

Sha256Bytes sha256(std::string_view bytes) {
  return digest_of(thread_context(), bytes, {});
}

Sha256Bytes hmac_sha256(std::string_view key, std::string_view bytes) {
  constexpr std::size_t block_bytes = 64;
  std::array<char, block_bytes> inner{};
  if (key.size() > block_bytes) {
    const Sha256Bytes shorter = sha256(key);
    std::memcpy(inner.data(), shorter.data(), shorter.size());
  } else if (!key.empty()) {
    std::memcpy(inner.data(), key.data(), key.size());
  }
  std::array<char, block_bytes> outer = inner;
  for (char& c : inner) c = static_cast<char>(c ^ 0x36);
  for (char& c : outer) c = static_cast<char>(c ^ 0x5c);
  EVP_MD_CTX* context = thread_context();
  const Sha256Bytes within = digest_of(context, {inner.data(), inner.size()}, bytes);
  return digest_of(context, {outer.data(), outer.size()}, view_of(within));
}

bool same_bytes(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

struct Sha256::State {
  Context context = new_context();
};

Sha256::Sha256() : state_(std::make_unique<State>()) {}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::add(std::string_view bytes) {
  CHECK_THAT(EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size()) == 1, "SHA-256");
}

Sha256Bytes Sha256::finish() {
  Sha256Bytes digest{};
  unsigned size = 0;
  EVP_MD_CTX* context = state_->context.get();
  const bool done = EVP_DigestFinal_ex(context, digest.data(), &size) == 1 &&
                    EVP_DigestInit_ex(context, nullptr, nullptr) == 1;
  CHECK_THAT(done && size == digest.size(), "SHA-256");
  return digest;
}

}  // namespace muster::aws
