#include "job/spec.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/text.h"

namespace muster::job {
namespace {

constexpr int hosts_max = 999;
constexpr std::size_t host_folder_bytes_max = 90;  // Unix socket paths end at 107.
constexpr std::int64_t days_28_seconds = 28 * 86400;

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool all_of(std::string_view text, std::string_view more) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return is_letter_or_digit(c) || more.find(c) != std::string_view::npos;
  });
}

bool is_job_name(std::string_view name) {
  return !name.empty() && name.size() <= 63 && all_of(name, "-") && name.front() != '-' &&
         name.back() != '-';
}

bool is_channel_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && all_of(name, ".-_") && name != "." && name != "..";
}

bool is_variable_name(std::string_view name) {
  return !name.empty() && name.find('=') == std::string_view::npos;
}

Error wrong(const std::string& field, const std::string& expected) {
  return fail(Errc::invalid_input, field + ": expected " + expected);
}

Result<void> check_text(const std::string& field, std::string_view text) {
  if (!is_utf8(text) || text.find('\0') != std::string_view::npos)
    return wrong(field, "UTF-8 text without a NUL");
  return {};
}

Result<void> check_path(const std::string& field, std::string_view path, bool may_be_empty) {
  TRY(check_text(field, path));
  if (path.empty() && may_be_empty) return {};
  if (path.empty() || path.front() != '/') return wrong(field, "an absolute path");
  return {};
}

Result<void> check_map(const std::string& field, const Env& map) {
  for (const auto& [name, value] : map) {
    if (!is_variable_name(name)) return wrong(field, "names that are not empty and without '='");
    TRY(check_text(field, name));
    TRY(check_text(field + "[" + name + "]", value));
  }
  return {};
}

Result<void> check_input(const std::vector<InputChannel>& input) {
  for (std::size_t i = 0; i < input.size(); ++i) {
    const std::string field = "InputDataConfig[" + std::to_string(i) + "].";
    if (!is_channel_name(input[i].name))
      return wrong(field + "ChannelName", "1 to 64 letters, digits, '.', '-' or '_'");
    TRY(check_path(field + "Folder", input[i].folder, false));
    for (std::size_t j = 0; j < i; ++j)
      if (input[j].name == input[i].name)
        return wrong(field + "ChannelName", "each channel once; twice: " + input[i].name);
  }
  return {};
}

/// Reads fields of one JSON object into a struct; the first thing that is wrong stays.
class Fields {
 public:
  Fields(const Json& json, std::string path) : json_(json), path_(std::move(path)) {
    if (!json.is_object()) note(path_.empty() ? "specification" : path_, "an object");
  }

  void text(const char* name, std::string& value, bool required = false) {
    const Json* const found = find(name, required);
    if (found == nullptr) return;
    if (!found->is_string()) return note(path_of(name), "text");
    value = found->get<std::string>();
  }
  template <class Number>
  void integer(const char* name, Number& value) {
    const Json* const found = find(name, false);
    if (found == nullptr) return;
    if (!found->is_number_integer()) return note(path_of(name), "an integer");
    const std::int64_t read = found->get<std::int64_t>();
    if (read < std::numeric_limits<Number>::min() || read > std::numeric_limits<Number>::max())
      return note(path_of(name), "an integer in range");
    value = static_cast<Number>(read);
  }
  void texts(const char* name, std::map<std::string, std::string>& value) {
    const Json* const found = find(name, false);
    if (found == nullptr) return;
    if (!found->is_object()) return note(path_of(name), "an object of texts");
    for (const auto& [key, item] : found->items()) {
      if (!item.is_string()) return note(path_of(name) + "[" + key + "]", "text");
      value[key] = item.get<std::string>();
    }
  }
  const Json* array(const char* name) {
    const Json* const found = find(name, false);
    if (found != nullptr && !found->is_array()) note(path_of(name), "an array");
    return found != nullptr && found->is_array() ? found : nullptr;
  }
  const Json* object(const char* name) {
    const Json* const found = find(name, false);
    if (found != nullptr && !found->is_object()) note(path_of(name), "an object");
    return found != nullptr && found->is_object() ? found : nullptr;
  }
  /// Refuses fields that were not asked for above.
  void no_others() {
    if (error_ || !json_.is_object()) return;
    for (const auto& [key, item] : json_.items())
      if (std::find(known_.begin(), known_.end(), key) == known_.end())
        return note(path_of(key), "no such field");
  }
  void take(const Fields& inner) {
    if (!error_) error_ = inner.error_;
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  const Json* find(const char* name, bool required) {
    known_.emplace_back(name);
    if (!json_.is_object()) return nullptr;
    const Json::const_iterator found = json_.find(name);
    const bool there = found != json_.end() && !found->is_null();
    if (!there && required) note(path_of(name), "it to be there");
    return there ? &*found : nullptr;
  }
  std::string path_of(const std::string& name) const {
    return path_.empty() ? name : path_ + "." + name;
  }
  void note(const std::string& field, const std::string& expected) {
    if (!error_) error_ = wrong(field, expected);
  }

  const Json& json_;
  std::string path_;
  std::vector<std::string> known_;
  std::optional<Error> error_;
};

void read_own_part(const Json& json, Spec& spec, Fields& outer) {
  Fields own(json, "Muster");
  std::int64_t grace_ms = spec.grace.count();
  own.text("SourceFolder", spec.source_folder);
  own.text("Python", spec.python);
  own.text("Path", spec.path);
  own.integer("GraceMs", grace_ms);
  own.text("OutputFolder", spec.output_folder);
  own.integer("ShmBytes", spec.shm_bytes);
  own.integer("MemoryBytes", spec.memory_bytes);
  if (const Json* const binds = own.array("ReadOnlyBinds"))
    for (const Json& bind : *binds) spec.read_only_binds.push_back(bind.is_string() ? bind : "");
  own.no_others();
  spec.grace = std::chrono::milliseconds(grace_ms);
  outer.take(own);
}

void read_input(const Json& json, Spec& spec, Fields& outer) {
  for (std::size_t i = 0; i < json.size(); ++i) {
    Fields channel(json[i], "InputDataConfig[" + std::to_string(i) + "]");
    InputChannel read;
    channel.text("ChannelName", read.name, true);
    channel.text("Folder", read.folder, true);
    outer.take(channel);
    spec.input.push_back(std::move(read));
  }
}

}  // namespace

