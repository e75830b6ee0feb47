// The whole program behind main().
#pragma once

namespace tapir::app {

// Parses the command line, runs the subcommand and returns the exit status: 0 for success, 1 for
// failure, 2 for a wrong command line. Errors are printed here and nowhere else.
int run_program(int argc, char** argv);

}  // namespace tapir::app
