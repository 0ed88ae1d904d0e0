#include "command/line.h"

#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <variant>

#include "base/terminal.h"
#include "base/text.h"
#include "base/topic.h"
#include "command/exit_codes.h"
#include "command/help.h"
#include "command/nearest.h"

namespace muster::command {
namespace {

/// Whether the word behind `word`, a flag's name if there is a flag, is its value.
bool value_is_next(const Flag* flag, const std::string& word) {
  return flag != nullptr && flag->takes_value() && word.find('=') == std::string::npos;
}

std::string full_name(const Page& page) {
  return "sm " + std::string(page.name);
}

/// "; did you mean --hosts?", or nothing.
std::string hint(const std::string& word, const std::vector<std::string_view>& known) {
  const std::string_view near = nearest(word, known);
  return near.empty() ? "" : "; did you mean " + std::string(near) + "?";
}

}  // namespace

/// Where the values of a flag or operand go.
struct Line::Bound {
  struct Number {
    int* into;
    int least, most;
  };
  std::string name;
  CLI::Option* option = nullptr;
  std::variant<bool*, std::string*, std::optional<std::string>*, std::vector<std::string>*, Number>
      into{};
};

struct Line::App {
  CLI::App app;
  std::vector<Bound> bound;
};

Stop wrong_line(const Page& page, const std::string& text) {
  return {full_name(page), exit_usage, visible_line(text)};
}

std::string text_of(const Stop& stop) {
  if (stop.exit_code == exit_success) return stop.text;
  return stop.name + ": " + with_topic(stop.text) + "\nsee " + stop.name + " --help\n";
}

int tell(const Stop& stop) {
  const int fd = stop.exit_code == exit_success ? STDOUT_FILENO : STDERR_FILENO;
  return say(fd, text_of(stop)) ? stop.exit_code : exit_platform;
}

int tell(const Stop& stop, const Log& log) {
  if (stop.exit_code == exit_success) return say(STDOUT_FILENO, stop.text) ? 0 : exit_failed;
  const std::string also = stop.text.ends_with("?") ? " see " : "; see ";
  log.error(stop.text + also + stop.name + " --help");
  return stop.exit_code;
}

Stop no_command(std::string_view below, const std::string& word,
                const std::vector<const Page*>& known) {
  std::vector<std::string_view> names;
  for (const Page* page : known) names.push_back(last_word(*page));
  const std::string name = below.empty() ? "sm" : "sm " + std::string(below);
  const std::string text =
      word.empty() ? "expected a command" : "unknown command \"" + word + "\"" + hint(word, names);
  return {name, exit_usage, visible_line(text)};
}

std::variant<const Page*, Stop> command_below(std::string_view below, const Args& args) {
  const std::string word = args.empty() ? "" : args[0];
  if (word.empty() || word.starts_with("-")) {
    std::optional<Stop> stop = Line(page_of(below)).parse(args);
    return stop ? *std::move(stop) : no_command(below, "", {});
  }
  const Page* page = find_page(std::string(below) + " " + word);
  if (page != nullptr) return page;
  return no_command(below, word, pages_below(below));
}

Line::Line(const Page& page) : page_(page), app_(std::make_unique<App>()) {
  app_->app.set_help_flag("-h,--help", "");
}

Line::~Line() = default;

void Line::flag(std::string_view name, bool& into) {
  bind(name, false, false).into = &into;
}

void Line::text(std::string_view name, std::string& into) {
  bind(name, true, false).into = &into;
}

void Line::text(std::string_view name, std::optional<std::string>& into) {
  bind(name, true, false).into = &into;
}

void Line::texts(std::string_view name, std::vector<std::string>& into) {
  bind(name, true, true).into = &into;
}

void Line::number(std::string_view name, int& into, int least, int most) {
  bind(name, true, false).into = Bound::Number{&into, least, most};
}

void Line::more_help(std::string block) {
  more_help_ = std::move(block);
}

/// An option of CLI11's that keeps the words as they are: its own conversions read more into some,
/// "{}" for one. The page must know the name, and say of it what the caller does.
Line::Bound& Line::bind(std::string_view name, bool takes_value, bool many) {
  Bound bound{std::string(name)};
  if (name.starts_with("-")) {
    const Flag* flag = find_flag(page_, name);
    CHECK_THAT(flag != nullptr && flag->name == name, "every flag stands on its command's page");
    CHECK_THAT(flag->takes_value() == takes_value && flag->many == many, "as its page says");
    const std::string names =
        flag->letter.empty() ? bound.name : std::string(flag->letter) + "," + bound.name;
    bound.option = takes_value ? app_->app.add_option(names) : app_->app.add_flag(names);
  } else {
    const auto found = std::find_if(page_.operands.begin(), page_.operands.end(),
                                    [&](const Operand& each) { return each.name == name; });
    CHECK_THAT(found != page_.operands.end() && found->many == many, "as its page says");
    bound.option = app_->app.add_option(bound.name)->required(found->required);
  }
  const bool operand = !name.starts_with("-");
  if (takes_value) bound.option->type_size(1)->allow_extra_args(operand && many);
  bound.option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return app_->bound.emplace_back(std::move(bound));
}

/// Splits off what Page::rest is about.
Args Line::split(const Args& args) {
  args_ = args;
  own_ = args.size();
  if (page_.rest == Rest::none) return args;
  const auto is_dashes = [](const std::string& word) { return word == "--"; };
  auto end = std::find_if(args.begin(), args.end(), is_dashes);
  if (page_.rest == Rest::program) {
    for (end = args.begin(); end != args.end() && end->starts_with("-") && *end != "--"; ++end) {
      const Flag* known = find_flag(page_, *end);
      if (known == nullptr && page_.passes_flags_on) break;
      if (value_is_next(known, *end) && end + 1 != args.end()) ++end;
    }
  }
  own_ = static_cast<std::size_t>(end - args.begin());
  rest_.assign(end + (end != args.end() && *end == "--" ? 1 : 0), args.end());
  return {args.begin(), end};
}

Args Line::without(const std::vector<Flag>& flags) const {
  Args words;
  for (std::size_t at = 0; at < args_.size(); ++at) {
    const std::string& word = args_[at];
    const bool own = at < own_ && word.starts_with("-");
    const Flag* flag = own ? find_flag(page_, word) : nullptr;
    const bool gone = flag != nullptr && std::any_of(flags.begin(), flags.end(), [&](auto& each) {
                        return each.name == flag->name;
                      });
    if (!gone) words.push_back(word);
    if (!value_is_next(flag, word)) continue;
    ++at;
    if (!gone && at < args_.size()) words.push_back(args_[at]);
  }
  return words;
}

/// The words as CLI11 takes a flag's name and value without a doubt: "--name=value", or two words
/// if the value is empty. Names as the page has them.
Result<Args> Line::prepared(const Args& own) const {
  Args words;
  for (std::size_t at = 0; at < own.size(); ++at) {
    const std::string& word = own[at];
    if (word == "--") {
      words.insert(words.end(), own.begin() + static_cast<std::ptrdiff_t>(at), own.end());
      break;
    }
    const Flag* flag = word.starts_with("-") ? find_flag(page_, word) : nullptr;
    if (flag == nullptr) {
      words.push_back(word);
      continue;
    }
    const std::size_t equals = word.find('=');
    const bool joined = equals != std::string::npos;
    words.push_back(std::string(flag->name));
    if (!flag->takes_value()) {
      if (joined) words.back() += word.substr(equals);
      continue;
    }
    if (!joined && at + 1 == own.size())
      return fail(Errc::invalid_input,
                  word + ": expected a value (" + std::string(flag->value) + ")");
    const std::string value = joined ? word.substr(equals + 1) : own[++at];
    if (value.empty())
      words.emplace_back();
    else
      words.back() += "=" + value;
  }
  return words;
}

/// `words`: what CLI11 could not place. Behind "--" all of them are arguments.
Error Line::unexpected(const Args& words) const {
  const bool behind = words.front() == "--" && words.size() > 1;
  const std::string& word = words[behind ? 1 : 0];
  if (behind || !word.starts_with("-") || word == "-")
    return fail(Errc::invalid_input, "unexpected argument \"" + to_utf8(word) + "\"");
  std::vector<std::string_view> known = {help_flag().name};
  for (const Flag& flag : page_.flags) known.push_back(flag.name);
  const std::string name = word.substr(0, word.find('='));
  std::string text = "unknown flag \"" + to_utf8(name) + "\"" + hint(name, known);
  if (page_.rest == Rest::behind_dashes &&
      page_.rest_optional)  // A program's own are meant, often.
    text += std::string(text.ends_with('?') ? " Put" : "; put") + " flags for " +
            std::string(page_.operands.front().name) +
            " itself after --: " + std::string(page_.operands.front().name) + " -- " +
            to_utf8(word);
  return fail(Errc::invalid_input, text);
}

Result<void> Line::store(const Bound& bound) const {
  const std::vector<std::string>& values = bound.option->results();
  if (values.empty()) return {};
  if (bool* const* flag = std::get_if<bool*>(&bound.into)) {
    **flag = values.back() == "true";
    return {};
  }
  if (std::vector<std::string>* const* texts =
          std::get_if<std::vector<std::string>*>(&bound.into)) {
    **texts = values;
    return {};
  }
  if (values.size() > 1 && !page_.last_wins)
    return fail(Errc::invalid_input, bound.name + " was given twice");
  if (std::string* const* text = std::get_if<std::string*>(&bound.into)) {
    **text = values.back();
    return {};
  }
  if (std::optional<std::string>* const* text =
          std::get_if<std::optional<std::string>*>(&bound.into)) {
    **text = values.back();
    return {};
  }
  const Bound::Number& number = std::get<Bound::Number>(bound.into);
  const std::optional<std::int64_t> value = parse_integer(values.back());
  if (!value || *value < number.least || *value > number.most)
    return fail(Errc::invalid_input, bound.name + ": expected a whole number from " +
                                         std::to_string(number.least) + " to " +
                                         std::to_string(number.most) + ", got \"" +
                                         to_utf8(values.back()) + "\"");
  *number.into = static_cast<int>(*value);
  return {};
}

Result<void> Line::store_all() const {
  for (const Bound& bound : app_->bound) TRY(store(bound));
  const bool optional = page_.rest == Rest::none || page_.rest_optional;
  if (optional || !rest_.empty()) return {};
  if (page_.rest == Rest::program) return fail(Errc::invalid_input, "expected a program to run");
  return fail(Errc::invalid_input, "expected -- " + std::string(page_.rest_name));
}

std::optional<Stop> Line::parse(const Args& args) {
  CHECK_THAT(app_->bound.size() == page_.flags.size() + page_.operands.size(),
             "every flag and operand of the page is told where it goes");
  CLI::App& app = app_->app;
  try {
    Result<Args> words = prepared(split(args));
    if (!words) return wrong_line(page_, words.error().text);
    std::reverse(words->begin(), words->end());
    app.parse(*std::move(words));
    const Result<void> stored = store_all();
    if (!stored) return wrong_line(page_, stored.error().text);
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    return Stop{full_name(page_), exit_success, help_of(page_, more_help_)};
  } catch (const CLI::ParseError& error) {
    const Args unknown = app.remaining();
    return wrong_line(page_, unknown.empty() ? error.what() : unexpected(unknown).text);
  }
}

}  // namespace muster::command
