#include "host/code/submit_directory.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/text.h"

namespace muster::code {
namespace {

constexpr std::size_t block_bytes = 512;
constexpr std::size_t checksum_at = 148;
constexpr std::size_t checksum_digits = 8;

bool is_gzip(std::string_view head) {
  return head.starts_with("\x1f\x8b");
}

/// A tar header contains the sum of its own bytes, in octal; the field of the sum itself counts as
/// spaces.
bool is_tar(std::string_view head) {
  if (head.size() < block_bytes) return false;
  std::uint32_t sum = 0;
  std::uint32_t said = 0;
  bool digits = false;
  for (std::size_t i = 0; i < block_bytes; ++i) {
    const bool in_sum = i >= checksum_at && i < checksum_at + checksum_digits;
    const char byte = head[i];
    sum += in_sum ? std::uint32_t{' '} : static_cast<unsigned char>(byte);
    if (!in_sum || byte < '0' || byte > '7') continue;
    said = said * 8 + static_cast<std::uint32_t>(byte - '0');
    digits = true;
  }
  return digits && said == sum;
}

std::string without_slashes_behind(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

Error zip_archive(const std::string& uri) {
  return fail(
      Errc::invalid_input,
      uri +
          ": sagemaker_submit_directory does not support zip archives; create a tar.gz archive "
          "with tar czf sourcedir.tar.gz -C FOLDER .");
}

Result<Source> s3_source(const std::string& uri) {
  const std::string_view rest = std::string_view(uri).substr(5);
  const std::size_t slash = rest.find('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == rest.size())
    return fail(Errc::invalid_input,
                uri + ": expected s3://BUCKET/KEY, where KEY is a tar.gz file");
  if (rest.ends_with('/'))
    return fail(Errc::invalid_input,
                uri + ": ends with '/'; expected the key of a single tar.gz file");
  if (rest.ends_with(".zip")) return zip_archive(uri);
  return Source::s3_archive;
}

}  // namespace

bool is_s3(std::string_view uri) {
  return uri.starts_with("s3://");
}

bool is_archive(std::string_view name, std::string_view head) {
  constexpr std::string_view endings[] = {".tar.gz", ".tgz", ".tar"};
  const auto ends_name = [name](std::string_view ending) { return name.ends_with(ending); };
  return is_gzip(head) || is_tar(head) || std::ranges::any_of(endings, ends_name);
}

Result<Source> source_of(const std::string& uri, const std::string& code_dir, Local local,
                         std::string_view head) {
  if (uri.empty())
    return fail(Errc::invalid_input,
                "sagemaker_submit_directory is empty: expected s3://BUCKET/KEY, or the path of a "
                "folder, a tar.gz or a script");
  if (is_s3(uri)) return s3_source(uri);
  if (without_slashes_behind(uri) == without_slashes_behind(code_dir)) return Source::code_folder;
  switch (local) {
    case Local::folder:
      return Source::folder;
    case Local::file:
      if (uri.ends_with(".zip")) return zip_archive(uri);
      return is_archive(uri, head) ? Source::archive : Source::file;
    case Local::other:
      return fail(Errc::invalid_input, uri + ": neither a file nor a folder");
    case Local::missing:
      break;
  }
  const std::size_t scheme = uri.find("://");
  if (scheme != std::string::npos)
    return fail(Errc::invalid_input,
                uri.substr(0, scheme) + "://…: code must be s3://BUCKET/KEY or a local path");
  return fail(Errc::not_found, uri + ": no such file or folder (sagemaker_submit_directory)");
}

}  // namespace muster::code
