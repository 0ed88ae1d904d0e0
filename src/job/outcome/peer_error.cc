#include "job/outcome/peer_error.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>

namespace muster::job {
namespace {

/// Launchers raise these when a process of theirs failed.
constexpr std::array<std::string_view, 5> report_names = {
    "ChildFailedError", "CalledProcessError", "ProcessRaisedException", "ProcessExitedException",
    "TimeoutExpired"};

/// No other process brings these about, whatever their texts say.
constexpr std::array<std::string_view, 30> own_names = {
    "ValueError",        "TypeError",           "KeyError",           "IndexError",
    "LookupError",       "AttributeError",      "NameError",          "UnboundLocalError",
    "ImportError",       "ModuleNotFoundError", "SyntaxError",        "IndentationError",
    "AssertionError",    "ZeroDivisionError",   "OverflowError",      "FloatingPointError",
    "ArithmeticError",   "FileNotFoundError",   "FileExistsError",    "PermissionError",
    "IsADirectoryError", "NotADirectoryError",  "MemoryError",        "OutOfMemoryError",
    "RecursionError",    "NotImplementedError", "UnicodeDecodeError", "UnicodeEncodeError",
    "JSONDecodeError",   "StopIteration"};

/// Python's, torch's, Horovod's, TensorFlow's. SignalException: torchrun's for a signal to itself.
constexpr std::array<std::string_view, 14> peer_names = {
    "ConnectionError",        "ConnectionResetError",     "ConnectionAbortedError",
    "ConnectionRefusedError", "BrokenPipeError",          "DistNetworkError",
    "DistStoreError",         "HorovodInternalError",     "HorovodShutDownError",
    "SignalException",        "UnavailableError",         "RemoteDisconnected",
    "IncompleteReadError",    "RendezvousConnectionError"};

template <std::size_t count>
bool holds(const std::array<std::string_view, count>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// "torch.distributed.DistNetworkError: x" has the class DistNetworkError.
std::string_view class_name(std::string_view error) {
  const std::string_view name = error.substr(0, error.find(':'));
  if (name.find(' ') != std::string_view::npos) return {};
  return name.substr(name.rfind('.') + 1);
}

bool has(std::string_view text, const RE2& pattern) {
  return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), pattern);
}

/// A server outside of the job.
bool is_outsiders(std::string_view error) {
  static const RE2 pattern(
      R"((?i)https?://|HTTPS?ConnectionPool|s3://|getaddrinfo|botocore|name or service not known)");
  return has(error, pattern);
}

bool says_connection_gone(std::string_view error) {
  static const RE2 subject_first(
      R"((?i)\b(connections?|sockets?|peers?|transport|tcp|tcpstore|rpc|)"
      R"(remote|pipe|other (end|side|ranks?|process(es)?|hosts?))\b[^.;]{0,60})"
      R"(\b(clos(ed?|ing)|reset|refused|)"
      R"(los[st]|broken?|abort(ed)?|terminated|dropped|shut ?down|disconnected|hung up|gone|)"
      R"(unreachable|unavailable|died|dead|exit(ed|s)?|failed|interrupted|cancel?led)\b)");
  static const RE2 subject_last(
      R"((?i)\b(clos(ed?|ing)|reset|refused|los[st]|broken?|abort(ed)?|dropped|)"
      R"(disconnected|failed|failure|unable|could not|cannot)\b[^.;]{0,40}\b(connections?|)"
      R"(sockets?|peers?|)"
      R"(remote (host|end|side|process|rank)|connect|recv|receive|send)\b)");
  static const RE2 errnos(
      R"((?i)\b(broken pipe|ECONN(RESET|REFUSED|ABORTED)|EPIPE|ENOTCONN|ETIMEDOUT|not connected|)"
      R"(no route to host|host is down|got 0 bytes|connection timed out)\b)");
  static const RE2 ends(R"((?i)\b(recv|read|socket|asio)\w*\b[^;]{0,40}\b(EOF|end of file)\b)");
  return has(error, subject_first) || has(error, subject_last) || has(error, errnos) ||
         has(error, ends);
}

bool says_timeout(std::string_view error) {
  static const RE2 time(R"((?i)\btime(d|s)?[ -]?out\b|\bdeadline[ _]exceeded\b)");
  static const RE2 what(
      R"((?i)all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|broadcast|barrier|collective|)"
      R"(watchdog|rendezvous|store\b|nccl|gloo|\bmpi|process ?group|socket|connect|peer|)"
      R"(\b(recv|receive|send|clients?|ranks?|workers?|keys|rpc)\b)");
  static const RE2 bare(
      R"((?i)^(socket\.timeout|TimeoutError)(: (the operation )?timed out)?\.?$)");
  return has(error, bare) || (has(error, time) && has(error, what));
}

bool says_other_gone(std::string_view error) {
  static const RE2 library(
      R"((?i)\b(horovod|nccl|gloo|ucx|process ?group|communicator|coordinator|)"
      R"(coordination service|rendezvous|backend)\b[^.;]{0,80})"
      R"(\b(shut ?down|aborted|revoked|unavailable|unhealthy|gone)\b)");
  static const RE2 nccl(
      R"((?i)ncclRemoteError|ncclSystemError|unhandled system error|remote process exited|)"
      R"(there was a network error|MPIX?_ERR_(PROC_FAILED|REVOKED))");
  static const RE2 others(
      R"((?i)\b(another|other|remote|one of the|one or more|peer) )"
      R"((ranks?|process(es)?|hosts?|workers?|nodes?|tasks?|peers?)\b[^.;]{0,60}\b(fail(ed|s)?|)"
      R"(exit(ed|s)?|died|dead|crashed|terminated|aborted|gone|lost|left|shut|finished|raised)\b)");
  static const RE2 numbered(
      R"((?i)\b(rank|process|worker|node|task)s? ?\[?\d[\d, ]*\]?[^.;]{0,40}\b(died|exited|)"
      R"(crashed|dead|gone|unreachable|lost|disconnected|stalled|)"
      R"(failed to pass monitored_?barrier)\b)");
  static const RE2 grpc(
      R"(StatusCode\.(UNAVAILABLE|CANCELLED|DEADLINE_EXCEEDED)|failed to connect to all addresses|)"
      R"(^Killed by a signal|got signal: (15|SIGTERM))");
  return has(error, library) || has(error, nccl) || has(error, others) || has(error, numbered) ||
         has(error, grpc);
}

}  // namespace

Blame blame_of(std::string_view error) {
  const std::string_view name = class_name(error);
  if (holds(report_names, name)) return Blame::reports_another;
  if (holds(own_names, name) || is_outsiders(error)) return Blame::own;
  // multiprocessing's connections; one with a text is input()'s or pickle's.
  if (holds(peer_names, name) || error == "EOFError") return Blame::peer;
  const bool peers = says_connection_gone(error) || says_timeout(error) || says_other_gone(error);
  return peers ? Blame::peer : Blame::own;
}

}  // namespace muster::job
