// `sm node` alone: quicker to link than all of `sm`.
#include <csignal>

#include "machine/node/node.h"

extern char** environ;

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  muster::Env env;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    env.emplace(text.substr(0, text.find('=')), text.substr(text.find('=') + 1));
  }
  return muster::node::node_main(muster::Args(argv + 1, argv + argc), env);
}
