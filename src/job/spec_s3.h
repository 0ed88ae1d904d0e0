#pragma once

// Inside job/ only: the parts of a specification about S3 and folders, and their JSON form.

#include "job/spec.h"
#include "job/spec_fields.h"

namespace muster::job {

/// A channel has a folder or a URL. `field`: "InputDataConfig[0].".
Result<void> check_source(const std::string& field, const InputChannel& channel);
/// Where results and checkpoints go, entry point and arguments, and the way to S3.
Result<void> check_outputs(const Spec& spec);

Json input_json(const std::vector<InputChannel>& input);
Json access_json(const S3Access& access);
Json checkpoints_json(const Spec& spec);
Json bound_json(const std::vector<BoundPath>& bound);
/// OutputDataConfig and CheckpointConfig, if there is anything to say.
void add_outputs(const Spec& spec, Json& json);

/// A channel in a request that anybody may have sent must not name a folder of this machine.
void read_input(const Json& json, Spec& spec, Fields& outer, Writer writer);
void read_outputs(Fields& outer, Spec& spec);
void read_checkpoints(const Json& json, Spec& spec, Fields& outer);
void read_bound(const Json& json, Spec& spec, Fields& outer);
void read_access(const Json& json, S3Access& access, Fields& outer);

}  // namespace muster::job
