// Ctrl-C and its relatives.
#pragma once

namespace tapir::app {

// While alive, the first SIGINT, SIGTERM or SIGHUP only asks for a stop, so that the current step
// can be finished and saved; the second ends the process at once. Files that appear by renaming
// are safe from that: an earlier one stays what it was.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  static bool stop_requested();
  // 128 + the number of the signal, as shells report it; 0 without a signal.
  static int exit_status();
};

}  // namespace tapir::app
