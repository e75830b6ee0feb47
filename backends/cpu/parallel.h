// The one parallel loop that every CPU kernel uses.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "backends/cpu/threads.h"

#ifdef TAPIR_STD_THREADS  // for ThreadSanitizer, which does not see the barriers of libgomp
#include <thread>
#include <vector>
#else
#include <omp.h>
#endif

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

template <typename Body>
void work(Share* shares, int team, int worker, int64_t grain, Body& body) {
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

}  // namespace detail

// Calls body(item), or body(item, worker) with 0 <= worker < threads(), for every item in
// [0, items). Which thread runs an item is not fixed, so a body writes only what belongs to its
// item (or its worker). `cost_per_item` is an estimate in elementary operations, one for an
// element of a simple loop. The body must not throw.
template <typename Body>
void parallel_for(int64_t items, int64_t cost_per_item, Body&& body) {
  const int team = threads();
  const bool cheap =
      cost_per_item < detail::kSerialCost && items * cost_per_item < detail::kSerialCost;
  if (team == 1 || items < 2 || cheap || detail::inside_loop) {
    for (int64_t item = 0; item < items; ++item) detail::run_item(body, item, 0);
    return;
  }
  detail::Share shares[kMaxThreads];
  for (int w = 0; w < team; ++w) shares[w] = {items * w / team, items * (w + 1) / team};
  const int64_t grain = items / (int64_t{team} * 16) + 1;
#ifdef TAPIR_STD_THREADS
  std::vector<std::thread> others;
  for (int w = 1; w < team; ++w)
    others.emplace_back([&, w] { detail::work(shares, team, w, grain, body); });
  detail::work(shares, team, 0, grain, body);
  for (std::thread& other : others) other.join();
#else
#pragma omp parallel num_threads(team)
  {
    // The runtime may give fewer threads than asked for; helping one another covers that too.
    detail::work(shares, team, omp_get_thread_num(), grain, body);
  }
#endif
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
