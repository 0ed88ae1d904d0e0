#pragma once

#include <functional>
#include <string>

#include "base/command.h"
#include "base/log.h"
#include "host/code/submit_directory.h"
#include "net/loop/loop.h"
#include "os/packing/unpack.h"

namespace muster::code {

struct DeliverReport {
  bool delivered = false;  ///< False: the code was already in place.
  Source source = Source::code_folder;
  packing::UnpackReport unpacked;  ///< Set for archives.
};

/// Writes the object at an s3 URI to a path.
using Download = std::function<loop::Task<Result<void>>(std::string uri, std::string path)>;

/// Copies the code at `uri` to `code_dir`, which is created if it is missing. Does nothing if the
/// folder is not empty. All or nothing: after an error the folder is as empty as before. Archive
/// members that were not unpacked are logged to `log`, which outlives the task. Errors as
/// source_of, unpack and the download; the text starts with the code's URI. Source:
/// sagemaker-training 5.1.4, files.download_and_extract.
loop::Task<Result<DeliverReport>> deliver(loop::Loop& loop, Env env, std::string uri,
                                          std::string code_dir, const Log& log);
/// As above; objects are fetched by `download` instead of the S3 client.
loop::Task<Result<DeliverReport>> deliver(loop::Loop& loop, Env env, std::string uri,
                                          std::string code_dir, const Log& log, Download download);

}  // namespace muster::code
