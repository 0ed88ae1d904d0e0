#include "operators/operator_line.h"

#include <unistd.h>

#include <algorithm>

#include "base/fd.h"
#include "base/log.h"
#include "base/text.h"

namespace muster::operators {
namespace {

constexpr int exit_usage = 2;
constexpr std::size_t help_column = 30;

std::string with_dashes(std::string name) {
  std::replace(name.begin() + 2, name.end(), '_', '-');
  return name;
}

}  // namespace

OperatorLine::OperatorLine(std::string name, std::string what, std::string footer)
    : name_(std::move(name)), what_(std::move(what)), footer_(std::move(footer)) {
  flag({"--print-plan"}, print_plan_, "print what would run on this host and exit");
  flag({"--help"}, wants_help_, "this text");
}

void OperatorLine::value(Args names, std::string& into, std::string help) {
  Flag flag{std::move(names), std::move(help)};
  flag.text = &into;
  flags_.push_back(std::move(flag));
}

void OperatorLine::number(Args names, int& into, int least, std::string help) {
  Flag flag{std::move(names), std::move(help)};
  flag.number = &into;
  flag.least = least;
  flags_.push_back(std::move(flag));
}

void OperatorLine::flag(Args names, bool& into, std::string help) {
  Flag flag{std::move(names), std::move(help)};
  flag.set = &into;
  flags_.push_back(std::move(flag));
}

Result<void> OperatorLine::store(const Flag& flag, const std::string& name,
                                 const std::string& value) {
  if (flag.text != nullptr) {
    *flag.text = value;
    return {};
  }
  const std::optional<std::int64_t> number = parse_integer(value);
  if (!number || *number < flag.least || *number > 1 << 20)
    return fail(Errc::invalid_input, name + ": expected a whole number from " +
                                         std::to_string(flag.least) + " on, got \"" +
                                         to_utf8(value) + "\"");
  *flag.number = static_cast<int>(*number);
  return {};
}

/// False for a word that is none of ours.
Result<bool> OperatorLine::read_flag(const Args& args, std::size_t& at) {
  const std::string& word = args[at];
  const std::size_t equals = word.find('=');
  const std::string name = word == "-h" ? "--help" : word.substr(0, equals);
  if (!name.starts_with("--")) return false;
  for (const Flag& flag : flags_) {
    const bool ours = std::any_of(flag.names.begin(), flag.names.end(), [&](const auto& each) {
      return with_dashes(each) == with_dashes(name);
    });
    if (!ours) continue;
    if (flag.set != nullptr) {
      *flag.set = true;
      return true;
    }
    if (equals == std::string::npos && at + 1 >= args.size())
      return fail(Errc::invalid_input, name + ": expected a value");
    const std::string value = equals == std::string::npos ? args[++at] : word.substr(equals + 1);
    TRY(store(flag, name, value));
    return true;
  }
  return false;
}

Result<void> OperatorLine::read(const Args& args) {
  std::size_t at = 0;
  for (; at < args.size() && args[at] != "--"; ++at) {
    const bool ours = TRY(read_flag(args, at));
    if (!ours && args[at].starts_with('-') && !passes_flags_on_)
      return fail(Errc::invalid_input, "unknown flag \"" + to_utf8(args[at]) + "\"");
    if (!ours) break;
  }
  if (at < args.size() && args[at] == "--") ++at;
  command_.assign(args.begin() + static_cast<std::ptrdiff_t>(at), args.end());
  if (command_.empty() && !wants_help_)
    return fail(Errc::invalid_input, "expected a program to run");
  return {};
}

std::optional<int> OperatorLine::parse(const Args& args) {
  const Result<void> done = read(args);
  if (wants_help_) return write_all(STDOUT_FILENO, help()) ? 0 : 1;
  if (done) return std::nullopt;
  Log(STDERR_FILENO, "sm " + name_, Log::Level::info)
      .error(done.error().text + "; see sm " + name_ + " --help");
  return exit_usage;
}

std::string OperatorLine::help() const {
  std::string text =
      "usage: sm " + name_ + " [FLAGS] [--] PROGRAM [ARGS]\n\n" + what_ + "\n\nflags:\n";
  for (const Flag& flag : flags_) {
    std::string left = "  " + flag.names.front();
    if (flag.number != nullptr) left += " N";
    if (flag.text != nullptr) left += " TEXT";
    left.resize(std::max(left.size() + 2, help_column), ' ');
    text += left + flag.help + "\n";
  }
  return text + footer_ + "\n";
}

}  // namespace muster::operators
