#include "image/kept/deliveries.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/files/folder.h"
#include "base/files/remove_tree.h"
#include "image/reference.h"

namespace muster::image {

std::string Deliveries::folder_of(const std::string& digest) const {
  CHECK_THAT(is_digest(digest), "what is delivered is called by its digest");
  return folder_ + "/" + digest.substr(digest.find(':') + 1);
}

bool Deliveries::has(const std::string& digest, const Source& source) const {
  return ::access((folder_of(digest) + "/" + source.id()).c_str(), F_OK) == 0;
}

bool Deliveries::has_any(const std::string& digest) const {
  const Result<std::vector<std::string>> sources = names_in(folder_of(digest));
  return sources && !sources->empty();
}

Result<void> Deliveries::note(const std::string& digest, const Source& source) {
  const std::string folder = folder_of(digest);
  TRY(make_folders(folder, 0700));
  const std::string path = folder + "/" + source.id();
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return fail_errno("cannot create " + path);
  return {};
}

Result<void> Deliveries::keep_only(const std::set<std::string>& hexes) {
  for (const std::string& hex : TRY(names_in(folder_)))
    if (!hexes.contains(hex)) TRY(remove_tree(folder_ + "/" + hex));
  return {};
}

}  // namespace muster::image
