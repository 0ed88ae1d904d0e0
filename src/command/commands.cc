#include "command/commands.h"

#include <unistd.h>

#include "base/fd.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/topic.h"
#include "command/completion.h"
#include "command/exit_codes.h"
#include "command/explain.h"
#include "command/help.h"
#include "command/line.h"
#include "command/man.h"
#include "command/nearest.h"

namespace muster::command {
namespace {

int print(const std::string& text) {
  return write_all(STDOUT_FILENO, text) ? exit_success : exit_platform;
}

/// The page of "key create", of "fit". Null: there is none, which `stop` then says.
const Page* page_asked_for(const Args& words, std::optional<Stop>& stop) {
  const Page* page = find_page(join(words, " "));
  if (page != nullptr) return page;
  const bool known = find_page(words.front()) != nullptr && words.size() > 1;
  stop = known ? no_command(words.front(), words[1], pages_below(words.front()))
               : no_command("", words.front(), typed_pages(true));
  return nullptr;
}

Result<void> write_pages(const std::string& folder) {
  TRY(make_folders(folder));
  TRY(write_file(folder + "/sm.1", man_overview()));
  for (const Page* page : typed_pages(false))
    TRY(write_file(folder + "/" + man_name(page->name) + ".1", man_page(*page)));
  return {};
}

/// By its name, else by a message. Null: there is none, which `stop` then says.
const Topic* topic_asked_for(const std::string& words, std::optional<Stop>& stop) {
  const Topic* topic = find_topic(words);
  if (topic == nullptr) topic = topic_of(topics(), words);
  if (topic != nullptr) return topic;
  std::vector<std::string_view> names;
  for (const Topic& each : topics()) names.push_back(each.name);
  const std::string_view near = nearest(words, names);
  stop = wrong_line(page_of("explain"),
                    "unknown topic or message \"" + words + "\"" +
                        (near.empty() ? "; sm explain lists the topics"
                                      : "; did you mean " + std::string(near) + "?"));
  return nullptr;
}

}  // namespace

int explain_main(const Args& args, const Env&) {
  Line line(page_of("explain"));
  Args words;
  line.texts("TOPIC", words);
  if (const std::optional<Stop> stop = line.parse(args)) return tell(*stop);
  if (words.empty()) return print(topic_list(topics()));
  std::optional<Stop> stop;
  const Topic* topic = topic_asked_for(join(words, " "), stop);
  return topic == nullptr ? tell(*stop) : print(explained(*topic));
}

int completion_main(const Args& args, const Env&) {
  const Page& page = page_of("completion");
  Line line(page);
  std::string shell;
  line.text("SHELL", shell);
  if (const std::optional<Stop> stop = line.parse(args)) return tell(*stop);
  const Result<std::string> script = completion_script(shell);
  return script ? print(*script) : tell(wrong_line(page, script.error().text));
}

int man_main(const Args& args, const Env&) {
  const Page& own = page_of("man");
  Line line(own);
  Args words;
  std::string folder;
  line.texts("COMMAND", words);
  line.text("--write", folder);
  if (const std::optional<Stop> stop = line.parse(args)) return tell(*stop);
  if (!folder.empty() && !words.empty())
    return tell(wrong_line(own, "--write writes all pages; omit COMMAND"));
  if (!folder.empty()) {
    const Result<void> written = write_pages(folder);
    if (!written) static_cast<void>(say_error(STDERR_FILENO, "sm man", written.error().text));
    return written ? exit_success : exit_platform;
  }
  if (words.empty()) return print(man_overview());
  std::optional<Stop> stop;
  const Page* page = page_asked_for(words, stop);
  return page == nullptr ? tell(*stop) : print(man_page(*page));
}

int help_main(const Args& args, const Env&) {
  Line line(page_of("help"));
  Args words;
  line.texts("COMMAND", words);
  if (const std::optional<Stop> stop = line.parse(args)) return tell(*stop);
  if (words.empty()) return print(overview());
  std::optional<Stop> stop;
  const Page* page = page_asked_for(words, stop);
  return page == nullptr ? tell(*stop) : print(help_of(*page));
}

int version_main(const Args& args, const Env&) {
  Line line(page_of("version"));
  if (const std::optional<Stop> stop = line.parse(args)) return tell(*stop);
  return print("muster " MUSTER_VERSION "\n");
}

int no_command_main(const Args& args) {
  if (args.empty()) {
    static_cast<void>(write_all(STDERR_FILENO, overview()));
    return exit_usage;
  }
  return tell(no_command("", args[0], typed_pages(true)));
}

}  // namespace muster::command
