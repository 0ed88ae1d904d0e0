#include <libdeflate.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "objects/archive.h"

namespace muster::objects {
namespace {

constexpr std::size_t member_bytes = 1u << 20;  // libdeflate has no streams.
constexpr std::size_t sample_bytes = 32u << 10;
constexpr int fastest = 1;
constexpr int stored = 0;

using Packer = std::unique_ptr<libdeflate_compressor, void (*)(libdeflate_compressor*)>;

Packer make_packer(int level) {
  Packer packer(libdeflate_alloc_compressor(level), libdeflate_free_compressor);
  CHECK_THAT(packer != nullptr, "libdeflate has memory");
  return packer;
}

/// Whether packing saves less than a tenth; tried with a piece from the middle.
bool is_dense(const Packer& packer, std::string_view bytes) {
  const std::string_view sample =
      bytes.substr(bytes.size() / 2 - std::min(bytes.size(), sample_bytes) / 2, sample_bytes);
  std::string packed(sample.size(), '\0');
  const std::size_t count = libdeflate_deflate_compress(packer.get(), sample.data(), sample.size(),
                                                        packed.data(), packed.size());
  return count == 0 || count > sample.size() / 10 * 9;
}

}  // namespace

Result<PackBuffer> PackBuffer::make(std::size_t capacity) {
  PackBuffer buffer;
  buffer.blob_ = TRY(make_blob());
  const int fd = buffer.blob_.fd.get();
  if (::ftruncate(fd, static_cast<off_t>(capacity)) != 0) return fail_errno("memfd");
  void* const at = ::mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return fail_errno("mmap");
  buffer.space_ = {static_cast<char*>(at), capacity};
  return buffer;
}

PackBuffer::~PackBuffer() {
  if (!space_.empty()) ::munmap(space_.data(), space_.size());
}

Result<int> PackBuffer::file() const {
  const int fd = blob_.fd.get();
  if (::ftruncate(fd, static_cast<off_t>(blob_.bytes)) != 0 || ::lseek(fd, 0, SEEK_SET) != 0)
    return fail_errno("memfd");
  return fd;
}

Result<Blob> gzip_members(const PackBuffer& buffer) {
  std::string_view bytes = buffer.view();
  Blob blob = TRY(make_blob());
  const Packer fast = make_packer(fastest);
  const Packer plain = make_packer(stored);
  std::string packed;
  do {
    const std::string_view member = bytes.substr(0, member_bytes);
    const Packer& packer = is_dense(fast, member) ? plain : fast;
    packed.resize(libdeflate_gzip_compress_bound(packer.get(), member.size()));
    const std::size_t count = libdeflate_gzip_compress(packer.get(), member.data(), member.size(),
                                                       packed.data(), packed.size());
    CHECK_THAT(count > 0, "libdeflate's own bound holds");
    TRY(append(blob, std::string_view(packed.data(), count)));
    bytes.remove_prefix(member.size());
  } while (!bytes.empty());
  return blob;
}

}  // namespace muster::objects
