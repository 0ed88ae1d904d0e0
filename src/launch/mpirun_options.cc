#include "launch/mpirun_options.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace muster::launch {
namespace {

/// What an option means to the plan.
enum class Kind {
  plain,
  binds,
  maps,
  by_node,
  oversubscribes,
  prefix,
  verbose,
  set_already,
  refused
};

struct Option {
  std::string_view name;  ///< Without its dashes: Open MPI takes one or two of them alike.
  int values;
  Kind kind = Kind::plain;
  const char* why = nullptr;  ///< For `refused`.
};

constexpr const char* hosts_are_ours = "the hosts are those of the job";
constexpr const char* count_is_ours =
    "the number of ranks is sagemaker_mpi_num_of_processes_per_host, sagemaker_mpi_num_processes";
constexpr const char* wraps_ranks = "it changes the program that is started as a rank";
constexpr const char* starts_nothing = "the job would end without having run";
constexpr const char* daemons_are_ours = "muster starts the daemons";
constexpr const char* folder_is_ours = "ranks start in the code folder";

/// All of mpirun's options. Source: orte/mca/schizo/ompi/schizo_ompi.c of Open MPI 4.1.4 and
/// opal/mca/base/mca_base_cmd_line.c; short letters are names of their own.
constexpr std::array options = {
    Option{"allow-run-as-root", 0, Kind::set_already},
    Option{"am", 1},
    Option{"app", 1, Kind::refused, wraps_ranks},
    Option{"bind-to", 1, Kind::binds},
    Option{"bind-to-core", 0, Kind::binds},
    Option{"bind-to-socket", 0, Kind::binds},
    Option{"bycore", 0, Kind::maps},
    Option{"bynode", 0, Kind::by_node},
    Option{"byslot", 0, Kind::set_already},
    Option{"c", 1, Kind::refused, count_is_ours},
    Option{"np", 1, Kind::refused, count_is_ours},
    Option{"n", 1, Kind::refused, count_is_ours},
    Option{"cf", 1},
    Option{"cartofile", 1},
    Option{"continuous", 0},
    Option{"cpu-list", 1},
    Option{"cpu-set", 1},
    Option{"cpus-per-proc", 1, Kind::maps},
    Option{"cpus-per-rank", 1, Kind::maps},
    Option{"d", 0},
    Option{"debug-devel", 0},
    Option{"debug", 0, Kind::refused, wraps_ranks},
    Option{"debug-daemons", 0},
    Option{"debug-daemons-file", 0},
    Option{"debugger", 1, Kind::refused, wraps_ranks},
    Option{"default-hostfile", 1, Kind::refused, hosts_are_ours},
    Option{"disable-recovery", 0},
    Option{"display-allocation", 0},
    Option{"display-devel-allocation", 0},
    Option{"display-devel-map", 0},
    Option{"display-diffable-map", 0},
    Option{"display-map", 0},
    Option{"display-topo", 0},
    Option{"do-not-launch", 0, Kind::refused, starts_nothing},
    Option{"do-not-resolve", 0},
    Option{"dvm", 0, Kind::refused, daemons_are_ours},
    Option{"enable-instant-on-support", 0},
    Option{"enable-recovery", 0},
    Option{"fwd-mpirun-port", 0},
    Option{"get-stack-traces", 0},
    Option{"gmca", 2},
    Option{"h", 0, Kind::refused, starts_nothing},
    Option{"help", 0, Kind::refused, starts_nothing},
    Option{"H", 1, Kind::refused, hosts_are_ours},
    Option{"host", 1, Kind::refused, hosts_are_ours},
    Option{"hnp", 1, Kind::refused, daemons_are_ours},
    Option{"hostfile", 1, Kind::refused, hosts_are_ours},
    Option{"index-argv-by-rank", 0, Kind::refused, wraps_ranks},
    Option{"launch-agent", 1, Kind::refused, daemons_are_ours},
    Option{"leave-session-attached", 0, Kind::set_already},
    Option{"machinefile", 1, Kind::refused, hosts_are_ours},
    Option{"map-by", 1, Kind::maps},
    Option{"max-restarts", 1},
    Option{"max-vm-size", 1, Kind::refused, hosts_are_ours},
    Option{"mca", 2},
    Option{"merge-stderr-to-stdout", 0},
    Option{"N", 1, Kind::by_node},
    Option{"nolocal", 0, Kind::refused, hosts_are_ours},
    Option{"nooversubscribe", 0},
    Option{"noprefix", 0},
    Option{"novm", 0},
    Option{"npernode", 1, Kind::by_node},
    Option{"npersocket", 1, Kind::maps},
    Option{"ompi-server", 1},
    Option{"output-filename", 1},
    Option{"output-proctable", 0},
    Option{"oversubscribe", 0, Kind::oversubscribes},
    Option{"path", 1},
    Option{"pernode", 0, Kind::by_node},
    Option{"personality", 1},
    Option{"ppr", 1, Kind::maps},
    Option{"prefix", 1, Kind::prefix},
    Option{"preload-binary", 0, Kind::refused, wraps_ranks},
    Option{"preload-files", 1},
    Option{"q", 0},
    Option{"quiet", 0},
    Option{"rank-by", 1},
    Option{"rankfile", 1, Kind::maps},
    Option{"report-bindings", 0},
    Option{"report-child-jobs-separately", 0},
    Option{"report-events", 1},
    Option{"report-pid", 1},
    Option{"report-state-on-timeout", 0},
    Option{"report-uri", 1},
    Option{"rf", 1, Kind::maps},
    Option{"s", 0, Kind::refused, wraps_ranks},
    Option{"set-cwd-to-session-dir", 0, Kind::refused, folder_is_ours},
    Option{"show-progress", 0},
    Option{"stdin", 1},
    Option{"tag-output", 0},
    Option{"timeout", 1},
    Option{"timestamp-output", 0},
    Option{"tune", 1},
    Option{"tv", 0, Kind::refused, wraps_ranks},
    Option{"use-hwthread-cpus", 0},
    Option{"use-regexp", 0},
    Option{"V", 0, Kind::refused, starts_nothing},
    Option{"v", 0, Kind::verbose},
    Option{"verbose", 0, Kind::verbose},
    Option{"version", 0, Kind::refused, starts_nothing},
    Option{"wd", 1, Kind::refused, folder_is_ours},
    Option{"wdir", 1, Kind::refused, folder_is_ours},
    Option{"x", 1},
    Option{"xml", 0},
    Option{"xml-file", 1},
    Option{"xterm", 1, Kind::refused, wraps_ranks},
};

struct Refusal {
  std::string_view name;  ///< Ends with '*': every parameter that begins so.
  const char* why;
};

constexpr std::array refusals = {
    Refusal{"plm_base_verbose", nullptr},
    Refusal{"plm_rsh_verbose", nullptr},
    Refusal{"plm", daemons_are_ours},
    Refusal{"plm_*", daemons_are_ours},
    Refusal{"pls_*", daemons_are_ours},
    Refusal{"ras", hosts_are_ours},
    Refusal{"ras_*", hosts_are_ours},
    Refusal{"ess", daemons_are_ours},
    Refusal{"ess_*", daemons_are_ours},
    Refusal{"rmaps_base_no_schedule_local", hosts_are_ours},
    Refusal{"orte_launch_agent", daemons_are_ours},
    Refusal{"orte_rsh_agent", daemons_are_ours},
    Refusal{"orte_leave_session_attached", daemons_are_ours},
    Refusal{"orte_daemonize", daemons_are_ours},
    Refusal{"orte_parent_uri", daemons_are_ours},
    Refusal{"orte_hnp_uri", daemons_are_ours},
    Refusal{"orte_local_daemon_uri", daemons_are_ours},
    Refusal{"orte_ess_*", daemons_are_ours},
    Refusal{"orte_node_regex", hosts_are_ours},
    Refusal{"orte_default_hostfile", hosts_are_ours},
    Refusal{"orte_max_vm_size", hosts_are_ours},
    Refusal{"orte_fork_agent", wraps_ranks},
    Refusal{"orte_xterm", wraps_ranks},
    Refusal{"orte_do_not_launch", starts_nothing},
    Refusal{"mca_base_env_list", "mpirun refuses it beside -x; use -x"},
};

Error bad(const std::string& what) {
  return fail(Errc::invalid_input, "sagemaker_mpi_custom_mpi_options: " + what);
}

const Option* find_option(std::string_view name) {
  for (const Option& option : options)
    if (option.name == name) return &option;
  return nullptr;
}

Error refused(const std::string& word, const char* why) {
  return bad("\"" + to_utf8(word) + "\" is not for a job to set: " + why);
}

/// Reads one option after the other into a CustomOptions.
class Reader {
 public:
  explicit Reader(Args words) : words_(std::move(words)) {}