std::vector<std::string> host_names(int count) {
  std::vector<std::string> names;
  for (int i = 1; i <= count; ++i) names.push_back("algo-" + std::to_string(i));
  std::sort(names.begin(), names.end());
  return names;
}

const std::string& own_address(const HostSpec& spec) {
  for (const HostAddress& host : spec.hosts)
    if (host.name == spec.host) return host.address;
  CHECK_THAT(false, "a host that is not of its own job");
  return spec.host;
}

Result<void> check(const Spec& spec) {
  if (!is_job_name(spec.name))
    return wrong("TrainingJobName",
                 "1 to 63 letters, digits or inner '-', got \"" + to_utf8(spec.name) + "\"");
  TRY(check_map("HyperParameters", spec.hyperparameters));
  TRY(check_map("Environment", spec.environment));
  TRY(check_input(spec.input));
  if (spec.instance_count < 1 || spec.instance_count > hosts_max)
    return wrong("ResourceConfig.InstanceCount", "1 to " + std::to_string(hosts_max));
  TRY(check_text("ResourceConfig.InstanceType", spec.instance_type));
  if (spec.run_time_max.count() < 1 || spec.run_time_max.count() > days_28_seconds)
    return wrong("StoppingCondition.MaxRuntimeInSeconds", "1 to 2419200 (28 days)");
  TRY(check_path("Muster.SourceFolder", spec.source_folder, true));
  TRY(check_path("Muster.Python", spec.python, true));
  TRY(check_text("Muster.Path", spec.path));
  TRY(check_path("Muster.OutputFolder", spec.output_folder, true));
  if (spec.grace.count() < 0 || spec.grace.count() > 86400 * 1000)
    return wrong("Muster.GraceMs", "0 to 86400000 (a day)");
  if (spec.shm_bytes < 65536) return wrong("Muster.ShmBytes", "at least 65536");
  if (spec.memory_bytes != 0 && spec.memory_bytes < (8 << 20))
    return wrong("Muster.MemoryBytes", "0 (no limit) or at least 8388608");
  for (const std::string& path : spec.read_only_binds)
    TRY(check_path("Muster.ReadOnlyBinds", path, false));
  return {};
}

Result<void> check(const HostSpec& spec) {
  TRY(check(spec.spec));
  bool found = false;
  for (const HostAddress& host : spec.hosts) {
    if (!is_job_name(host.name)) return wrong("hosts", "names like algo-1");
    if (host.address.empty() || host.address.find_first_not_of("0123456789.") != std::string::npos)
      return wrong("hosts[" + host.name + "].address", "a numeric IPv4 address");
    found = found || host.name == spec.host;
  }
  if (!found) return wrong("host", "one of \"hosts\", got \"" + to_utf8(spec.host) + "\"");
  if (spec.bridge.empty() || spec.bridge.size() > 15 || !all_of(spec.bridge, ""))
    return wrong("bridge", "an interface name of at most 15 letters and digits");
  if (spec.prefix_length < 8 || spec.prefix_length > 30) return wrong("prefix_length", "8 to 30");
  if (spec.bridge_address.empty() ||
      spec.bridge_address.find_first_not_of("0123456789.") != std::string::npos)
    return wrong("bridge_address", "a numeric IPv4 address");
  TRY(check_path("state_folder", spec.state_folder, false));
  TRY(check_path("job_folder", spec.job_folder, false));
  TRY(check_path("host_folder", spec.host_folder, false));
  if (spec.host_folder.size() > host_folder_bytes_max)
    return wrong("host_folder", "at most " + std::to_string(host_folder_bytes_max) +
                                    " bytes (a socket in it must have a path)");
  return check_path("key_file", spec.key_file, false);
}

