// The parallel loop that every CPU kernel uses.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "backends/cpu/thread_pool.h"
#include "backends/cpu/threads.h"

namespace tapir::cpu {

namespace detail {

// Loops cheaper than this stay on the calling thread: waking the others costs about as much.
inline constexpr int64_t kSerialCost = 32768;

// True on a thread that is inside a parallel loop, so that loops never nest.
inline thread_local bool inside_loop = false;

// The items one worker starts with; when it has none left, it helps the others.
struct alignas(64) Share {
  int64_t next;
  int64_t end;
};

template <typename Body>
void run_item(Body& body, int64_t item, int worker) {
  if constexpr (std::is_invocable_v<Body&, int64_t, int>) {
    body(item, worker);
  } else {
    body(item);
  }
}

// A loop's items, dealt out to the workers.
template <typename Body>
struct Loop {
  Body& body;
  int team;
  int64_t grain;  // how many items are taken at a time
  Share shares[kMaxThreads];

  Loop(Body& loop_body, int64_t items, int workers)
      : body(loop_body), team(workers), grain(items / (int64_t{workers} * 16) + 1) {
    for (int w = 0; w < team; ++w) shares[w] = {items * w / team, items * (w + 1) / team};
  }

  static void work(void* loop, int worker) { static_cast<Loop*>(loop)->work(worker); }

  void work(int worker) {
    inside_loop = true;
    for (int turn = 0; turn < team; ++turn) {
      Share& share = shares[(worker + turn) % team];
      std::atomic_ref<int64_t> next(share.next);
      for (;;) {
        const int64_t begin = next.fetch_add(grain, std::memory_order_relaxed);
        if (begin >= share.end) break;
        const int64_t end = begin + grain < share.end ? begin + grain : share.end;
        for (int64_t item = begin; item < end; ++item) run_item(body, item, worker);
      }
    }
    inside_loop = false;
  }
};

}  // namespace detail

// Calls body(item), or body(item, worker) with 0 <= worker < threads(), for every item in
// [0, items). Which thread runs an item is not fixed, so a body writes only what belongs to its
// item (or its worker). `cost_per_item` is an estimate in elementary operations, one for an
// element of a simple loop. The body must not throw.
template <typename Body>
void parallel_for(int64_t items, int64_t cost_per_item, Body&& body) {
  const bool cheap =
      cost_per_item < detail::kSerialCost && items * cost_per_item < detail::kSerialCost;
  const int team = cheap || items < 2 || detail::inside_loop ? 1 : threads();
  if (team == 1) {
    for (int64_t item = 0; item < items; ++item) detail::run_item(body, item, 0);
    return;
  }
  using Loop = detail::Loop<std::remove_reference_t<Body>>;
  Loop loop(body, items, team);
  run_on_team(team, Loop::work, &loop);
}

// Splits [0, count) into pieces of `piece` elements (the last one shorter), fixed by the count
// alone, and calls body(piece index, begin, end) for each.
template <typename Body>
void parallel_pieces(int64_t count, int64_t piece, int64_t cost_per_element, Body&& body) {
  const int64_t pieces = (count + piece - 1) / piece;
  parallel_for(pieces, (count < piece ? count : piece) * cost_per_element, [&](int64_t index) {
    const int64_t begin = index * piece;
    body(index, begin, begin + piece < count ? begin + piece : count);
  });
}

}  // namespace tapir::cpu
