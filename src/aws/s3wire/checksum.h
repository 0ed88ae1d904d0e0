#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::s3wire {

/// Checksums that S3 keeps of objects.
///
/// Pure: bytes in, digest out.
enum class Checksum { crc32, crc32c, crc64nvme, sha1, sha256, md5 };

/// One being made, piece by piece.
class Digest {
 public:
  explicit Digest(Checksum kind);
  ~Digest();
  Digest(Digest&&) noexcept;
  Digest& operator=(Digest&&) noexcept;
  void add(std::string_view bytes);
  /// The digest's bytes, most significant first. Once.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// How many bytes a digest of this kind has.
std::size_t digest_bytes(Checksum kind);
/// The checksum of two runs of bytes from those of each: `second_bytes` is the length of the
/// second. CRCs only.
std::string combined(Checksum kind, std::string_view first, std::string_view second,
                     std::uint64_t second_bytes);
/// What S3 gives an object of parts as its COMPOSITE checksum: base64 of the digest of the parts'
/// digests, and "-N".
std::string composite(Checksum kind, const std::vector<std::string>& parts);

/// What a server says a whole object's checksum is.
struct Expected {
  Checksum kind;
  std::string name;   ///< For messages: "CRC32", "MD5 (ETag)".
  std::string value;  ///< As the digest would be: base64, or lower-case hex for MD5.
};
/// The digest in the form that `expected` has.
std::string rendered(const Expected& expected, const std::string& digest);

}  // namespace muster::s3wire
