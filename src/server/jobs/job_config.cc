#include "server/jobs/job_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/fields.h"
#include "base/text.h"
#include "job/host_spec.h"
#include "server/jobs/aws_image.h"
#include "server/queue/queue_order.h"

namespace muster::jobs {
namespace {

constexpr double gib = 1024.0 * 1024.0 * 1024.0;
constexpr double number_max = 1e9;
constexpr std::chrono::seconds pull_limit_max = std::chrono::hours(7 * 24);
constexpr const char* local_type = "local";
constexpr const char* all_gpus_type = "local_gpu";
constexpr std::size_t unfit_gpus_named = 4;
constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

Error expected_key(const std::string& key, const std::string& want) {
  return expected("jobs." + key, want);
}

Result<double> number_at(const Json& json, const std::string& key) {
  if (!json.is_number()) return expected_key(key, "a number");
  const double value = json.get<double>();
  if (!std::isfinite(value) || value < 0 || value > number_max)
    return expected_key(key, "a number from 0 to 1000000000");
  return value;
}

Result<std::int64_t> cpu_millis_at(double cpus, const std::string& key) {
  const std::int64_t millis = cpus > 0 ? std::max(std::llround(cpus * 1000), 1LL) : 0;
  if (!job::is_cpu_limit(millis))
    return expected_key(key, "0 (no limit), or a number from 0.01 to 1000");
  return millis;
}

Result<std::int64_t> user_id_at(const Json& json, const std::string& key) {
  const std::int64_t id = json.is_number_integer() ? json.get<std::int64_t>() : 0;
  if (id < job::first_id_min || id > job::first_id_max)
    return expected_key(key, "a whole number from 65536 to 2147418112");
  return id;
}

Result<std::string> text_at(const Json& json, const std::string& key) {
  if (json.is_string() && !json.get_ref<const std::string&>().empty())
    return json.get<std::string>();
  return expected_key(key, "text");
}

Result<std::string> absolute_path_at(const Json& json, const std::string& key) {
  std::string path = TRY(text_at(json, key));
  if (!path.starts_with('/')) return expected_key(key, "an absolute path");
  return path;
}

Result<job::Network> network_at(const Json& json, const std::string& key) {
  const std::optional<job::Network> network =
      json.is_string() ? job::network_from(json.get_ref<const std::string&>()) : std::nullopt;
  // Jobs of a server are other people's code, so none may use the machine's own network.
  if (network && *network != job::Network::host) return *network;
  return expected_key(key, "\"nat\" or \"none\"");
}

Result<std::vector<JobConfig::PriorityMax>> priority_max_at(const Json& json) {
  if (!json.is_object())
    return expected_key("priority_max", "an object whose keys are access key IDs");
  std::vector<JobConfig::PriorityMax> all;
  for (const auto& [name, value] : json.items()) {
    const std::int64_t most = value.is_number_integer() ? value.get<std::int64_t>() : -1;
    if (most < 0 || most > priority_max)
      return expected_key("priority_max." + name, "a whole number from 0 to 9");
    all.push_back({name, static_cast<int>(most)});
  }
  return all;
}

Result<Env> environment_at(const Json& json) {
  if (!json.is_object())
    return expected_key("environment", "an object whose keys are variable names");
  Env environment;
  for (const auto& [name, value] : json.items()) {
    const std::string* const text =
        value.is_string() ? &value.get_ref<const std::string&>() : nullptr;
    const bool is_name =
        !name.empty() && name.find_first_of(std::string("=\0", 2)) == std::string::npos;
    if (!is_name || text == nullptr || text->find('\0') != std::string::npos)
      return expected_key("environment." + name, "a variable name with a string value");
    environment[name] = *text;
  }
  return environment;
}

Result<JobConfig::Instance> instance_at(const Json& json, const std::string& key) {
  if (!json.is_object()) return expected_key(key, "an object with cpus, memory_gib and gpus");
  JobConfig::Instance instance;
  for (const auto& [name, value] : json.items()) {
    const double number = TRY(number_at(value, key + "." + name));
    if (name == "cpus")
      instance.cpu_millis = TRY(cpu_millis_at(number, key + ".cpus"));
    else if (name == "memory_gib")
      instance.memory_bytes = static_cast<std::int64_t>(number * gib);
    else if (name == "gpus")
      instance.gpus = static_cast<int>(number);
    else
      return expected_key(key + "." + name, "one of the keys cpus, memory_gib, gpus");
  }
  return instance;
}

Result<std::vector<JobConfig::Image>> images_at(const Json& json) {
  if (!json.is_object()) return expected_key("images", "an object whose keys are image names");
  std::vector<JobConfig::Image> images;
  for (const auto& [name, value] : json.items()) {
    JobConfig::Image image{name, {}};
    if (!value.is_object()) return expected_key("images." + name, "{\"python\": PATH} or {}");
    for (const auto& [field, text] : value.items()) {
      if (field != "python")
        return expected_key("images." + name + "." + field, "the key \"python\"");
      image.python = TRY(text_at(text, "images." + name + ".python"));
    }
    images.push_back(std::move(image));
  }
  return images;
}

Result<Amounts> capacity_at(const Json& json) {
  if (!json.is_object())
    return expected_key(
        "capacity",
        "an object whose keys are cpus, memory_gib, gpus, hosts or names of instance types");
  Amounts capacity;
  for (const auto& [name, value] : json.items()) {
    const double number = TRY(number_at(value, "capacity." + name));
    if (name == "cpus")
      capacity["cpu"] = static_cast<std::int64_t>(number * 1000);
    else if (name == "memory_gib")
      capacity["memory"] = static_cast<std::int64_t>(number * gib);
    else if (name == "gpus")
      capacity["gpu"] = static_cast<std::int64_t>(number);
    else
      capacity[name] = static_cast<std::int64_t>(number);
  }
  return capacity;
}

/// A JSON object has no order of its own: names without '*' come first, then longer ones.
template <class T>
void most_exact_first(std::vector<T>& named) {
  std::stable_sort(named.begin(), named.end(), [](const T& a, const T& b) {
    const bool open_a = a.pattern.find('*') != std::string::npos;
    const bool open_b = b.pattern.find('*') != std::string::npos;
    return open_a != open_b ? open_b : a.pattern.size() > b.pattern.size();
  });
}

JobConfig without_file() {
  JobConfig config;
  config.instances = {{"*", {}}};
  config.images = {{"host", {}}};
  config.aws_images = true;
  return config;
}

Result<void> set_python(JobConfig& config, const Json& json) {
  config.python = TRY(text_at(json, "python"));
  return {};
}

Result<void> set_images(JobConfig& config, const Json& json) {
  config.images = TRY(images_at(json));
  config.aws_images = false;
  return {};
}

Result<void> set_instance_types(JobConfig& config, const Json& json) {
  if (!json.is_object())
    return expected_key("instance_types", "an object whose keys are instance types");
  config.instances.clear();
  for (const auto& [name, each] : json.items()) {
    const JobConfig::Instance instance = TRY(instance_at(each, "instance_types." + name));
    config.instances.push_back({name, instance});
  }
  return {};
}

Result<void> set_capacity(JobConfig& config, const Json& json) {
  config.capacity = TRY(capacity_at(json));
  return {};
}

Result<void> set_first_user_id(JobConfig& config, const Json& json) {
  config.first_user_id = TRY(user_id_at(json, "first_user_id"));
  return {};
}

Result<void> set_stop_grace(JobConfig& config, const Json& json) {
  const double seconds = TRY(number_at(json, "stop_grace_seconds"));
  config.stop_grace = std::chrono::seconds(std::llround(seconds));
  return {};
}

Result<void> set_hang_after(JobConfig& config, const Json& json) {
  const double number = TRY(number_at(json, "hang_after_seconds"));
  config.hang_after = std::chrono::seconds(std::llround(number));
  if (config.hang_after.count() == 0) return {};
  if (config.hang_after >= job::hang_after_min && config.hang_after <= job::training_time_max)
    return {};
  return expected_key("hang_after_seconds", "0, or a number of seconds from 10 to 2419200");
}

Result<void> set_end_hung(JobConfig& config, const Json& json) {
  if (!json.is_boolean()) return expected_key("end_hung", "true or false");
  config.end_hung = json.get<bool>();
  return {};
}

Result<void> set_native_drivers(JobConfig& config, const Json& json) {
  if (!json.is_boolean()) return expected_key("native_drivers", "true or false");
  config.native_drivers = json.get<bool>();
  return {};
}

Result<void> set_sick_gpus(JobConfig& config, const Json& json) {
  if (json != "avoid" && json != "use") return expected_key("sick_gpus", "\"avoid\" or \"use\"");
  config.uses_sick_gpus = json == "use";
  return {};
}

Result<void> set_network(JobConfig& config, const Json& json) {
  config.network = TRY(network_at(json, "network"));
  return {};
}

Result<void> set_pip_conf(JobConfig& config, const Json& json) {
  config.pip_conf = TRY(absolute_path_at(json, "pip_conf"));
  return {};
}

Result<void> set_environment(JobConfig& config, const Json& json) {
  config.environment = TRY(environment_at(json));
  return {};
}

Result<void> set_vpc(JobConfig& config, const Json& json) {
  if (json != "known" && json != "any") return expected_key("vpc", "\"known\" or \"any\"");
  config.any_vpc = json == "any";
  return {};
}

Result<void> set_priority_max(JobConfig& config, const Json& json) {
  config.priority_max = TRY(priority_max_at(json));
  return {};
}

Result<void> set_waiting_max(JobConfig& config, const Json& json) {
  const bool is_good = json.is_number_unsigned() && json.get<std::uint64_t>() >= 1 &&
                       json.get<std::uint64_t>() <= 1'000'000;
  if (!is_good) return expected_key("waiting_max", "a whole number from 1 to 1000000");
  config.waiting_max = json.get<std::size_t>();
  return {};
}

Result<void> set_registries(JobConfig& config, const Json& json) {
  if (!json.is_array())
    return expected_key("registries", "a list, e.g. [\"registry.example.com/team/*\"]");
  for (const Json& each : json) {
    const std::string pattern = TRY(text_at(each, "registries"));
    const bool plain = pattern.find_first_of(" \t\n@") == std::string::npos;
    if (!plain || (pattern != "*" && pattern.find('/') == std::string::npos))
      return expected_key(
          "registries", "an image pattern, e.g. \"registry.example.com/team/*\" or \"*\", got \"" +
                            pattern + "\"");
    config.registries.push_back(pattern);
  }
  return {};
}

Result<void> set_pull(JobConfig& config, const Json& json) {
  const std::string text = json.is_string() ? json.get<std::string>() : "";
  for (const auto& [name, pull] : {std::pair("missing", job::Pull::missing),
                                   {"always", job::Pull::always},
                                   {"never", job::Pull::never}})
    if (text == name) {
      config.pull = pull;
      return {};
    }
  return expected_key("pull", "\"missing\", \"always\" or \"never\"");
}

Result<void> set_pull_limit(JobConfig& config, const Json& json) {
  const std::int64_t seconds = json.is_number_integer() ? json.get<std::int64_t>() : 0;
  if (seconds < 1 || seconds > pull_limit_max.count())
    return expected_key("pull_limit", "a whole number of seconds from 1 to 604800");
  config.pull_limit = std::chrono::seconds(seconds);
  return {};
}

Result<void> set_image_store(JobConfig& config, const Json& json) {
  const double number = TRY(number_at(json, "image_store_gib"));
  if (number <= 0) return expected_key("image_store_gib", "a number above 0");
  config.image_store_bytes = static_cast<std::int64_t>(number * gib);
  return {};
}

Result<void> set_s3_budget(JobConfig& config, const Json& json) {
  const double number = TRY(number_at(json, "s3_budget_gib"));
  config.s3_budget_bytes = static_cast<std::uint64_t>(number * gib);
  return {};
}

Result<void> set_registry_logins(JobConfig& config, const Json& json) {
  config.registry_logins = TRY(absolute_path_at(json, "registry_logins"));
  return {};
}

Result<JobConfig::CredentialsProvider> provider_at(const Json& json, const std::string& key) {
  if (!json.is_object()) return expected_key(key, "an object with registries and logins");
  JobConfig::CredentialsProvider provider;
  for (const auto& [name, value] : json.items()) {
    const std::string place = key + "." + name;
    if (name == "logins") {
      provider.logins = TRY(text_at(value, place));
    } else if (name == "registries") {
      if (!value.is_array()) return expected_key(place, "a list, e.g. [\"registry.lab:5000\"]");
      for (const Json& each : value) provider.registries.push_back(TRY(text_at(each, place)));
    } else {
      return expected_key(place, "one of the keys registries and logins");
    }
  }
  for (const std::string& registry : provider.registries)
    if (registry.find_first_of("/* \t\n") != std::string::npos)
      return expected_key(key + ".registries",
                          "a registry, e.g. \"registry.lab:5000\", got \"" + registry + "\"");
  if (provider.registries.empty())
    return expected_key(key + ".registries", "at least one registry, e.g. [\"registry.lab:5000\"]");
  if (!provider.logins.starts_with('/')) return expected_key(key + ".logins", "an absolute path");
  return provider;
}

Result<void> set_credentials_providers(JobConfig& config, const Json& json) {
  const std::string key = "credentials_providers";
  if (!json.is_object()) return expected_key(key, "an object whose keys are ARNs");
  for (const auto& [arn, value] : json.items()) {
    if (!arn.starts_with("arn:"))
      return expected_key(
          key,
          "an ARN, e.g. arn:aws:lambda:us-east-1:000000000000:function:team, got \"" + arn + "\"");
    JobConfig::CredentialsProvider provider = TRY(provider_at(value, key + "." + arn));
    config.credentials_providers.insert_or_assign(arn, std::move(provider));
  }
  return {};
}

Result<void> set_image_policy(JobConfig& config, const Json& json) {
  config.image_policy = TRY(absolute_path_at(json, "image_policy"));
  return {};
}

/// docs/users/configuration.md has a line for each.
constexpr struct {
  const char* name;
  Result<void> (*set)(JobConfig& config, const Json& json);
} keys[] = {
    {"python", set_python},
    {"images", set_images},
    {"registries", set_registries},
    {"pull", set_pull},
    {"pull_limit", set_pull_limit},
    {"image_store_gib", set_image_store},
    {"registry_logins", set_registry_logins},
    {"credentials_providers", set_credentials_providers},
    {"image_policy", set_image_policy},
    {"instance_types", set_instance_types},
    {"capacity", set_capacity},
    {"sick_gpus", set_sick_gpus},
    {"priority_max", set_priority_max},
    {"waiting_max", set_waiting_max},
    {"first_user_id", set_first_user_id},
    {"stop_grace_seconds", set_stop_grace},
    {"hang_after_seconds", set_hang_after},
    {"end_hung", set_end_hung},
    {"native_drivers", set_native_drivers},
    {"s3_budget_gib", set_s3_budget},
    {"network", set_network},
    {"vpc", set_vpc},
    {"environment", set_environment},
    {"pip_conf", set_pip_conf},
};

Result<void> set_key(JobConfig& config, const std::string& name, const Json& json) {
  std::vector<std::string> names;
  for (const auto& key : keys) {
    if (name == key.name) return key.set(config, json);
    names.emplace_back(key.name);
  }
  return expected_key(name, "one of the keys " + join(names, ", "));
}

}  // namespace

bool is_aws_type(std::string_view type) {
  const std::vector<std::string> parts = split(type, '.');
  if (parts.size() != 3 || parts[0] != "ml" || parts[1].empty()) return false;
  const std::string_view size = parts[2];
  constexpr std::array words = {"medium", "large", "xlarge", "metal"};
  if (std::find(words.begin(), words.end(), size) != words.end()) return true;
  const std::size_t digits = size.find_first_not_of("0123456789");
  return digits != 0 && digits != std::string_view::npos && size.substr(digits) == "xlarge";
}

bool is_aws_gpu_type(std::string_view type) {
  return is_aws_type(type) && (type.starts_with("ml.g") || type.starts_with("ml.p"));
}

std::optional<JobConfig::Instance> JobConfig::instance(const std::string& type) const {
  for (const Named& named : instances)
    if (matches(named.pattern, type) && (type != all_gpus_type || named.pattern == type))
      return named.instance;
  if (type == all_gpus_type) return Instance{.gpus = machine_gpus};
  if (type == local_type || is_aws_type(type)) return Instance{};
  return std::nullopt;
}

std::string JobConfig::known_types() const {
  std::set<std::string> names{local_type};
  if (machine_gpus > 0) names.insert(all_gpus_type);
  for (const Named& named : instances) names.insert(named.pattern);
  return join({names.begin(), names.end()}, ", ");
}

/// A key that was created on the page can give at most the priority of its creators, unless the
/// config lists it.
int JobConfig::priority_max_of(const std::string& key,
                               const std::vector<std::string>& makers) const {
  const auto most_of = [this](const std::string& id) {
    for (const PriorityMax& each : priority_max)
      if (matches(each.pattern, id)) return each.most;
    return jobs::priority_max;
  };
  int most = most_of(key);
  const bool is_named = std::any_of(priority_max.begin(), priority_max.end(),
                                    [&](const PriorityMax& each) { return each.pattern == key; });
  if (is_named) return most;
  for (const std::string& maker : makers) most = std::min(most, most_of(maker));
  return most;
}

std::optional<std::string> JobConfig::python_of(const std::string& image) const {
  for (const Image& known : images)
    if (matches(known.pattern, image)) return known.python.empty() ? python : known.python;
  if (aws_images && aws_image(image)) return python;
  return std::nullopt;
}

Result<JobConfig> job_config_from(const Json& json, int processors) {
  JobConfig config = without_file();
  if (!json.is_object()) return expected("jobs", "an object");
  for (const auto& [name, value] : json.items()) TRY(set_key(config, name, value));
  most_exact_first(config.instances);
  most_exact_first(config.images);
  most_exact_first(config.priority_max);
  config.larger_alone = processors > 0 && !json.contains("capacity");
  if (config.larger_alone) config.capacity["hosts"] = std::int64_t{2} * processors;
  return config;
}

void count_in_gpus(JobConfig& config, int gpus, const std::vector<std::string>& unfit) {
  config.machine_gpus = gpus;
  config.notes.erase("gpu");
  const auto limit = config.capacity.find("gpu");
  const bool has_limit = limit != config.capacity.end();
  if (!config.gpus_max) config.gpus_max = has_limit ? limit->second : no_limit;
  if (gpus == 0 && unfit.empty()) return;
  config.capacity["gpu"] = std::min<std::int64_t>(*config.gpus_max, gpus);
  if (unfit.empty()) return;
  const std::size_t named = std::min(unfit.size(), unfit_gpus_named);
  config.notes["gpu"] =
      join({unfit.begin(), unfit.begin() + static_cast<std::ptrdiff_t>(named)}, "; ");
  if (named < unfit.size())
    config.notes["gpu"] += "; and " + std::to_string(unfit.size() - named) + " more";
}

Result<void> check_gpus(const JobConfig& config, const std::function<Result<int>()>& count) {
  std::string key;
  std::int64_t most = 0;
  const auto look = [&](const std::string& where, std::int64_t gpus) {
    if (gpus <= most) return;
    key = where + ".gpus";
    most = gpus;
  };
  for (const JobConfig::Named& named : config.instances)
    look("instance_types." + named.pattern, named.instance.gpus);
  const auto capacity = config.capacity.find("gpu");
  if (capacity != config.capacity.end()) look("capacity", capacity->second);
  if (most == 0) return {};
  const int there = TRY(count());
  if (most <= there) return {};
  return expected_key(key, (there == 0 ? "0 (this machine has no GPU that can be opened)"
                                       : "at most " + std::to_string(there) +
                                             " (the number of this machine's GPUs)") +
                               ", got " + std::to_string(most));
}

std::vector<std::string> missing_interpreters(
    const JobConfig& config, const std::function<bool(const std::string&)>& is_program) {
  std::vector<std::string> lines;
  const auto look = [&](const std::string& key, const std::string& python) {
    if (python.find('/') != std::string::npos && !is_program(python))
      lines.push_back("jobs." + key + ": program not found: " + python +
                      "; jobs that need it will fail");
  };
  look("python", config.python);
  for (const JobConfig::Image& image : config.images)
    look("images." + image.pattern + ".python", image.python);
  return lines;
}

}  // namespace muster::jobs
