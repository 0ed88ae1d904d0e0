#include "host/ranks/rsh_agent.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "job/launch/mpi_flavour.h"
#include "job/launch/plan.h"

namespace muster::launch {
namespace {

constexpr std::size_t text_bytes_max = 128 * 1024;  // Linux's limit for one argument.
/// The programs that may be started: the daemons of Open MPI 4, 5, MPICH and Intel MPI.
constexpr std::array<std::string_view, 4> programs = {"orted", "prted", "hydra_pmi_proxy",
                                                      "hydra_bstrap_proxy"};
constexpr std::string_view word_signs =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-^~[]";
constexpr std::string_view path_signs =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-";
/// The variables that --prefix sets, and OPAL_* variables from mpirun's own environment.
constexpr std::array<std::string_view, 7> settable = {
    "PATH",        "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "OPAL_PREFIX",
    "OPAL_LIBDIR", "PRTE_PREFIX",     "PMIX_PREFIX"};
/// mpirun's wrapper for login shells such as sh or ksh; it is parsed and ignored.
constexpr std::string_view profile = "( test ! -r ./.profile || . ./.profile;";

Error denied(const std::string& why) {
  return fail(Errc::denied, "the command from mpirun was rejected: " + why);
}

std::string excerpt(std::string_view text) {
  constexpr std::size_t bytes_max = 40;
  return "\"" + to_utf8(text.substr(0, bytes_max)) + (text.size() > bytes_max ? "…\"" : "\"");
}

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  Result<AgentCall> read() {
    const bool in_parentheses = take(profile);
    AgentCall call;
    while (std::optional<std::string_view> name = assigned_name()) {
      AgentCall::Change change = TRY(read_assignment(*name));
      call.environment.push_back(std::move(change));
    }
    while (!at_end()) {
      if (in_parentheses && rest_ == ")") break;
      std::string word = TRY(read_word());
      call.argv.push_back(std::move(word));
    }
    if (in_parentheses && !take(")")) return denied("unclosed '('");
    TRY(check(call.argv));
    return call;
  }

 private:
  /// True if only spaces are left.
  bool at_end() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
    while (!rest_.empty() && rest_.back() == ' ') rest_.remove_suffix(1);
    return rest_.empty();
  }

