#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::code {

/// The kinds of values of sagemaker_submit_directory.
enum class Source {
  code_folder,  ///< The code folder itself: the code is already there.
  s3_archive,   ///< "s3://bucket/key" of a tar.gz.
  folder,       ///< A local folder, copied.
  archive,      ///< A local tar.gz, unpacked.
  file,         ///< Any other local file, copied into the code folder.
};

/// The kind of entry at a local path, with links followed.
enum class Local { missing, folder, file, other };

/// True for kinds that are fetched from the object store.
bool is_s3(std::string_view uri);

/// True for gzip and for tar (the header block's checksum is right, or the name says so).
/// `head`: the file's first 512 bytes, fewer if it is shorter.
bool is_archive(std::string_view name, std::string_view head);

/// Decides the kind of `uri`. `local` and `head` describe the file at that path (not used for s3).
/// Error: `invalid_input` or `not_found`; the text begins with the URI.
///
/// Pure: the caller has looked at the file.
/// Source: sagemaker-training 5.1.4, files.download_and_extract.
Result<Source> source_of(const std::string& uri, const std::string& code_dir, Local local,
                         std::string_view head);

}  // namespace muster::code
