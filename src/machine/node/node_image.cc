#include "machine/node/node_image.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <optional>

#include "image/kept/store.h"
#include "image/manifest.h"

namespace muster::node {
namespace {

constexpr mode_t others_may_write = 022;

/// The store's folder: it contains setuid programs and programs of later jobs.
Result<image::Store> open_store(const job::NodeImage& image) {
  TRY(make_folders(image.folder, 0700));
  struct stat status {};
  if (::lstat(image.folder.c_str(), &status) != 0) return fail_errno("cannot open " + image.folder);
  if (!S_ISDIR(status.st_mode) || status.st_uid != ::geteuid() ||
      (status.st_mode & others_may_write) != 0)
    return fail(
        Errc::denied,
        image.folder + ": expected a folder that this user owns and that no other user can change");
  return image::Store::open(image.folder + "/images");
}

/// A delivered layer, which no other user of the node can have created.
Result<std::unique_ptr<image::Bytes>> open_brought(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) return fail_errno("cannot open " + path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return fail_errno("cannot open " + path);
  if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid() ||
      (status.st_mode & others_may_write) != 0)
    return fail(Errc::denied, path + ": expected a regular file that belongs to this user");
  return image::bytes_of(std::move(file));
}

Result<void> keep_to_size(image::Store& store, const std::string& folder) {
  struct statvfs disk {};
  if (::statvfs(folder.c_str(), &disk) != 0)
    return fail_errno("cannot examine the file system of " + folder);
  TRY(store.prune({.bytes_max = std::uint64_t{disk.f_blocks} * disk.f_frsize / 2}));
  return {};
}

}  // namespace

Result<std::vector<int>> lacking_layers(const job::NodeImage& wanted) {
  const image::Store store = TRY(open_store(wanted));
  const image::ImageConfig config = TRY(image::config_from(wanted.config));
  std::vector<int> numbers;
  for (const std::size_t number : store.missing(image::Source::handed_over(), config))
    numbers.push_back(static_cast<int>(number));
  return numbers;
}

Result<HeldImage> take_image(const job::NodeImage& wanted, job::Image image,
                             const std::string& brought) {
  image::Store store = TRY(open_store(wanted));
  image::AddOptions options;
  options.repacked = true;
  options.open = [&](const image::Descriptor&, std::size_t number) {
    return open_brought(brought + std::to_string(number));
  };
  const image::Image added = TRY(
      store.add(image::Source::handed_over(), image.name, wanted.manifest, wanted.config, options));
  image::Lease lease = TRY(store.lease(added));
  image.layers = added.layers;
  image.lease = lease.file;
  TRY(keep_to_size(store, wanted.folder));
  return HeldImage{std::move(image), std::move(lease.lock)};
}

void remove_brought(const job::NodeImage& image, const std::string& brought) {
  const Result<image::ImageConfig> config = image::config_from(image.config);
  if (!config) return;
  for (std::size_t number = 0; number < config->diff_ids.size(); ++number)
    ::unlink((brought + std::to_string(number)).c_str());
}

}  // namespace muster::node
