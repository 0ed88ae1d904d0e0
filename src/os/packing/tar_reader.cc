#include "os/packing/tar_reader.h"

#include <cerrno>
#include <utility>

namespace muster::packing {

TarReader::TarReader(Source source)
    : source_(std::move(source)), handle_(::archive_read_new(), ::archive_read_free) {}

la_ssize_t TarReader::read(archive* handle, void* self, const void** bytes) {
  TarReader& own = *static_cast<TarReader*>(self);
  Result<std::string_view> got = own.source_();
  if (!got) {
    own.source_error_ = got.error();
    ::archive_set_error(handle, EIO, "%s", got.error().text.c_str());
    return ARCHIVE_FATAL;
  }
  *bytes = got->data();
  return static_cast<la_ssize_t>(got->size());
}

Error TarReader::error(const std::string& what) const {
  if (source_error_) return *source_error_;
  const char* text = ::archive_error_string(handle_.get());
  return fail(Errc::invalid_input, what + ": " + (text != nullptr ? text : "wrong data"));
}

Result<void> TarReader::open() {
  archive* const handle = handle_.get();
  CHECK_THAT(handle != nullptr && ::archive_read_support_format_tar(handle) == ARCHIVE_OK,
             "libarchive knows tar");
  opened_ = true;
  if (::archive_read_open(handle, this, nullptr, &TarReader::read, nullptr) != ARCHIVE_OK)
    return error("not a tar archive");
  return {};
}

Result<archive_entry*> TarReader::next() {
  if (!opened_) TRY(open());
  archive_entry* entry = nullptr;
  const int status = ::archive_read_next_header(handle_.get(), &entry);
  if (status == ARCHIVE_EOF) return static_cast<archive_entry*>(nullptr);
  // A warning is about a name or an owner that cannot be converted to this process's locale, which
  // has none. The bytes are there all the same, and file names are bytes.
  if (status != ARCHIVE_OK && status != ARCHIVE_WARN)
    return error(members_ == 0 ? "not a tar archive" : "the archive is damaged");
  ++members_;
  return entry;
}

}  // namespace muster::packing
