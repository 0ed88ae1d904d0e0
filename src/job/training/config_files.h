#pragma once

#include <optional>
#include <string>
#include <vector>

#include "job/training/python_json.h"

namespace muster::job {

// The files of <base>/input/config, one by one. Pure; `path` is for messages only.
// Source: "How Amazon SageMaker AI Provides Training Information"; environment.py of
// sagemaker-training 5.1.4.

struct InstanceGroup {
  std::string name;
  std::vector<std::string> hosts;
  PyValue source;  ///< The group as the file has it.
};

struct ResourceConfig {
  std::vector<std::string> hosts;
  std::string current_host;
  std::string instance_type;
  std::string group;
  std::string interface;
  std::vector<InstanceGroup> groups;
  PyValue topology;
  PyValue source;
};

/// A dict of decoded values: each value is text that is JSON, or stays text where it is not.
/// Error: `invalid_input`: not a JSON object, or a value nested too deeply.
Result<PyValue> read_hyperparameters(const std::optional<std::string>& text,
                                     const std::string& path);

/// `host_name` is the only host where there is no file.
/// Error: `invalid_input`: hosts missing, empty, twice, not names; current_host not among them.
Result<ResourceConfig> read_resource_config(const std::optional<std::string>& text,
                                            const std::string& path, const std::string& host_name);

/// A resource config from a dict that was read already.
Result<ResourceConfig> resource_config_from(PyValue source, const std::string& path);

/// A dict by channel name. Error: `invalid_input`: not an object, or a name that is not valid for a
/// folder.
Result<PyValue> read_channels(const std::optional<std::string>& text, const std::string& path);
Result<PyValue> channels_from(PyValue channels, const std::string& path);

}  // namespace muster::job
