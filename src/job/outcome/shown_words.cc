#include "job/outcome/shown_words.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"
#include "job/outcome/traceback.h"

namespace muster::job {
namespace {

constexpr std::size_t excerpt_lines_max = 20;
constexpr std::size_t message_lines_max = 8;  ///< How much of an excerpt follows the error's line.
constexpr std::size_t sign_bytes = 60;        ///< As much of an error finds its line again.
constexpr std::string_view frame_start = "  File \"";

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
         "mpirun starts at most N processes for -H HOST:N, and SM_NUM_GPUS is 0 on a host without "
         "GPUs: write -H \"$SM_CURRENT_HOST:4\", or use sm mpirun, which sets the number"},
    Hint{"There are not enough slots available in the system",
         "mpirun uses only the slots in -H HOST:N: list as many as -np requests, or use sm mpirun, "
         "which sets the number"},
    Hint{": No module named mpi4py",
         "muster runs Python scripts under MPI with python -m mpi4py: choose an interpreter that "
         "has mpi4py (sm fit --python PROGRAM), or install it in the job's Python (pip install "
         "mpi4py)"},
    Hint{"ModuleNotFoundError: No module named",
         "choose an interpreter that has the module (sm fit --python), or list it in a "
         "requirements.txt next to the script; sm doctor --python PROGRAM shows what an "
         "interpreter has"},
    Hint{"Address already in use",
         "another program on this host uses the port: let the system choose one (port 0), or use "
         "MASTER_PORT and the other variables the launcher sets"},
    Hint{"CUDA out of memory",
         "the GPU's memory is full: use a smaller batch, or fewer processes per GPU "
         "(--processes-per-host)"},
    Hint{"torch.OutOfMemoryError",
         "the GPU's memory is full: use a smaller batch, or fewer processes per GPU "
         "(--processes-per-host)"},
    Hint{"libcuda.so.1: cannot open shared object file",
         "this host has no GPU, or the machine has no driver: sm doctor shows which; sm fit --gpus "
         "N requests GPUs"},
    Hint{"unable to write to file </torch_",
         "/dev/shm is full: enlarge it with sm fit --shm-size, or set num_workers=0 in the "
         "DataLoader"},
    Hint{"No space left on device",
         "a file system of the host is full: write large files to its disk (/opt/ml, "
         "--volume-size), not to /tmp or /dev/shm, which are in memory"},
    Hint{"Disk quota exceeded",
         "a file system of the host is full: write large files to its disk (/opt/ml, "
         "--volume-size), not to /tmp or /dev/shm, which are in memory"},
    Hint{"MemoryError",
         "the host's memory is full: raise the limit (--memory), or process less data at a time"},
    Hint{"Cannot allocate memory",
         "the host's memory is full: raise the limit (--memory), or process less data at a time"},
    Hint{"KeyError: 'SM_CHANNEL_",
         "the job has no such channel: add it with --input NAME=DIR, or use a channel name from "
         "the job's request"},
    Hint{"No such file or directory: '/opt/ml/input/data/",
         "the job has no such channel or file: add it with --input NAME=DIR, or list "
         "/opt/ml/input/data to see what exists"},
    Hint{"EOFError: EOF when reading a line",
         "jobs have no keyboard: pass the value as a hyperparameter"},
    Hint{"Inappropriate ioctl for device",
         "jobs have no terminal: input, debuggers and the terminal's size are not available"},
    Hint{
        "Read-only file system",
        "write to /opt/ml/model, /opt/ml/output or /tmp: other folders of a host can be read-only"},
    Hint{"PermissionError: [Errno 13]",
         "the host's user has no permission there: write to /opt/ml/model, /opt/ml/output or /tmp"},
    Hint{"Temporary failure in name resolution",
         "this host cannot reach other machines: jobs with --network none have no outside network; "
         "sm doctor shows whether this machine has one"},
};

bool begins_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
}

std::size_t characters_in(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

/// The bytes of the first characters.
std::size_t after_characters(std::string_view text, std::size_t count) {
  std::size_t at = 0;
  while (at < text.size() && (count > 0 || !begins_character(text[at])))
    count -= begins_character(text[at++]) ? 1 : 0;
  return at;
}

/// The traceback whose error the verdict has; null: none.
const Traceback* told_by(const std::vector<Traceback>& tracebacks, const std::string& error) {
  const auto found =
      std::find_if(tracebacks.rbegin(), tracebacks.rend(), [&error](const Traceback& each) {
        const std::string text = trim(each.text).substr(0, sign_bytes);
        return !error.empty() && (error.starts_with(text) || text.starts_with(error));
      });
  return found == tracebacks.rend() ? nullptr : &*found;
}

}  // namespace

std::string excerpt(const Verdict& verdict) {
  const std::vector<std::string> lines = split(trim(verdict.last_lines), '\n');
  if (lines.size() <= excerpt_lines_max) return verdict.last_lines;
  std::vector<SaidLine> said;
  for (const std::string& line : lines) said.push_back({Stream::err, line});
  const std::vector<Traceback> tracebacks = tracebacks_of(said, -1);
  std::size_t begin = 0;
  std::size_t end = lines.size();
  if (const Traceback* cause = told_by(tracebacks, verdict.error)) {
    begin = cause->begin;
    end = std::min(cause->end, cause->error + 1 + message_lines_max);
  }
  begin = std::max(begin, end - std::min(end, excerpt_lines_max));
  std::string text;
  for (; begin < end; ++begin) text += lines[begin] + "\n";
  return text;
}

std::string reason_text(std::string_view headline, std::string_view words,
                        std::size_t characters_max) {
  const std::string head = to_utf8(headline);
  const std::string text = to_utf8(trim(words));
  const std::size_t head_characters = characters_in(head);
  if (head_characters + 1 >= characters_max || text.empty())
    return head.substr(0, after_characters(head, characters_max));
  const std::size_t rest = characters_max - head_characters - 1;
  const std::size_t all = characters_in(text);
  std::string_view tail = text;
  if (all > rest) {
    tail.remove_prefix(after_characters(text, all - rest));
    const std::size_t line = tail.find('\n');
    if (line < tail.size() / 2) tail.remove_prefix(line + 1);
  }
  return head + "\n" + std::string(tail);
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
