#include "backends/cpu/thread_pool.h"

#include <atomic>
#include <mutex>
#include <system_error>
#include <thread>

#include <immintrin.h>

namespace tapir::cpu {
namespace {

// How often a waiting thread looks before it sleeps: for some tens of microseconds, longer than
// most gaps between two loops of a training step, and short for the other processes on the core.
constexpr int kPolls = 4000;

struct Job {
  void (*work)(void* context, int worker) = nullptr;
  void* context = nullptr;
  int team = 0;
};

class ThreadPool {
 public:
  void run(const Job& job) {
    // One job at a time; when another thread has the pool, this one does its work alone.
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return job.work(job.context, 0);
    start_threads(job.team - 1);
    job_ = job;
    gate_.fetch_or(kOpen, std::memory_order_release);
    jobs_.fetch_add(1, std::memory_order_release);
    jobs_.notify_all();
    job.work(job.context, 0);
    gate_.fetch_and(~kOpen, std::memory_order_acq_rel);
    wait_until_empty();
  }

 private:
  static constexpr unsigned kOpen = 1u << 31;

  void start_threads(int count) {
    try {
      for (; started_ < count; ++started_)
        std::thread([this, worker = started_ + 1] { serve(worker); }).detach();
    } catch (const std::system_error&) {
      // The system has no more threads; those that exist do the work.
    }
  }

  [[noreturn]] void serve(int worker) {
    for (int seen = 0;;) {
      seen = wait_for_job(seen);
      // Entering first and looking afterwards: the caller, who closes first and looks afterwards,
      // cannot miss a thread that found the gate open.
      if ((gate_.fetch_add(1, std::memory_order_acq_rel) & kOpen) != 0 && worker < job_.team)
        job_.work(job_.context, worker);
      if (gate_.fetch_sub(1, std::memory_order_acq_rel) == 1) gate_.notify_one();
    }
  }

  // With the gate closed: returns when the last thread has left.
  void wait_until_empty() {
    for (int poll = 0; poll < kPolls; ++poll) {
      if (gate_.load(std::memory_order_acquire) == 0) return;
      _mm_pause();
    }
    // Sleeps rather than yields: on a busy machine a thread that yields comes back much later.
    for (;;) {
      const unsigned inside = gate_.load(std::memory_order_acquire);
      if (inside == 0) return;
      gate_.wait(inside, std::memory_order_acquire);
    }
  }

  // Returns the number of jobs once it differs from `seen`.
  int wait_for_job(int seen) {
    for (int poll = 0; poll < kPolls; ++poll) {
      const int now = jobs_.load(std::memory_order_acquire);
      if (now != seen) return now;
      _mm_pause();
    }
    jobs_.wait(seen, std::memory_order_acquire);
    return jobs_.load(std::memory_order_acquire);
  }

  std::mutex mutex_;
  int started_ = 0;                // guarded by mutex_
  Job job_;                        // written with the gate closed, read inside it
  std::atomic<unsigned> gate_{0};  // kOpen, and the number of threads inside
  std::atomic<int> jobs_{0};       // counts jobs; idle threads wait for it to change
};

}  // namespace

void run_on_team(int team, void (*work)(void* context, int worker), void* context) {
  // Never destroyed, because its threads wait in it until the process ends.
  static ThreadPool& pool = *new ThreadPool;
  pool.run({work, context, team});
}

}  // namespace tapir::cpu
