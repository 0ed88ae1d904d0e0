#include "image/store.h"

#include <unistd.h>

namespace muster::image {

Store::Store(std::string folder) : folder_(std::move(folder)), blobs_(folder_ + "/blobs/sha256") {}

Result<Store> Store::open(const std::string& folder) {
  TRY(make_folders(folder, 0700));
  for (const char* inside : {"/blobs/sha256", "/layers", "/leases"})
    TRY(make_folders(folder + inside, 0700));
  return Store(folder);
}

Result<std::optional<BlobDraft>> Store::draft(const std::string& digest, std::uint64_t bytes_max) {
  return blobs_.draft(digest, bytes_max);
}

}  // namespace muster::image
