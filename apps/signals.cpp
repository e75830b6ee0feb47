#include "apps/signals.h"

#include <array>
#include <atomic>

#include <signal.h>
#include <unistd.h>

namespace tapir::app {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};

std::atomic<int> received{0};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may not wait for a lock");

std::array<struct sigaction, kSignals.size()> actions_before;

void handle(int signal) {
  int none = 0;
  if (!received.compare_exchange_strong(none, signal)) _exit(128 + signal);
}

}  // namespace

StopSignals::StopSignals() {
  received = 0;
  struct sigaction action {};
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART;
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &actions_before[i]);
}

StopSignals::~StopSignals() {
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &actions_before[i], nullptr);
}

bool StopSignals::stop_requested() {
  return received != 0;
}

int StopSignals::exit_status() {
  return received == 0 ? 0 : 128 + received;
}

}  // namespace tapir::app