  Result<CustomOptions> read() {
    while (at_ < words_.size()) TRY(read_one());
    return std::move(found_);
  }

 private:
  Result<void> read_one() {
    const std::string word = words_[at_++];
    if (word.starts_with("--NCCL_DEBUG")) return read_nccl_debug(word);
    if (word.size() < 2 || word[0] != '-')
      return bad("\"" + to_utf8(word) + "\" is no option (mpirun would start it as the program)");
    if (word == "--") return refused(word, wraps_ranks);
    const std::string_view name = std::string_view(word).substr(word[1] == '-' ? 2 : 1);
    const Option* option = find_option(name);
    if (option == nullptr)
      return bad("\"" + to_utf8(word) + "\" is no option of Open MPI 4.1's mpirun" +
                 (word.find('=') == std::string::npos ? "" : "; it takes values as a word apart"));
    if (option->kind == Kind::refused) return refused(word, option->why);
    Args values;
    for (int i = 0; i < option->values; ++i) {
      if (at_ == words_.size())
        return bad("\"" + word + "\" wants " + std::to_string(option->values) + " value" +
                   (option->values > 1 ? "s" : ""));
      values.push_back(words_[at_++]);
    }
    return take(*option, word, values);
  }

  /// Not mpirun's: the reference package takes it out of the line. It has no other own option.
  Result<void> read_nccl_debug(const std::string& word) {
    constexpr std::size_t length = std::string_view("--NCCL_DEBUG").size();
    if (word.size() > length && word[length] != '=')
      return bad("\"" + to_utf8(word) + "\" is no option, want --NCCL_DEBUG=LEVEL");
    if (word.size() > length) {
      found_.nccl_debug = word.substr(length + 1);
      return {};
    }
    if (at_ == words_.size()) return bad("\"--NCCL_DEBUG\" wants 1 value");
    found_.nccl_debug = words_[at_++];
    return {};
  }

