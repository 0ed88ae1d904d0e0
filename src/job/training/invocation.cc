#include "job/training/invocation.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/dates.h"
#include "base/letters.h"
#include "base/text.h"

namespace muster::job {
namespace {

/// Shorter values are masked under their names only: elsewhere they may be any word or number.
constexpr std::size_t searched_bytes_min = 6;

/// "wandbApi-KEY" is wandb, api, key.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  char before = '\0';
  for (const char c : name) {
    const bool letter = is_lower(c) || is_upper(c) || (static_cast<unsigned char>(c) & 0x80) != 0;
    if (!letter || (is_upper(c) && is_lower(before))) words.emplace_back();
    if (letter) words.back() += is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
    before = c;
  }
  return words;
}

bool is_number(const PyValue& value) {
  if (!value.is_text())
    return value.kind == PyValue::Kind::integer || value.kind == PyValue::Kind::real ||
           value.kind == PyValue::Kind::boolean;
  const Result<PyValue> decoded = python_loads(value.text);
  return decoded && !decoded->is_text() && is_number(*decoded);
}

/// A value with its secrets masked, at any depth; `secrets` gets their texts.
PyValue masked(std::string_view name, const PyValue& value, std::set<std::string>& secrets) {
  if (value.truthy() && is_secret(name, value)) {
    if (value.is_text()) secrets.insert(value.text);
    return PyValue::of_text(masked_value);
  }
  PyValue result = value;
  for (PyValue& item : result.items) item = masked(name, item, secrets);
  for (PyValue::Member& member : result.members)
    member.second = masked(member.first, member.second, secrets);
  return result;
}

void replace_all(std::string& text, const std::string& what) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
    text.replace(at, what.size(), masked_value);
    at += std::string_view(masked_value).size();
  }
}

/// `--name value` and `--name=value`.
Args masked_command(const Args& command) {
  Args result = command;
  for (std::size_t i = 0; i < result.size(); ++i) {
    std::string& word = result[i];
    if (!word.starts_with('-')) continue;
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (equals != std::string::npos) {
      if (is_secret(name, PyValue::of_text(word.substr(equals + 1))))
        word = name + "=" + masked_value;
    } else if (i + 1 < result.size() && !result[i + 1].empty() &&
               is_secret(name, PyValue::of_text(result[i + 1]))) {
      result[++i] = masked_value;
    }
  }
  return result;
}

/// As `variables`, each value that comes from the job taken from the masked job.
Env masked_variables(const Env& variables, const Training& training, const Training& shown,
                     std::set<std::string>& secrets) {
  const Env plain = sm_variables(training);
  const Env clean = sm_variables(shown);
  Env result;
  for (const auto& [name, value] : variables) {
    const Env::const_iterator own = plain.find(name);
    const bool from_job = own != plain.end() && own->second == value;
    result[name] = from_job ? clean.at(name) : value;
    if (value.empty() || !is_secret(name, PyValue::of_text(value))) continue;
    if (!from_job) secrets.insert(value);
    result[name] = masked_value;
  }
  return result;
}

std::string unfolded(const PyValue& properties, const Env& variables) {
  std::vector<std::string> lines;
  for (const auto& [name, value] : variables) lines.push_back(name + "=" + value);
  return "Training Env:\n\n" + python_dumps_plain(properties, 4) +
         "\n\nEnvironment variables:\n\n" + join(lines, "\n");
}

std::string folded(const PyValue& properties, const Env& variables) {
  return "Training Env: " + std::to_string(properties.members.size()) +
         " values, environment variables: " + std::to_string(variables.size()) +
         " (MUSTER_TRAINING_LOG=1 in the job's environment shows them)";
}

}  // namespace

