#include "job/launch/mpirun_options.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "job/launch/mpi_flavour.h"
#include "job/launch/mpirun_options_table.h"

namespace muster::launch {
namespace {

using Kind = MpirunOption::Kind;

struct RefusedParameter {
  std::string_view name;  ///< Ends with '*': every parameter that begins so.
  const char* why;
};

constexpr std::array refused_parameters = {
    RefusedParameter{"plm_base_verbose", nullptr},
    RefusedParameter{"plm_rsh_verbose", nullptr},
    RefusedParameter{"plm_ssh_verbose", nullptr},
    RefusedParameter{"plm", daemons_are_ours},
    RefusedParameter{"plm_*", daemons_are_ours},
    RefusedParameter{"pls_*", daemons_are_ours},
    RefusedParameter{"ras", hosts_are_ours},
    RefusedParameter{"ras_*", hosts_are_ours},
    RefusedParameter{"ess", daemons_are_ours},
    RefusedParameter{"ess_*", daemons_are_ours},
    RefusedParameter{"rmaps_base_no_schedule_local", hosts_are_ours},
    RefusedParameter{"orte_launch_agent", daemons_are_ours},
    RefusedParameter{"orte_rsh_agent", daemons_are_ours},
    RefusedParameter{"orte_leave_session_attached", daemons_are_ours},
    RefusedParameter{"orte_daemonize", daemons_are_ours},
    RefusedParameter{"orte_parent_uri", daemons_are_ours},
    RefusedParameter{"orte_hnp_uri", daemons_are_ours},
    RefusedParameter{"orte_local_daemon_uri", daemons_are_ours},
    RefusedParameter{"orte_ess_*", daemons_are_ours},
    RefusedParameter{"orte_node_regex", hosts_are_ours},
    RefusedParameter{"orte_default_hostfile", hosts_are_ours},
    RefusedParameter{"orte_max_vm_size", hosts_are_ours},
    RefusedParameter{"orte_fork_agent", wraps_ranks},
    RefusedParameter{"orte_xterm", wraps_ranks},
    RefusedParameter{"orte_do_not_launch", starts_nothing},
    RefusedParameter{"prte_launch_agent", daemons_are_ours},
    RefusedParameter{"prte_ssh_agent", daemons_are_ours},
    RefusedParameter{"prte_hnp_uri", daemons_are_ours},
    RefusedParameter{"prte_parent_uri", daemons_are_ours},
    RefusedParameter{"prte_ess_*", daemons_are_ours},
    RefusedParameter{"prte_default_hostfile", hosts_are_ours},
    RefusedParameter{"prte_default_dash_host", hosts_are_ours},
    RefusedParameter{"prte_max_vm_size", hosts_are_ours},
    RefusedParameter{"prte_fwd_environment", variables_are_hosts},
    RefusedParameter{"mca_base_env_list", "mpirun rejects it together with -x; use -x"},
};

Error invalid_options(const std::string& what) {
  return fail(Errc::invalid_input, "sagemaker_mpi_custom_mpi_options: " + what);
}

Error refused(const std::string& word, const char* why) {
  return invalid_options("\"" + to_utf8(word) + "\" cannot be set by a job: " + why);
}

/// Reads one option after the other into a CustomOptions.
class Reader {
 public:
  Reader(Args words, const MpiFlavour& flavour) : words_(std::move(words)), flavour_(flavour) {}

  Result<CustomOptions> read() {
    while (at_ < words_.size()) TRY(read_one());
    return std::move(found_);
  }

 private:
  Result<void> read_one() {
    std::string word = words_[at_++];
    // Guides print "-X NAME=VALUE". No mpirun of ours has an -X, so nothing else can be meant.
    if (word == "-X" && !is_hydra(flavour_)) word = "-x";
    if (word.starts_with("--NCCL_DEBUG")) return read_nccl_debug(word);
    if (word.size() < 2 || word[0] != '-')
      return invalid_options(
          "\"" + to_utf8(word) +
          "\" is not a valid option (mpirun would treat this word as the program to start)");
    if (word == "--") return refused(word, wraps_ranks);
    const std::string_view name = std::string_view(word).substr(word[1] == '-' ? 2 : 1);
    const MpirunOption* option = find_mpirun_option(flavour_, name);
    if (option == nullptr)
      return invalid_options(
          "\"" + to_utf8(word) + "\" is not a valid option of " + name_of(flavour_) + "'s mpirun" +
          (word.find('=') == std::string::npos ? "" : "; put the value in a separate word"));
    if (option->kind == Kind::refused) return refused(word, option->why);
    Args values;
    for (int i = 0; i < option->values; ++i) {
      if (at_ == words_.size())
        return invalid_options("\"" + word + "\" requires " + std::to_string(option->values) +
                               " value" + (option->values > 1 ? "s" : ""));
      values.push_back(words_[at_++]);
    }
    return take(*option, word, values);
  }

  /// Not mpirun's: the reference package takes it out of the line. It has no other own option.
  Result<void> read_nccl_debug(const std::string& word) {
    constexpr std::size_t length = std::string_view("--NCCL_DEBUG").size();
    if (word.size() > length && word[length] != '=')
      return invalid_options("\"" + to_utf8(word) +
                             "\" is not a valid option; expected --NCCL_DEBUG=LEVEL");
    if (word.size() > length) {
      found_.nccl_debug = word.substr(length + 1);
      return {};
    }
    if (at_ == words_.size()) return invalid_options("\"--NCCL_DEBUG\" requires 1 value");
    found_.nccl_debug = words_[at_++];
    return {};
  }

