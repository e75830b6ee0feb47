// The threads behind parallel loops.
#pragma once

namespace tapir::cpu {

// Calls work(context, 0) on this thread and work(context, w), 0 < w < team, on threads of the pool,
// and returns when every call that began has ended. A thread that comes too late makes no call, so
// that a busy machine never holds the caller up: `work` takes its items from a common list until
// none is left, whoever came. `work` must not throw.
//
// OpenMP's regions are not used because they wait for all their threads: with other processes on
// the cores, each of the hundreds of small loops of a training step then lasts a whole time slice.
void run_on_team(int team, void (*work)(void* context, int worker), void* context);

}  // namespace tapir::cpu
