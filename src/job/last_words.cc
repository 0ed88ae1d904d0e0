#include "job/last_words.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/terminal.h"
#include "base/text.h"
#include "base/topic.h"

namespace muster::job {
namespace {

constexpr std::size_t error_bytes_max = 300;
constexpr std::size_t excerpt_lines_max = 20;
constexpr std::size_t message_lines_max = 8;  ///< How much of an excerpt follows the error's line.
constexpr std::string_view frame_start = "  File \"";
constexpr std::string_view traceback_head = "Traceback (most recent call last)";

/// Python's own rule for a dotted name, but for letters beyond ASCII.
bool is_name_byte(char byte) {
  return byte == '_' || byte == '.' || (byte >= '0' && byte <= '9') ||
         (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

/// "ValueError: bad batch", "KeyboardInterrupt".
bool names_exception(std::string_view line) {
  const auto end = std::find_if_not(line.begin(), line.end(), is_name_byte);
  if (end == line.begin() || (line[0] >= '0' && line[0] <= '9')) return false;
  return end == line.end() || *end == ':';
}

/// Whom an error speaks of; what comes first is the likelier cause.
enum class Blame { own, blames_peer, reports_another };

Blame blame_of(std::string_view line) {
  // Launchers raise these when a process of theirs failed: their text says no more than that.
  const std::string_view name = line.substr(0, line.find(':'));
  if (name.ends_with("ChildFailedError") || name.ends_with("CalledProcessError"))
    return Blame::reports_another;
  // Gloo, NCCL, sockets; SignalException is torchrun's for a signal to itself.
  constexpr std::array<std::string_view, 4> signs = {"Connection closed by peer",
                                                     "Connection reset by peer",
                                                     "remote process exited", "SignalException: "};
  const bool is_peers = std::any_of(signs.begin(), signs.end(), [&](std::string_view sign) {
    return line.find(sign) != std::string_view::npos;
  });
  return is_peers ? Blame::blames_peer : Blame::own;
}

bool is_own_error(std::string_view line) {
  const std::size_t at = line.find(": error: ");
  return at != std::string_view::npos && (line.starts_with("sm ") || line.starts_with("train:"));
}

/// "/usr/bin/python3: No module named mpi4py": what `python -m` says, without a traceback.
bool says_no_module(std::string_view line) {
  const std::size_t at = line.find(": No module named ");
  if (at == std::string_view::npos) return false;
  const std::string_view program = line.substr(0, at);
  return program.substr(program.rfind('/') + 1).starts_with("python");
}

/// The line behind a traceback's frames, the first of which stands at `at`. `prefix`: what torch
/// sets before each line of a rank.
std::size_t behind_frames(const std::vector<std::string>& lines, std::size_t at,
                          std::string_view prefix) {
  while (at < lines.size() && lines[at].starts_with(prefix) &&
         std::string_view(lines[at]).substr(prefix.size()).starts_with(' '))
    ++at;
  return at;
}

struct Traceback {
  std::size_t begin = 0;     ///< The head, or else the first frame.
  std::size_t error_at = 0;  ///< The line behind its frames.
  std::string_view prefix;
  std::string_view error;  ///< The line at `error_at`, without the prefix.
  Blame blame = Blame::own;
};

/// The tracebacks that end in an exception's name, in their order. Views are of `lines`.
std::vector<Traceback> tracebacks_of(const std::vector<std::string>& lines) {
  std::vector<Traceback> found;
  for (std::size_t at = 0; at < lines.size();) {
    Traceback one;
    one.begin = at;
    const std::size_t frame = lines[at].find(frame_start);
    if (frame == std::string::npos) {
      ++at;
      continue;
    }
    one.prefix = std::string_view(lines[at]).substr(0, frame);
    at = behind_frames(lines, at + 1, one.prefix);
    if (at == lines.size() || !lines[at].starts_with(one.prefix)) continue;
    one.error_at = at;
    one.error = std::string_view(lines[at]).substr(one.prefix.size());
    if (!names_exception(one.error)) continue;
    if (one.begin > 0 && lines[one.begin - 1].find(traceback_head) != std::string::npos)
      --one.begin;
    one.blame = blame_of(one.error);
    found.push_back(one);
  }
  return found;
}

/// Behind the error's line and what its message has beyond that line.
std::size_t behind_message(const std::vector<std::string>& lines, const Traceback& traceback) {
  const std::size_t most = std::min(lines.size(), traceback.error_at + 1 + message_lines_max);
  std::size_t at = traceback.error_at + 1;
  while (at < most && lines[at].size() > traceback.prefix.size() &&
         lines[at].starts_with(traceback.prefix) &&
         lines[at].find(traceback_head) == std::string::npos)
    ++at;
  return at;
}

/// The last one of those that blame others least.
std::optional<Traceback> cause_among(const std::vector<Traceback>& tracebacks) {
  std::optional<Traceback> cause;
  for (const Traceback& each : tracebacks)
    if (!cause || each.blame <= cause->blame) cause = each;
  return cause;
}

std::string clipped(std::string_view line) {
  std::string text = visible_line(trim(std::string(line)));
  if (text.size() <= error_bytes_max) return text;
  text.resize(error_bytes_max);
  while (!is_utf8(text)) text.pop_back();
  return text + "...";
}

/// A frame of the programs that start a script: they are the same in every traceback.
bool is_launchers(std::string_view file_line) {
  constexpr std::array<std::string_view, 4> files = {"<frozen runpy>", "/runpy.py",
                                                     "/mpi4py/run.py", "/mpi4py/__main__.py"};
  const std::string_view rest = file_line.substr(frame_start.size());
  const std::string_view file = rest.substr(0, rest.find('"'));
  return std::any_of(files.begin(), files.end(),
                     [&](std::string_view each) { return file.ends_with(each); });
}

struct Hint {
  std::string_view sign;  ///< Part of a line.
  std::string_view text;
};
constexpr std::array hints = {
    Hint{"All nodes which are allocated for this job are already filled",
         "mpirun starts no more processes than -H HOST:N says, and SM_NUM_GPUS is 0 on a host "
         "without GPUs: say -H \"$SM_CURRENT_HOST:4\", or use sm mpirun, which counts for you"},
    Hint{"There are not enough slots available in the system",
         "mpirun counts a host's slots as -H HOST:N says: name as many as -np, or use sm mpirun, "
         "which counts for you"},
    Hint{": No module named mpi4py",
         "MPI runs a Python script by python -m mpi4py: name an interpreter that has it (sm fit "
         "--python PROGRAM), or pip install mpi4py for the job's"},
    Hint{"ModuleNotFoundError: No module named",
         "name the interpreter that has it (sm fit --python), or list it in a requirements.txt "
         "beside the script; sm doctor --python PROGRAM says what an interpreter has"},
    Hint{"Address already in use",
         "something on this host has the port already: let the system choose one (port 0), or use "
         "MASTER_PORT and what else the launcher gives"},
    Hint{"CUDA out of memory",
         "the GPU's memory is full: a smaller batch, or fewer processes on each GPU "
         "(--processes-per-host)"},
    Hint{"torch.OutOfMemoryError",
         "the GPU's memory is full: a smaller batch, or fewer processes on each GPU "
         "(--processes-per-host)"},
    Hint{"libcuda.so.1: cannot open shared object file",
         "this host was given no GPU, or the machine has no driver: sm doctor says which; sm fit "
         "--gpus N gives some"},
    Hint{"unable to write to file </torch_",
         "/dev/shm is full: a larger one by sm fit --shm-size, or num_workers=0 in the DataLoader"},
    Hint{"No space left on device",
         "a file system of the host is full: what is large belongs on its disk (/opt/ml, "
         "--volume-size), not in /tmp or /dev/shm, which are memory"},
    Hint{"Disk quota exceeded",
         "a file system of the host is full: what is large belongs on its disk (/opt/ml, "
         "--volume-size), not in /tmp or /dev/shm, which are memory"},
    Hint{"MemoryError", "the host's memory is full: a larger limit (--memory), or less at a time"},
    Hint{"Cannot allocate memory",
         "the host's memory is full: a larger limit (--memory), or less at a time"},
    Hint{"KeyError: 'SM_CHANNEL_",
         "the job has no such channel: name it by --input NAME=DIR, or as the job's request does"},
    Hint{"No such file or directory: '/opt/ml/input/data/",
         "the job has no such channel or file: name it by --input NAME=DIR; os.listdir of "
         "/opt/ml/input/data says what is there"},
    Hint{"EOFError: EOF when reading a line",
         "jobs have no keyboard: what is asked for belongs into hyperparameters"},
    Hint{"Inappropriate ioctl for device",
         "jobs have no terminal: what needs one (input, a debugger, a screen's size) does not "
         "work there"},
    Hint{
        "Read-only file system",
        "write below /opt/ml/model, /opt/ml/output or /tmp: what else a host has may be read-only"},
    Hint{
        "PermissionError: [Errno 13]",
        "the host's user may not do that there: write below /opt/ml/model, /opt/ml/output or /tmp"},
    Hint{"Temporary failure in name resolution",
         "this host reaches no other machine: jobs with --network none have no outside; sm "
         "doctor says whether this machine has one"},
};

}  // namespace

std::string error_line(std::string_view last_lines) {
  const std::vector<std::string> lines = split(std::string(last_lines), '\n');
  const std::optional<Traceback> cause = cause_among(tracebacks_of(lines));
  if (cause && cause->blame != Blame::reports_another) return clipped(cause->error);
  const auto own = std::find_if(lines.rbegin(), lines.rend(), [](std::string_view line) {
    return is_own_error(line) || says_no_module(line);
  });
  if (own != lines.rend()) return clipped(without_topic(*own));
  return cause ? clipped(cause->error) : std::string();
}

bool blames_peer(std::string_view last_lines) {
  return blame_of(error_line(last_lines)) == Blame::blames_peer;
}

std::string excerpt(std::string_view last_lines) {
  const std::vector<std::string> lines = split(trim(std::string(last_lines)), '\n');
  if (lines.size() <= excerpt_lines_max) return std::string(last_lines);
  std::size_t begin = 0;
  std::size_t end = lines.size();
  if (const std::optional<Traceback> cause = cause_among(tracebacks_of(lines))) {
    begin = cause->begin;
    end = behind_message(lines, *cause);
  }
  begin = std::max(begin, end - std::min(end, excerpt_lines_max));
  std::string text;
  for (; begin < end; ++begin) text += lines[begin] + "\n";
  return text;
}

std::string without_launcher_frames(std::string_view last_lines) {
  std::string kept;
  std::size_t at = 0;
  bool dropping = false;
  while (at < last_lines.size()) {
    const std::size_t end = std::min(last_lines.find('\n', at), last_lines.size() - 1);
    const std::string_view line = last_lines.substr(at, end + 1 - at);
    at = end + 1;
    if (line.starts_with(frame_start))
      dropping = is_launchers(line);
    else if (!line.starts_with("    "))  // Source lines and their marks belong to the frame.
      dropping = false;
    if (!dropping) kept += line;
  }
  return kept;
}

std::string hint_for(std::string_view last_lines) {
  for (const Hint& hint : hints)
    if (last_lines.find(hint.sign) != std::string_view::npos) return std::string(hint.text);
  return {};
}

}  // namespace muster::job