bool is_secret(std::string_view name, const PyValue& value) {
  // Some that are often written as one word.
  constexpr std::array anywhere = {"secret",     "password", "passwd",    "passphrase",
                                   "credential", "apikey",   "accesskey", "privatekey",
                                   "authkey",    "apitoken", "authtoken", "accesstoken"};
  constexpr std::array whole = {"key", "keys", "token", "tokens"};
  bool maybe = false;
  for (const std::string& word : words_of(name)) {
    for (const char* part : anywhere)
      if (word.find(part) != std::string::npos) return true;
    if (word == "pwd") return true;
    maybe = maybe || std::find(whole.begin(), whole.end(), word) != whole.end();
  }
  if (!maybe || value.is_dict() || value.is_list()) return false;
  return !is_number(value);
}

std::string invocation_text(const Training& training, const Invocation& invocation) {
  std::set<std::string> secrets;
  Training shown = training;
  for (PyValue* part : {&shown.hyperparameters, &shown.framework_parameters, &shown.resource_config,
                        &shown.input_data_config})
    *part = masked("", *part, secrets);
  const Args script_args = masked_command(shown.script_args);
  for (std::size_t i = 0; i < script_args.size(); ++i)
    if (script_args[i] == masked_value) secrets.insert(training.script_args[i]);
  shown.script_args = script_args;
  const Env clean = masked_variables(invocation.variables, training, shown, secrets);

  std::string text = "Invoking user script\n\n" +
                     (invocation.is_folded ? folded(properties(shown), clean)
                                           : unfolded(properties(shown), clean)) +
                     "\n\n" + command_text(invocation.command, invocation.rank_command);
  for (const std::string& secret : secrets)
    if (secret.size() >= searched_bytes_min) replace_all(text, secret);
  return text;
}

std::string command_text(const Args& command, const Args& rank_command) {
  std::string text = "Invoking script with the following command:\n\n" +
                     join(masked_command(command), " ") + "\n\n";
  if (!rank_command.empty())
    text += "each rank runs: " + join(masked_command(rank_command), " ") + "\n\n";
  return text;
}

std::string log_line(int level, std::string_view text, std::int64_t unix_ms) {
  std::string name = "Level " + std::to_string(level);
  constexpr std::array<std::pair<int, const char*>, 5> names = {
      {{10, "DEBUG"}, {20, "INFO"}, {30, "WARNING"}, {40, "ERROR"}, {50, "CRITICAL"}}};
  for (const auto& [number, known] : names)
    if (number == level) name = known;
  name.resize(std::max(name.size(), std::string_view("CRITICAL").size()), ' ');
  const UnixMillis time(unix_ms);
  const std::string millis = std::to_string(1000 + (unix_ms % 1000 + 1000) % 1000).substr(1);
  return utc_text(time) + "," + millis + " sagemaker-training-toolkit " + name + " " +
         std::string(text);
}

Result<int> log_level(const Training& training) {
  const PyValue& level = training.log_level;
  if (level.kind == PyValue::Kind::boolean) return level.boolean ? 1 : 0;
  if (level.kind == PyValue::Kind::integer || level.is_text()) {
    const std::optional<std::int64_t> number = parse_integer(level.text);
    if (number && *number >= -1000000 && *number <= 1000000) return static_cast<int>(*number);
    constexpr std::array<std::pair<const char*, int>, 8> names = {{{"NOTSET", 0},
                                                                   {"DEBUG", 10},
                                                                   {"INFO", 20},
                                                                   {"WARN", 30},
                                                                   {"WARNING", 30},
                                                                   {"ERROR", 40},
                                                                   {"FATAL", 50},
                                                                   {"CRITICAL", 50}}};
    std::string upper = level.text;
    for (char& c : upper)
      if (is_lower(c)) c = static_cast<char>(c - 'a' + 'A');
    for (const auto& [name, value] : names)
      if (upper == name) return value;
  }
  return fail(
      Errc::invalid_input,
      "hyperparameter sagemaker_container_log_level is " + python_dumps(level) +
          "; expected a number such as 20, or one of DEBUG, INFO, WARNING, ERROR, CRITICAL");
}

}  // namespace muster::job
