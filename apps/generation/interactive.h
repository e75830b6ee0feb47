// A conversation with a model that stays loaded: each line is continued.
#pragma once

#include "apps/generation/writer.h"

namespace tapir::app {

// Reads prompts from standard input until it ends or a line says /quit. Lines that begin with a
// slash change options; /help lists them. Texts go to standard output, everything else to standard
// error. Ctrl-C ends the text that is being written; without one, the program.
void run_interactive(const LoadedModel& model, WriterOptions options);

}  // namespace tapir::app
