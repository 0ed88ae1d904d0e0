#include "cli/fit/script_kind.h"

#include <doctest/doctest.h>

namespace muster::cli {
namespace {

TEST_CASE("script kind: a file is refused for what it holds, not for its name") {
  using Text = std::string;
  struct {
    const char* name;
    Text head;
    const char* want;  ///< Empty: it may run.
  } const cases[] = {
      {"train.ipynb", "{\n \"cells\": [\n", "is a notebook"},
      {"train.py", "{\"cells\": [], \"metadata\": {}}", "is a notebook"},
      {"train", "{\"metadata\": 1, \"nbformat\": 4, \"cells\": []}", "is a notebook"},
      {"a.zip", "PK\x03\x04 more", "is an archive"},
      {"train.py", "\x1f\x8b\x08 more", "is an archive"},
      {"source", Text(257, 'a') + "ustar", "is an archive"},
      {"source.xz",
       "\xfd"
       "7zXZ",
       "is an archive"},
      {"conf.json", "{\n  \"lr\": 0.1\n}\n", "is JSON"},
      {"conf", "\xef\xbb\xbf[1, 2, 3]", "is JSON"},
      {"conf", "[{\"a\": 1}]", "is JSON"},
      {"lines.jsonl", "{\"a\": 1}\n{\"a\": 2}\n", "is JSON"},
      {"data.csv", "a,b,c\n1,2,3\n4,5,6\n", "is a table"},
      {"data", "1;2\n3;4\n", "is a table"},
      {"data.tsv", "a\tb\n1\t2\n", "is a table"},
      {"train.pyc", Text("\xa7\r\r\n\0\0\0\0", 8), "is a binary file"},
      {"train.exe", Text("MZ\x90\0\x03\0", 6), "is a binary file"},
      {"train", Text("\xcf\xfa\xed\xfe\x07\0\0\x01", 8), "is a binary file"},
      {"train",
       Text("\x7f"
            "ELF\x02\x01\0\0",
            8),
       ""},
      {"train", "#!/bin/sh\necho a, b\necho c, d\n", ""},
      {"train", "echo a\nexec python3 t.py\n", ""},
      {"train", "{ echo a; }\n", ""},
      {"train", "[ -e x ] && exec y\n", ""},
      {"train", "[[ -e x ]] && exec y\n", ""},
      {"train", "exec python3 train.py --sizes 1,2\n", ""},
      {"train.py", "a, b\nc, d\n", ""},
      {"train.py", "[1, 2]\nprint(3)\n", ""},
      {"train.py", "", ""},
      {"train", "", ""},
      {"run", "export A=1,2\nexport B=3,4\n", ""},
  };
  for (const auto& each : cases) {
    CAPTURE(each.name);
    CAPTURE(each.head);
    const std::string got = no_script(each.name, each.head).value_or("");
    CHECK(got.starts_with(each.want));
    CHECK(got.empty() == Text(each.want).empty());
  }
}

}  // namespace
}  // namespace muster::cli
