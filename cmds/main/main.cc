// The multi-call program of the commands: argv[0] decides which one it is; called by its own name, the first argument
// does.
#include <csignal>
#include <cstdio>

#include "client/conn/program.h"
#include "cmds/main/dispatch.h"

int main(int argc, char** argv) {
  gw::client::hold_standard_streams();
  std::signal(SIGPIPE, SIG_IGN);
  std::vector<std::string> words(argv, argv + argc);
  return gw::cmds::run_by_name(words);
}
