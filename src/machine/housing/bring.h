#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "aws/s3client/fetch_folder.h"
#include "aws/s3client/s3_client.h"
#include "job/host_spec.h"

namespace muster::steward {

/// Brings what a host needs from S3: its channels and its checkpoints. Design:
/// docs/decisions/0016-transfer.md.

/// True if there is anything to bring.
bool needs_s3(const job::Spec& spec);

/// Where a channel lies that all hosts of this machine share: it comes once for all of them, and
/// each sees it through an overlay. Empty for one that is the host's own; a light host is most
/// often alone on its machine. Pure.
std::string shared_channel(const job::HostSpec& spec, const job::InputChannel& channel);

/// Reports what was fetched, one line each, and how many bytes.
using Tell = std::function<void(const std::string& line, std::uint64_t bytes)>;

/// Fetches channels and checkpoints into the job's and the host's folders. Error: the first
/// failure, "channel train: s3://bucket/key: …". May be dropped as FetchStop says.
loop::Task<Result<void>> bring(loop::Loop& loop, job::HostSpec spec,
                               std::shared_ptr<s3client::S3State> s3, s3client::FetchStop& stop,
                               Tell tell);

}  // namespace muster::steward