  Result<void> take(const MpirunOption& option, const std::string& word, const Args& values) {
    if (option.kind == Kind::set_already) return {};
    if (option.kind == Kind::mca) {
      const bool known = found_.mca.contains(values[0]);
      TRY(take_mca(values[0], values[1]));
      if (known || values[0] == "orte_leave_session_attached") return {};
    }
    if (option.kind == Kind::exports) TRY(take_export(values[0]));
    if (option.kind == Kind::export_value) TRY(take_export(values[0] + "=" + values[1]));
    if (option.kind == Kind::export_names)
      for (const std::string& name : split(values[0], ',')) TRY(take_export(name));
    found_.verbose |= option.kind == Kind::verbose;
    found_.binds |= option.kind == Kind::binds;
    if (option.kind == Kind::maps) found_.mapping = Mapping::other;
    if (option.kind == Kind::by_node) found_.mapping = Mapping::by_node;
    found_.prefix |= option.kind == Kind::prefix;
    found_.interface |= option.kind == Kind::interface;
    found_.oversubscribes |= option.kind == Kind::oversubscribes;
    if (!is_hydra(flavour_) && option.name == "map-by") take_mapping(values[0]);
    if (is_hydra(flavour_) && in_plan_only(option.kind)) return {};
    // Open MPI 5 takes a long name behind one dash for several short ones, or warns of it.
    const bool dash = flavour_.major >= 5 && option.name.size() > 1 && word[1] != '-';
    found_.words.push_back((dash && !is_hydra(flavour_) ? "-" : "") + word);
    found_.words.insert(found_.words.end(), values.begin(), values.end());
    return {};
  }

  /// What hydra's line says in its own way: see hydra_line().
  static bool in_plan_only(Kind kind) {
    return kind == Kind::exports || kind == Kind::export_value || kind == Kind::export_names ||
           kind == Kind::oversubscribes;
  }

  Result<void> take_mca(const std::string& name, const std::string& value) {
    constexpr std::string_view plain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    if (name.empty() || name.find_first_not_of(plain) != std::string::npos)
      return invalid_options("-mca \"" + to_utf8(name) + "\": not a valid MCA parameter name");
    const char* why = why_mca_refused(name);
    const bool as_ours = name == "orte_leave_session_attached" && value == "1";
    if (why != nullptr && !as_ours) return refused("-mca " + name, why);
    // mpirun hands values to its daemons as "VALUE" and escapes nothing in it.
    if (value.find('"') != std::string::npos)
      return invalid_options("-mca " + name +
                             ": its value contains a '\"', which mpirun cannot pass on");
    const auto [at, added] = found_.mca.emplace(name, value);
    if (!added && at->second != value)
      return invalid_options("-mca " + name + " was given twice, as " + at->second + " and as " +
                             value);
    if (name == "rmaps_base_mapping_policy") take_mapping(value);
    found_.binds |= name == "hwloc_base_binding_policy";
    found_.oversubscribes |= name == "rmaps_base_oversubscribe" && value != "0";
    return {};
  }

  Result<void> take_export(const std::string& text) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    if (name.empty())
      return invalid_options("-x \"" + to_utf8(text) + "\" requires NAME or NAME=VALUE");
    if (is_hydra(flavour_) && name.find(',') != std::string::npos)
      return invalid_options("-x " + to_utf8(name) +
                             ": hydra does not support ',' in variable names");
    if (name.starts_with("MUSTER_"))
      return refused("-x " + name, "the name is reserved for muster");
    if (equals == std::string::npos)
      found_.exported[name] = std::nullopt;
    else
      found_.exported[name] = text.substr(equals + 1);
    return {};
  }

  /// "node", "ppr:2:node", "slot:OVERSUBSCRIBE", ...
  void take_mapping(std::string policy) {
    std::transform(policy.begin(), policy.end(), policy.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
    const std::string first = split(policy, ':').front();
    found_.mapping = first == "SLOT"   ? Mapping::by_slot
                     : first == "NODE" ? Mapping::by_node
                                       : Mapping::other;
    found_.oversubscribes |= policy.find("OVERSUBSCRIBE") != std::string::npos &&
                             policy.find("NOOVERSUBSCRIBE") == std::string::npos;
  }

  Args words_;
  const MpiFlavour flavour_;
  std::size_t at_ = 0;
  CustomOptions found_;
};

}  // namespace

const char* why_mca_refused(std::string_view name) {
  for (const RefusedParameter& refused : refused_parameters) {
    const bool prefix = refused.name.ends_with('*');
    const std::string_view stem = refused.name.substr(0, refused.name.size() - (prefix ? 1 : 0));
    if (prefix ? name.starts_with(stem) : name == stem) return refused.why;
  }
  return nullptr;
}

Result<Args> split_quoted(std::string_view text) {
  Args words;
  std::optional<std::string> word;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (quote == 0 && space) {
      if (word) words.push_back(*std::exchange(word, std::nullopt));
      continue;
    }
    if (!word) word.emplace();
    const bool last = i + 1 == text.size();
    const bool escapes =
        quote == 0 || (quote == '"' && !last && (text[i + 1] == '"' || text[i + 1] == '\\'));
    if (c == '\\' && escapes && !last)
      *word += text[++i];
    else if (quote == 0 && (c == '\'' || c == '"'))
      quote = c;
    else if (quote != 0 && c == quote)
      quote = 0;
    else
      *word += c;
  }
  if (quote != 0) return invalid_options(std::string("unclosed ") + quote);
  if (word) words.push_back(*std::move(word));
  return words;
}

Result<CustomOptions> parse_custom_options(std::string_view text, const MpiFlavour& flavour) {
  if (text.find('\0') != std::string_view::npos) return invalid_options("contains a NUL character");
  Args words = TRY(split_quoted(text));
  return Reader(std::move(words), flavour).read();
}

}  // namespace muster::launch
