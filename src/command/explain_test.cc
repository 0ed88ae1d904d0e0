#include "command/explain.h"

#include <doctest/doctest.h>

#include "command/commands.h"

namespace muster::command {
namespace {

TEST_CASE("explain: a section as text, without Markdown's marks") {
  const Topic topic{.group = "Before",
                    .name = "needs-root",
                    .title = "Jobs need root",
                    .says = {"needs root", "… wants root"},
                    .text = "See [limits](limits.md) and **never** `sudo x`:\nit helps.\n\nMore."};
  CHECK(explained(topic) ==
        "Jobs need root (needs-root)\n"
        "\n"
        "    needs root\n"
        "    … wants root\n"
        "\n"
        "See limits and never `sudo x`: it helps.\n"
        "\n"
        "More.\n");
}

TEST_CASE("explain: all names by group, with titles") {
  const std::vector<Topic> some = {{.group = "Before", .name = "needs-root", .title = "Need root"},
                                   {.group = "After", .name = "lost", .title = "Is lost"}};
  CHECK(topic_list(some) ==
        "Topics that explain muster's messages. Each message ends with the name of its\n"
        "topic. sm explain TOPIC shows the explanation.\n"
        "\nBefore:\n"
        "  needs-root         Need root\n"
        "\nAfter:\n"
        "  lost               Is lost\n");
}

}  // namespace
}  // namespace muster::command
