#include "aws/s3wire/s3_url.h"

#include <algorithm>

#include "aws/s3wire/s3_key.h"
#include "base/letters.h"

namespace muster::s3wire {
namespace {

constexpr std::string_view scheme = "s3://";

std::string printable(std::string_view text) {
  std::string shown(text.substr(0, key_bytes_max));
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; }, '?');
  return shown;
}

}  // namespace

Result<S3Url> parse_s3_prefix(std::string_view text) {
  const std::string shown = printable(text.substr(0, 200));
  if (!text.starts_with(scheme))
    return fail(Errc::invalid_input, shown + ": not an S3 URL; expected s3://bucket/key");
  text.remove_prefix(scheme.size());
  const std::size_t slash = std::min(text.find('/'), text.size());
  S3Url url{std::string(text.substr(0, slash)), ""};
  if (slash < text.size()) url.key = text.substr(slash + 1);
  if (url.bucket.empty())
    return fail(Errc::invalid_input, shown + ": no bucket name; expected s3://bucket/key");
  if (url.bucket.size() > 255 || !std::all_of(url.bucket.begin(), url.bucket.end(), is_name_byte))
    return fail(Errc::invalid_input,
                shown + ": a bucket name can contain only letters, digits, '-', '.' and '_'");
  if (url.key.size() > key_bytes_max)
    return fail(Errc::invalid_input, shown + "…: the key has more than 1024 bytes");
  return url;
}

Result<S3Url> parse_s3_url(std::string_view text) {
  S3Url url = TRY(parse_s3_prefix(text));
  if (url.key.empty())
    return fail(Errc::invalid_input, text_of(url) + ": no key; expected s3://bucket/key");
  return url;
}

std::string text_of(const S3Url& url) {
  return std::string(scheme) + printable(url.bucket) + "/" + printable(url.key);
}

}  // namespace muster::s3wire
