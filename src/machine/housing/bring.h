#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "aws/s3client/fetch_folder.h"
#include "aws/s3client/s3_client.h"
#include "job/host_spec.h"

namespace muster::steward {

/// Downloads a host's channels and checkpoints from S3. Design: docs/decisions/0016-transfer.md.

/// True if there is anything to download.
bool needs_s3(const job::Spec& spec);

/// The folder of a channel that all hosts of this machine share: it is downloaded once, and each
/// host sees it through an overlay. Empty for a channel that only this host gets; a light host is
/// usually alone on its machine. Pure.
std::string shared_channel(const job::HostSpec& spec, const job::InputChannel& channel);

/// Reports each download in one line, with its bytes.
using Tell = std::function<void(const std::string& line, std::uint64_t bytes)>;

/// Fetches channels and checkpoints into the job's and the host's folders. Error: the first
/// failure, "channel train: s3://bucket/key: …". The task may be destroyed; see FetchStop.
loop::Task<Result<void>> bring(loop::Loop& loop, job::HostSpec spec,
                               std::shared_ptr<s3client::S3State> s3, s3client::FetchStop& stop,
                               Tell tell);

}  // namespace muster::steward
