#include "aws/s3client/archive.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "aws/s3client/multipart.h"
#include "aws/s3client/s3_call.h"
#include "net/loop/tasks.h"
#include "net/loop/wait.h"
#include "net/loop/worker.h"

namespace muster::s3client {
namespace {

/// Parts of a little more than S3's least: several in flight make up for their size.
constexpr std::uint64_t part_bytes_least = StreamUpload::part_bytes_min + (3u << 20);
/// Four larger ones at a time would take too much memory.
constexpr std::uint64_t part_in_memory_max = 16u << 20;
constexpr std::size_t parts_spare = 100;

/// Buffers of one size that are not in use. Any number of threads.
class Buffers {
 public:
  explicit Buffers(std::size_t bytes) : bytes_(bytes) {}
  /// Comes back by itself. Error: `system`.
  static Result<std::shared_ptr<PackBuffer>> take(const std::shared_ptr<Buffers>& from) {
    std::optional<PackBuffer> buffer;
    {
      const std::lock_guard lock(from->mutex_);
      if (!from->free_.empty()) {
        buffer.emplace(std::move(from->free_.back()));
        from->free_.pop_back();
      }
    }
    if (!buffer) buffer.emplace(TRY(PackBuffer::make(from->bytes_)));
    return std::shared_ptr<PackBuffer>(new PackBuffer(*std::move(buffer)),
                                       [from](PackBuffer* used) { give_back(*from, used); });
  }

 private:
  static void give_back(Buffers& to, PackBuffer* used) {
    const std::unique_ptr<PackBuffer> owned(used);
    const std::lock_guard lock(to.mutex_);
    if (owned->usable()) to.free_.push_back(std::move(*owned));
  }

  const std::size_t bytes_;
  std::mutex mutex_;
  std::vector<PackBuffer> free_;
};

struct Packing {
  Packing(loop::Loop& on, packing::TarPlan of, ArchiveOptions given)
      : plan(std::move(of)), options(std::move(given)), changed(on), packers(on) {
    chunks.resize((plan.bytes() + options.chunk_bytes - 1) / options.chunk_bytes);
    plain = std::make_shared<Buffers>(options.chunk_bytes);
    packed = std::make_shared<Buffers>(gzip_bytes_max(options.chunk_bytes));
  }

  const packing::TarPlan plan;
  const ArchiveOptions options;
  std::vector<std::optional<Blob>> chunks;  ///< Packed ones that wait for their turn.
  std::shared_ptr<Buffers> plain;
  std::shared_ptr<Buffers> packed;
  std::size_t begun = 0;
  std::size_t taken = 0;
  std::optional<Error> failed;
  loop::Event changed;  ///< A packer has ended.
  loop::Tasks packers;
};

loop::Task<> pack(Packing& packing, std::size_t number) {
  const std::uint64_t offset = number * packing.options.chunk_bytes;
  const auto work = [&packing, offset]() -> Result<Blob> {
    const std::shared_ptr<PackBuffer> plain = TRY(Buffers::take(packing.plain));
    const std::shared_ptr<PackBuffer> packed = TRY(Buffers::take(packing.packed));
    plain->fill(TRY(packing.plan.read(offset, plain->space())));
    TRY(packing.options.gzip(*plain, *packed));
    return packed->blob(packed);
  };
  Result<Blob> blob = co_await loop::in_thread(packing.packers.loop(), work);
  if (!blob && !packing.failed) packing.failed = blob.error();
  if (blob) packing.chunks[number] = *std::move(blob);
  packing.changed.notify();
}

/// Keeps the threads busy, at most twice their number ahead of what is sent.
void begin_more(Packing& packing) {
  const auto ahead = 2 * static_cast<std::size_t>(packing.options.threads);
  while (!packing.failed && packing.begun < packing.chunks.size() &&
         static_cast<int>(packing.packers.size()) < packing.options.threads &&
         packing.begun < packing.taken + ahead) {
    packing.packers.start(pack(packing, packing.begun++));
  }
}

loop::Task<Result<Blob>> next_chunk(Packing& packing) {
  const std::size_t number = packing.taken;
  begin_more(packing);
  while (!packing.failed && !packing.chunks[number]) {
    co_await packing.changed.wait();
    begin_more(packing);
  }
  if (packing.failed) co_return *packing.failed;
  Blob blob = *std::move(packing.chunks[number]);
  packing.chunks[number].reset();
  ++packing.taken;
  begin_more(packing);
  co_return blob;
}

loop::Task<Result<std::uint64_t>> send_all(Packing& packing, StreamUpload& upload) {
  const std::uint64_t part_bytes = archive_part_bytes(packing.plan.bytes());
  const std::string spill = part_bytes > part_in_memory_max ? packing.options.spill : "";
  std::uint64_t bytes = 0;
  std::optional<Blob> part;
  while (packing.taken < packing.chunks.size()) {
    Result<Blob> chunk = co_await next_chunk(packing);
    if (!chunk) co_return chunk.error();
    bytes += chunk->bytes;
    Result<void> joined;
    if (part && part->owner) {  // Lent memory is not added to.
      Result<Blob> own = make_blob(spill);
      if (own) joined = append(*own, *part);
      if (!own) joined = own.error();
      if (!joined) co_return joined.error();
      part = *std::move(own);
    }
    if (part)
      joined = append(*part, *chunk);
    else
      part = *std::move(chunk);
    if (!joined) co_return joined.error();
    const bool last = packing.taken == packing.chunks.size();
    if (part->bytes < part_bytes && !last) continue;
    Blob full = *std::exchange(part, std::nullopt);
    Result<void> added = co_await upload.add(std::move(full));
    if (!added) co_return added.error();
  }
  Result<void> finished = co_await upload.finish();
  if (!finished) co_return finished.error();
  co_return bytes;
}

}  // namespace

std::uint64_t archive_part_bytes(std::uint64_t tar_bytes) {
  return std::max(part_bytes_least, tar_bytes / (parts_max - parts_spare) + 1);
}

loop::Task<Result<Archived>> upload_archive(std::shared_ptr<S3State> state, packing::TarPlan plan,
                                            s3wire::S3Url to, ArchiveOptions options) {
  Packing packing(state->loop, std::move(plan), std::move(options));
  StreamUpload upload(std::move(state), std::move(to));
  Result<std::uint64_t> bytes = co_await send_all(packing, upload);
  if (!bytes) {
    if (!packing.failed) packing.failed = bytes.error();
    co_await upload.abort();
    co_await packing.packers.join();
    co_return bytes.error();
  }
  co_return Archived{packing.plan.entries(), packing.plan.bytes(), *bytes};
}

}  // namespace muster::s3client
