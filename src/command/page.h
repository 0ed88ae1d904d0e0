#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster::command {

// What muster says of each of its commands. Help, completion, man pages, refusals and the parser
// itself (line.h) come from these values; all texts are literals. Pure.

/// One flag of a command.
struct Flag {
  std::string_view name;       ///< "--hosts"
  std::string_view value{};    ///< What the value is called: "N", "NAME=DIR"; empty: it takes none.
  std::string_view help{};     ///< One sentence without its full stop, wrapped where it is shown.
  std::string_view also{};     ///< Another name, understood and not shown: "--long", "-np".
  bool many = false;           ///< May be given again, each for one more value.
  std::string_view choices{};  ///< The values that there are, with spaces between them.
  std::string_view letter{};   ///< "-f", shown before the name.

  bool takes_value() const { return !value.empty(); }
};

/// A word of a command line other than a flag.
struct Operand {
  std::string_view name;  ///< "SCRIPT"
  std::string_view help;
  bool required = true;
  std::string_view kind{};     ///< As Flag::value, for completion: "FILE", "DIR".
  std::string_view choices{};  ///< As in Flag.
  bool many = false;
};

/// A command line, and what it does: empty where the line says so itself.
struct Example {
  std::string_view line;
  std::string_view says{};
};

struct Exit {
  std::string_view code;  ///< "0", "128 + N"
  std::string_view meaning;
};

/// Flag of all commands that print and parse times.
inline constexpr Flag utc_flag{"--utc", "", "print and parse times in UTC instead of local time"};

/// Flag of all commands that only print times.
inline constexpr Flag utc_shown_flag{"--utc", "", "print times in UTC instead of local time"};

/// A job's values, of all commands that begin one.
inline constexpr Flag hyperparameter_flag{
    .name = "--hyperparameter",
    .value = "NAME=VALUE",
    .help =
        "hyperparameter, passed to the script as --NAME VALUE; VALUE is parsed as JSON if possible",
    .many = true,
    .letter = "-p"};
inline constexpr Flag text_hyperparameter_flag{
    .name = "--text-hyperparameter",
    .value = "NAME=VALUE",
    .help = "like --hyperparameter, but VALUE is always a string: 5 is sent as the string \"5\"",
    .many = true};
inline constexpr Flag hyperparameters_flag{
    .name = "--hyperparameters",
    .value = "FILE",
    .help = "read hyperparameters from FILE, one JSON object; --hyperparameter overrides them"};
inline constexpr Flag env_flag{.name = "--env",
                               .value = "NAME=VALUE",
                               .help = "set an environment variable on every host",
                               .many = true};
inline constexpr Flag env_file_flag{
    .name = "--env-file",
    .value = "FILE",
    .help =
        "read environment variables from FILE, one per line, hidden from others; --env overrides "
        "them"};

/// Help for the flag --metric of all commands that begin a job.
inline constexpr std::string_view metric_help =
    "read a metric from the log with this regex (RE2): its first group, or else the whole match; a "
    "metric named step gives the step of the others in its line";
/// Help for the flag --raw of all commands that show a job's lines.
inline constexpr std::string_view raw_help =
    "print log lines unchanged; by default, muster escapes control sequences except colours";

/// How the lines of hosts look: a note of the same commands.
inline constexpr std::string_view lines_note =
    "Each log line starts with the host and rank that wrote it. | marks standard output, and ! "
    "marks standard error. ! does not mean failure: Python writes progress bars and logs to "
    "standard error. A program's colours are shown only on a terminal, and not if NO_COLOR is set.";

/// What follows a command's own words.
enum class Rest {
  none,
  behind_dashes,  ///< All words behind "--".
  program,  ///< From the first word that is not a flag of the command, or after "--": a program and
            ///< its arguments, unchanged.
};

/// Where `sm --help` shows a command.
enum class Group {
  here,       ///< Jobs on this machine.
  server,     ///< A server and its jobs.
  cluster,    ///< A Slurm cluster.
  container,  ///< What a training container runs.
  operators,  ///< What every host runs alike.
  help,
  internal,  ///< What only muster itself calls: in no list, no completion, no man page.
};

/// One command.
struct Page {
  std::string_view name;  ///< As behind `sm`: "fit", "key create".
  Group group;
  std::string_view brief;  ///< A line for lists: no capital, no full stop.
  std::string_view about;  ///< A paragraph.
  std::vector<Operand> operands{};
  Rest rest = Rest::none;
  std::string_view rest_name = "ARGS";
  bool rest_optional = false;
  std::vector<Flag> flags{};  ///< --help is not among them: every command has it.
  std::vector<Example> examples{};
  std::vector<std::string_view> notes{};  ///< Paragraphs.
  std::vector<Exit> exits{};
  bool last_wins = false;        ///< A flag given twice: its last value counts; else it is refused.
  bool passes_flags_on = false;  ///< Rest::program: unknown flags begin what is passed on.
  std::vector<std::string_view> usage{};  ///< Where there are several forms: "[--json | --shell]".
};

/// All commands, those of one group together, in the order in which they are shown.
const std::vector<Page>& pages();
/// None if there is no such command.
const Page* find_page(std::string_view name);
/// For a name in the source code: aborts if the page does not exist.
const Page& page_of(std::string_view name);
/// "key create", "key list" and "key delete" for "key".
std::vector<const Page*> pages_below(std::string_view name);
/// All that people type; those without a space in their names, if `top`.
std::vector<const Page*> typed_pages(bool top);
/// The flag that `word` names: "--hosts", "--hosts=3", "-H". Null: the page has none.
const Flag* find_flag(const Page& page, std::string_view word);
/// The last word of a page's name.
std::string_view last_word(const Page& page);
/// "--help", which every command has.
const Flag& help_flag();
/// The title of a group in `sm --help`.
std::string_view title_of(Group group);

/// What `sm fit` and `sm submit` say alike of how many hosts and processes there are and what
/// starts them, between the flags of one of them.
std::vector<Flag> around_launch_flags(std::vector<Flag> before, const std::vector<Flag>& after);

/// What operators and `train` say alike of the job's hosts where no platform's file does.
std::vector<Flag> host_flags();

// The parts of pages(), each in a separate file: table_*.cc.
std::vector<Page> pages_here();
std::vector<Page> pages_image();
std::vector<Page> pages_server();
std::vector<Page> pages_jobs();
std::vector<Page> pages_cluster();
std::vector<Page> pages_container();
std::vector<Page> pages_operators();
std::vector<Page> pages_help();
std::vector<Page> pages_internal();

}  // namespace muster::command
