#include <fcntl.h>
#include <libdeflate.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>

#include "aws/s3client/archive.h"

namespace muster::s3client {
namespace {

constexpr std::size_t member_bytes = 1u << 20;  // libdeflate has no streams.
constexpr std::size_t sample_bytes = 16u << 10;
constexpr std::size_t samples_of_many = 8;
constexpr int fastest = 1;
constexpr int stored = 0;

using Packer = std::unique_ptr<libdeflate_compressor, void (*)(libdeflate_compressor*)>;

Packer make_packer(int level) {
  Packer packer(libdeflate_alloc_compressor(level), libdeflate_free_compressor);
  CHECK_THAT(packer != nullptr, "libdeflate has memory");
  return packer;
}

std::size_t packed_bytes(const Packer& packer, std::string_view sample) {
  std::array<char, sample_bytes> packed;
  const std::size_t count = libdeflate_deflate_compress(packer.get(), sample.data(), sample.size(),
                                                        packed.data(), packed.size());
  return count == 0 ? sample.size() : count;
}

/// Whether `bytes` hardly shrink, by `samples` pieces, evenly spread.
bool is_dense(const Packer& packer, std::string_view bytes, std::size_t samples) {
  std::size_t all = 0;
  std::size_t packed = 0;
  for (std::size_t i = 0; i < samples; ++i) {
    const std::size_t middle = bytes.size() / samples * i + bytes.size() / samples / 2;
    const std::size_t from = middle - std::min(middle, sample_bytes / 2);
    const std::string_view sample = bytes.substr(from, sample_bytes);
    all += sample.size();
    packed += packed_bytes(packer, sample);
  }
  return packed > all / 10 * 9;
}

}  // namespace

Result<PackBuffer> PackBuffer::make(std::size_t capacity) {
  PackBuffer buffer;
  buffer.blob_ = TRY(make_blob());
  const int fd = buffer.blob_.fd.get();
  if (::ftruncate(fd, static_cast<off_t>(capacity)) != 0)
    return fail_errno("cannot access an in-memory file");
  void* const at = ::mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return fail_errno("cannot map an in-memory file");
  buffer.space_ = {static_cast<char*>(at), capacity};
  return buffer;
}

PackBuffer::~PackBuffer() {
  if (!space_.empty()) ::munmap(space_.data(), space_.size());
}

Result<int> PackBuffer::file() {
  const int fd = blob_.fd.get();
  if (blob_.bytes < space_.size()) {
    if (::ftruncate(fd, static_cast<off_t>(blob_.bytes)) != 0)
      return fail_errno("cannot access an in-memory file");
    cut_ = true;
  }
  return begin();
}

Result<int> PackBuffer::begin() {
  const int fd = blob_.fd.get();
  if (::lseek(fd, 0, SEEK_SET) != 0) return fail_errno("cannot access an in-memory file");
  return fd;
}

Result<void> PackBuffer::taken() {
  const off_t end = ::lseek(blob_.fd.get(), 0, SEEK_CUR);
  if (end < 0) return fail_errno("cannot access an in-memory file");
  if (static_cast<std::size_t>(end) > space_.size())
    return fail(Errc::system, "the in-memory file is too large");
  blob_.bytes = static_cast<std::uint64_t>(end);
  return {};
}

Result<Blob> PackBuffer::blob(std::shared_ptr<void> owner) const {
  Fd fd(::fcntl(blob_.fd.get(), F_DUPFD_CLOEXEC, 0));
  if (!fd) return fail_errno("cannot access an in-memory file");
  return Blob{std::move(fd), blob_.bytes, space_.data(), std::move(owner)};
}

std::size_t gzip_bytes_max(std::size_t bytes) {
  const Packer plain = make_packer(stored);
  const Packer fast = make_packer(fastest);
  const std::size_t each = std::max(libdeflate_gzip_compress_bound(plain.get(), member_bytes),
                                    libdeflate_gzip_compress_bound(fast.get(), member_bytes));
  return (bytes / member_bytes + 1) * each;
}

bool is_dense(std::string_view bytes) {
  return is_dense(make_packer(fastest), bytes, samples_of_many);
}

Result<void> gzip_members(PackBuffer& buffer, PackBuffer& into) {
  std::string_view bytes = buffer.view();
  CHECK_THAT(into.space().size() >= gzip_bytes_max(bytes.size()), "what is packed has room");
  const Packer fast = make_packer(fastest);
  const Packer plain = make_packer(stored);
  std::size_t size = 0;
  do {
    const std::string_view member = bytes.substr(0, member_bytes);
    const Packer& packer = is_dense(fast, member, 1) ? plain : fast;
    const std::size_t count =
        libdeflate_gzip_compress(packer.get(), member.data(), member.size(),
                                 into.space().data() + size, into.space().size() - size);
    CHECK_THAT(count > 0, "libdeflate's own bound holds");
    size += count;
    bytes.remove_prefix(member.size());
  } while (!bytes.empty());
  into.fill(size);
  return {};
}

}  // namespace muster::s3client
