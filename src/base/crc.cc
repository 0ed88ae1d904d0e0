#include "base/crc.h"

#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace muster {
namespace {

static_assert(std::endian::native == std::endian::little);

/// A register's bits are reversed: the most significant one is x^0.
int bits_of(Crc kind) {
  return kind == Crc::crc64nvme ? 64 : 32;
}

std::uint64_t polynomial_of(Crc kind) {
  if (kind == Crc::crc32) return 0xEDB88320;
  return kind == Crc::crc32c ? 0x82F63B78 : 0x9A6C9329AC4BC9B5;
}

/// The product of two polynomials modulo the CRC's.
std::uint64_t product(Crc kind, std::uint64_t a, std::uint64_t b) {
  const std::uint64_t polynomial = polynomial_of(kind);
  std::uint64_t result = 0;
  for (std::uint64_t bit = std::uint64_t{1} << (bits_of(kind) - 1); bit != 0; bit >>= 1) {
    if ((a & bit) != 0) result ^= b;
    b = b >> 1 ^ ((b & 1) != 0 ? polynomial : 0);
  }
  return result;
}

/// x^exponent modulo the CRC's polynomial.
std::uint64_t power_of_x(Crc kind, std::uint64_t exponent) {
  const std::uint64_t one = std::uint64_t{1} << (bits_of(kind) - 1);
  std::uint64_t result = one;
  std::uint64_t square = one >> 1;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = product(kind, result, square);
    square = product(kind, square, square);
  }
  return result;
}

/// Eight tables: the checksum takes eight bytes in a step.
using CrcTables = std::array<std::array<std::uint64_t, 256>, 8>;

CrcTables make_tables(Crc kind) {
  const std::uint64_t polynomial = polynomial_of(kind);
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

const CrcTables& tables_of(Crc kind) {
  static const CrcTables crc32 = make_tables(Crc::crc32);
  static const CrcTables crc32c = make_tables(Crc::crc32c);
  static const CrcTables crc64nvme = make_tables(Crc::crc64nvme);
  if (kind == Crc::crc32) return crc32;
  return kind == Crc::crc32c ? crc32c : crc64nvme;
}

#if defined(__x86_64__)

/// By what 16 bytes are multiplied to stand `bits` further on: the first eight of them and the
/// last. A carry-less product of reversed bits comes out one place off, hence the -1.
struct Fold {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};
Fold fold_by(Crc kind, std::uint64_t bits) {
  const int up = 64 - bits_of(kind);
  return {power_of_x(kind, bits + 64 - 1) << up, power_of_x(kind, bits - 1) << up};
}

struct Folds {
  explicit Folds(Crc kind) : by_512(fold_by(kind, 512)), by_128(fold_by(kind, 128)) {}
  Fold by_512;
  Fold by_128;
};

const Folds& folds_of(Crc kind) {
  static const Folds crc32(Crc::crc32);
  static const Folds crc32c(Crc::crc32c);
  static const Folds crc64nvme(Crc::crc64nvme);
  if (kind == Crc::crc32) return crc32;
  return kind == Crc::crc32c ? crc32c : crc64nvme;
}

constexpr std::size_t step_bytes = 64;

[[gnu::target("pclmul,sse4.1")]] inline __m128i loaded(const char* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

[[gnu::target("pclmul,sse4.1")]] inline __m128i folded(__m128i value, __m128i by, __m128i next) {
  const __m128i first = _mm_clmulepi64_si128(value, by, 0x00);
  const __m128i last = _mm_clmulepi64_si128(value, by, 0x11);
  return _mm_xor_si128(_mm_xor_si128(first, last), next);
}

[[gnu::target("pclmul,sse4.1")]] inline __m128i constant(const Fold& fold) {
  return _mm_set_epi64x(static_cast<long long>(fold.last), static_cast<long long>(fold.first));
}

/// Folds whole steps of `bytes` (at least one) onto 16 bytes that leave the same rest, and takes
/// the CRC of those. Source: Gopal and others, "Fast CRC Computation for Generic Polynomials Using
/// PCLMULQDQ Instruction", Intel 2009; the last reduction is left to the tables.
[[gnu::target("pclmul,sse4.1")]] std::uint64_t crc_by_folding(Crc kind, std::uint64_t crc,
                                                              std::string_view bytes) {
  const Folds& folds = folds_of(kind);
  const __m128i far = constant(folds.by_512);
  const __m128i near = constant(folds.by_128);
  const char* from = bytes.data();
  const char* const end = from + bytes.size();
  __m128i a = _mm_xor_si128(loaded(from), _mm_set_epi64x(0, static_cast<long long>(crc)));
  __m128i b = loaded(from + 16);
  __m128i c = loaded(from + 32);
  __m128i d = loaded(from + 48);
  for (from += step_bytes; from < end; from += step_bytes) {
    a = folded(a, far, loaded(from));
    b = folded(b, far, loaded(from + 16));
    c = folded(c, far, loaded(from + 32));
    d = folded(d, far, loaded(from + 48));
  }
  std::array<char, 16> rest{};
  const __m128i all = folded(folded(folded(a, near, b), near, c), near, d);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(rest.data()), all);
  return crc_by_tables(kind, 0, {rest.data(), rest.size()});
}

bool can_fold() {
  static const bool can = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
  return can;
}

#endif

}  // namespace

std::uint64_t crc_by_tables(Crc kind, std::uint64_t crc, std::string_view bytes) {
  const CrcTables& tables = tables_of(kind);
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

std::uint64_t crc_updated(Crc kind, std::uint64_t crc, std::string_view bytes) {
#if defined(__x86_64__)
  if (bytes.size() >= 2 * step_bytes && can_fold()) {
    const std::size_t whole = bytes.size() / step_bytes * step_bytes;
    crc = crc_by_folding(kind, crc, bytes.substr(0, whole));
    bytes.remove_prefix(whole);
  }
#endif
  return crc_by_tables(kind, crc, bytes);
}

std::uint32_t crc32c(std::string_view bytes, std::uint32_t start) {
  const std::uint64_t all = 0xFFFFFFFF;
  return static_cast<std::uint32_t>(crc_updated(Crc::crc32c, start ^ all, bytes) ^ all);
}

std::uint64_t crc_shifted(Crc kind, std::uint64_t crc, std::uint64_t zeros) {
  std::uint64_t power = power_of_x(kind, 8);
  for (; zeros != 0; zeros >>= 1) {
    if ((zeros & 1) != 0) crc = product(kind, crc, power);
    power = product(kind, power, power);
  }
  return crc;
}

}  // namespace muster
