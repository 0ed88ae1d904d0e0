#pragma once

#include <functional>
#include <string>

#include "base/command.h"
#include "base/log.h"
#include "host/code/source.h"
#include "net/loop/loop.h"
#include "os/packing/unpack.h"

namespace muster::code {

struct DeliverReport {
  bool delivered = false;  ///< False: the code was there already.
  Source source = Source::code_folder;
  packing::UnpackReport unpacked;  ///< Set for archives.
};

/// Writes the object at an s3 URI to a path.
using Download = std::function<loop::Task<Result<void>>(std::string uri, std::string path)>;

/// Brings what `uri` names into `code_dir`, which is made if missing. If something lies there
/// already, nothing is done. All or nothing: on an error the folder is as empty as before. What an
/// archive held and was not unpacked is said to `log`, which outlives the task.
/// Errors as source_of, unpack and the download; the text begins with what could not be delivered.
/// Source: sagemaker-training 5.1.4, files.download_and_extract.
loop::Task<Result<DeliverReport>> deliver(loop::Loop& loop, Env env, std::string uri,
                                          std::string code_dir, const Log& log);
/// As above; objects come by `download` in place of S3's client.
loop::Task<Result<DeliverReport>> deliver(loop::Loop& loop, Env env, std::string uri,
                                          std::string code_dir, const Log& log, Download download);

}  // namespace muster::code