  Result<void> take(const Option& option, const std::string& word, const Args& values) {
    if (option.kind == Kind::set_already) return {};
    if (option.name == "mca" || option.name == "gmca") {
      const bool known = found_.mca.contains(values[0]);
      TRY(take_mca(values[0], values[1]));
      if (known || values[0] == "orte_leave_session_attached") return {};
    }
    if (option.name == "x") TRY(take_export(values[0]));
    found_.verbose |= option.kind == Kind::verbose;
    found_.binds |= option.kind == Kind::binds;
    if (option.kind == Kind::maps) found_.mapping = Mapping::other;
    if (option.kind == Kind::by_node) found_.mapping = Mapping::by_node;
    found_.prefix |= option.kind == Kind::prefix;
    found_.oversubscribes |= option.kind == Kind::oversubscribes;
    if (option.name == "map-by") take_mapping(values[0]);
    found_.words.push_back(word);
    found_.words.insert(found_.words.end(), values.begin(), values.end());
    return {};
  }

  Result<void> take_mca(const std::string& name, const std::string& value) {
    constexpr std::string_view plain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    if (name.empty() || name.find_first_not_of(plain) != std::string::npos)
      return bad("-mca \"" + to_utf8(name) + "\": no name of an MCA parameter");
    const char* why = mca_refusal(name);
    const bool as_ours = name == "orte_leave_session_attached" && value == "1";
    if (why != nullptr && !as_ours) return refused("-mca " + name, why);
    // mpirun hands values to its daemons as "VALUE" and escapes nothing in it.
    if (value.find('"') != std::string::npos)
      return bad("-mca " + name + ": its value holds a '\"', which mpirun cannot pass on");
    const auto [at, added] = found_.mca.emplace(name, value);
    if (!added && at->second != value)
      return bad("-mca " + name + " is given twice, as " + at->second + " and as " + value);
    if (name == "rmaps_base_mapping_policy") take_mapping(value);
    found_.binds |= name == "hwloc_base_binding_policy";
    found_.oversubscribes |= name == "rmaps_base_oversubscribe" && value != "0";
    return {};
  }

  Result<void> take_export(const std::string& text) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    if (name.empty()) return bad("-x \"" + to_utf8(text) + "\" wants NAME or NAME=VALUE");
    if (name.starts_with("MUSTER_")) return refused("-x " + name, "the name is muster's own");
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
  std::size_t at_ = 0;
  CustomOptions found_;
};

}  // namespace

const char* mca_refusal(std::string_view name) {
  for (const Refusal& refusal : refusals) {
    const bool prefix = refusal.name.ends_with('*');
    const std::string_view stem = refusal.name.substr(0, refusal.name.size() - (prefix ? 1 : 0));
    if (prefix ? name.starts_with(stem) : name == stem) return refusal.why;
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
      if (word) words.push_back(*std::move(word));
      word.reset();
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
  if (quote != 0) return bad(std::string("a ") + quote + " is not closed");
  if (word) words.push_back(*std::move(word));
  return words;
}

Result<CustomOptions> parse_custom_options(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return bad("holds a NUL");
  Args words = TRY(split_quoted(text));
  return Reader(std::move(words)).read();
}

}  // namespace muster::launch