  /// Skips `expected` if it comes next.
  bool take(std::string_view expected) {
    if (at_end() || !rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }

  std::optional<std::string_view> assigned_name() {
    if (at_end()) return std::nullopt;
    for (const std::string_view name : settable)
      if (rest_.starts_with(name) && rest_.substr(name.size()).starts_with('=')) return name;
    return std::nullopt;
  }

  /// NAME=VALUE ; export NAME ;  where VALUE may end in $NAME or ${NAME:-}; from Open MPI 5
  /// without spaces.
  Result<AgentCall::Change> read_assignment(std::string_view name_read) {
    const std::string name(name_read);
    rest_.remove_prefix(name.size() + 1);
    AgentCall::Change change{name, "", false};
    const std::size_t end = std::min(rest_.find_first_not_of(path_signs), rest_.size());
    change.value = rest_.substr(0, end);
    rest_.remove_prefix(end);
    for (const std::string& reference : {"$" + name, "${" + name + ":-}"}) {
      if (!rest_.starts_with(reference)) continue;
      rest_.remove_prefix(reference.size());
      change.before_present = true;
      break;
    }
    if (take(";") && take("export " + name) && take(";")) return change;
    return denied("the value of " + name +
                  " was not set by mpirun's --prefix option: " + excerpt(rest_));
  }

  /// A plain word, or the text in quotes, unchanged: mpirun escapes nothing inside.
  Result<std::string> read_word() {
    std::string word;
    std::size_t end = 0;
    if (rest_.front() == '"') {
      end = rest_.find('"', 1);
      if (end == std::string_view::npos) return denied("unclosed '\"'");
      word = rest_.substr(1, end - 1);
      ++end;
    } else {
      end = std::min(rest_.find_first_not_of(word_signs), rest_.size());
      word = rest_.substr(0, end);
    }
    if (end < rest_.size() && rest_[end] != ' ')
      return denied("unexpected character at " + excerpt(rest_.substr(end)));
    rest_.remove_prefix(end);
    return word;
  }

  static Result<void> check(const Args& argv) {
    if (argv.empty()) return denied("the command contains no program");
    const std::string& path = argv[0];
    const std::vector<std::string> segments = split(path, '/');
    const bool named =
        (segments.size() == 1 || path.starts_with('/')) &&
        std::find(programs.begin(), programs.end(), segments.back()) != programs.end();
    if (!named || std::find(segments.begin(), segments.end(), "..") != segments.end())
      return denied("only orted, prted and hydra's proxies are allowed, not " + excerpt(path));
    // A daemon that leaves its session cannot be followed.
    if (std::find(argv.begin(), argv.end(), "--daemonize") != argv.end())
      return denied("--daemonize is not allowed (orte_leave_session_attached must be 1)");
    return {};
  }

  std::string_view rest_;
};

/// Options of daemons that name a network interface, each with the variable that has this host's
/// own. The call contains the leader's interfaces, whose names may differ.
constexpr std::pair<std::string_view, const char*> interface_options[] = {
    {"oob_tcp_if_include", "OMPI_MCA_oob_tcp_if_include"},
    {"btl_tcp_if_include", "OMPI_MCA_btl_tcp_if_include"},
    {"prte_if_include", "PRTE_MCA_prte_if_include"},
    {"--iface", hydra_interface}};

void set_own_interface(Args& argv, const Env& base) {
  for (std::size_t i = 0; i + 1 < argv.size(); ++i)
    for (const auto& [option, variable] : interface_options) {
      const Env::const_iterator own = base.find(variable);
      if (argv[i] == option && own != base.end()) argv[i + 1] = own->second;
    }
}

}  // namespace

Result<AgentCall> parse_agent_call(std::string_view text) {
  if (text.size() > text_bytes_max) return denied("the command exceeds 128 KiB");
  if (text.find('\0') != std::string_view::npos)
    return denied("the command contains a NUL character");
  return Reader(text).read();
}

Result<AgentRequest> agent_request(const Args& words) {
  // Hydra's options for ssh: quiet, no terminal, no X.
  static const Args flags = {"-q", "-x", "-X", "-T", "-n"};
  std::size_t host = 0;
  while (host < words.size() && std::find(flags.begin(), flags.end(), words[host]) != flags.end())
    ++host;
  if (host + 1 >= words.size() || words[host].starts_with('-'))
    return fail(Errc::invalid_input,
                "expected HOST and the command that mpirun passes to its remote shell");
  const Args command(words.begin() + static_cast<std::ptrdiff_t>(host) + 1, words.end());
  return AgentRequest{words[host], join(command, " ")};
}

Result<Command> agent_command(std::string_view text, const Env& base) {
  AgentCall call = TRY(parse_agent_call(text));
  set_own_interface(call.argv, base);
  Command command{std::move(call.argv), launcher_environment(base), ""};
  for (const AgentCall::Change& change : call.environment) {
    std::string& value = command.env[change.name];
    value = change.before_present ? change.value + value : change.value;
  }
  return command;
}

std::string without_group_warning(std::string_view lines) {
  const auto warns = [](std::string_view line) {
    return line.starts_with('[') &&
           (line.find("] plm:rsh: Warning: setpgid(") != std::string_view::npos ||
            line.find("] plm:ssh: Warning: setpgid(") != std::string_view::npos);
  };
  std::string kept;
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    const std::size_t size = end == std::string_view::npos ? lines.size() : end + 1;
    if (!warns(lines.substr(0, size))) kept += lines.substr(0, size);
    lines.remove_prefix(size);
  }
  return kept;
}

}  // namespace muster::launch