Json to_json(const Spec& spec) {
  Json input = Json::array();
  for (const InputChannel& channel : spec.input)
    input.push_back({{"ChannelName", channel.name}, {"Folder", channel.folder}});
  return Json{
      {"TrainingJobName", spec.name},
      {"HyperParameters", spec.hyperparameters},
      {"InputDataConfig", input},
      {"Environment", spec.environment},
      {"ResourceConfig",
       {{"InstanceCount", spec.instance_count}, {"InstanceType", spec.instance_type}}},
      {"StoppingCondition", {{"MaxRuntimeInSeconds", spec.run_time_max.count()}}},
      {"AlgorithmSpecification", {{"TrainingImage", "host"}, {"TrainingInputMode", "File"}}},
      {"Muster",
       {{"SourceFolder", spec.source_folder},
        {"Python", spec.python},
        {"Path", spec.path},
        {"GraceMs", spec.grace.count()},
        {"OutputFolder", spec.output_folder},
        {"ReadOnlyBinds", spec.read_only_binds},
        {"ShmBytes", spec.shm_bytes},
        {"MemoryBytes", spec.memory_bytes}}}};
}

Json to_json(const HostSpec& spec) {
  Json hosts = Json::array();
  for (const HostAddress& host : spec.hosts)
    hosts.push_back({{"name", host.name}, {"address", host.address}});
  return Json{{"spec", to_json(spec.spec)},
              {"host", spec.host},
              {"hosts", hosts},
              {"bridge", spec.bridge},
              {"bridge_address", spec.bridge_address},
              {"prefix_length", spec.prefix_length},
              {"state_folder", spec.state_folder},
              {"job_folder", spec.job_folder},
              {"host_folder", spec.host_folder},
              {"key_file", spec.key_file}};
}

Result<Spec> spec_from(const Json& json) {
  Spec spec;
  Fields fields(json, "");
  std::int64_t seconds = spec.run_time_max.count();
  fields.text("TrainingJobName", spec.name, true);
  fields.texts("HyperParameters", spec.hyperparameters);
  fields.texts("Environment", spec.environment);
  if (const Json* const input = fields.array("InputDataConfig")) read_input(*input, spec, fields);
  if (const Json* const resources = fields.object("ResourceConfig")) {
    Fields inner(*resources, "ResourceConfig");
    inner.integer("InstanceCount", spec.instance_count);
    inner.text("InstanceType", spec.instance_type);
    fields.take(inner);
  }
  if (const Json* const stopping = fields.object("StoppingCondition")) {
    Fields inner(*stopping, "StoppingCondition");
    inner.integer("MaxRuntimeInSeconds", seconds);
    fields.take(inner);
  }
  if (const Json* const own = fields.object("Muster")) read_own_part(*own, spec, fields);
  if (fields.error()) return *fields.error();
  spec.run_time_max = std::chrono::seconds(seconds);
  TRY(check(spec));
  return spec;
}

Result<HostSpec> host_spec_from(const Json& json) {
  HostSpec spec;
  Fields fields(json, "");
  const Json* const job = fields.object("spec");
  if (job == nullptr && !fields.error()) return wrong("spec", "it to be there");
  fields.text("host", spec.host, true);
  if (const Json* const hosts = fields.array("hosts"))
    for (std::size_t i = 0; i < hosts->size(); ++i) {
      Fields inner((*hosts)[i], "hosts[" + std::to_string(i) + "]");
      HostAddress& host = spec.hosts.emplace_back();
      inner.text("name", host.name, true);
      inner.text("address", host.address, true);
      fields.take(inner);
    }
  fields.text("bridge", spec.bridge, true);
  fields.text("bridge_address", spec.bridge_address, true);
  fields.integer("prefix_length", spec.prefix_length);
  fields.text("state_folder", spec.state_folder, true);
  fields.text("job_folder", spec.job_folder, true);
  fields.text("host_folder", spec.host_folder, true);
  fields.text("key_file", spec.key_file, true);
  fields.no_others();
  if (fields.error()) return *fields.error();
  spec.spec = TRY(spec_from(*job));
  TRY(check(spec));
  return spec;
}

}  // namespace muster::job
