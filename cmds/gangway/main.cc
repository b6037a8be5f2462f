// gangway VERB: entry point.
#include "cmds/gangway/verbs.h"

int main(int argc, char** argv) { return gw::cmds::gangway_main(argc, argv); }
