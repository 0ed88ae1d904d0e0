#include "host/toolkit/refusals.h"

#include <doctest/doctest.h>

namespace muster::launch {
namespace {

TEST_CASE(
    "refusals: values that the kernel or a shell cannot handle are one line before the start") {
  const std::string crlf = "#!/bin/sh\r\necho a\r\n";
  struct {
    const char* name;
    std::string head;
    bool good;
  } const scripts[] = {
      {"CR LF", crlf, false},
      {"but for the first line", "#!/bin/bash\necho a\r\necho b\r\n", false},
      {"the first line alone", "#!/bin/bash\r\necho a\necho b\n", false},
      {"one line within", "#!/bin/sh\necho a\ncat <<x\na\r\nx\n", true},
      {"LF", "#!/bin/sh\necho a\n", true},
      {"a CR in a line", "printf 'a\rb'\n", true},
      {"a program",
       std::string("\x7f"
                   "ELF\r\n\r\n"),
       true},
      {"nothing", "", true},
  };
  for (const auto& each : scripts) {
    CAPTURE(each.name);
    const Result<void> checked = check_line_ends("train.sh", each.head);
    CHECK(checked.has_value() == each.good);
    if (!checked) CHECK(checked.error().text.ends_with("sed -i 's/\\r$//' train.sh"));
  }

  using job::PyValue;
  PyValue parameters = PyValue::new_dict();
  parameters.set("epochs", PyValue::of_text("a=b"));
  CHECK(check_names(parameters));
  parameters.set("a=b", PyValue::of_text("1"));
  REQUIRE(!check_names(parameters));
  CHECK(check_names(parameters)
            .error()
            .text.starts_with("hyperparameter a=b: its name contains '='"));

  Command command{{"python3", "t.py"}, {{"SM_HPS", std::string(131064, 'x')}}, "/"};
  CHECK(check_lengths(command));
  command.env["SM_HPS"] += "x";
  REQUIRE(!check_lengths(command));
  CHECK(check_lengths(command).error().text.starts_with(
      "variable SM_HPS: it has 131072 bytes, but the kernel allows only 131071;"));
  command.env.clear();
  command.argv.push_back(std::string(131071, 'x'));
  CHECK(check_lengths(command));
  command.argv.back() += "x";
  CHECK(!check_lengths(command));
}

}  // namespace
}  // namespace muster::launch
