#include "backends/cpu/blas.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <vector>

#include <dlfcn.h>

#include "backends/cpu/cpu_features.h"
#include "backends/error.h"

namespace tapir::cpu {
namespace {

// The C interface of BLAS.
constexpr int kRowMajor = 101, kNoTrans = 111, kTrans = 112;
using GemmFunction = void (*)(int order, int transpose_a, int transpose_b, int m, int n, int k,
                              double alpha, const double* a, int lda, const double* b, int ldb,
                              double beta, double* c, int ldc);

struct Library {
  BlasInfo info;
  GemmFunction dgemm = nullptr;
  // Of the OpenMP runtime that an OpenMP build uses; null for other builds.
  int (*omp_get_max_threads)() = nullptr;
  void (*omp_set_num_threads)(int) = nullptr;
};

// Keeps OpenBLAS on the calling thread while it is alive. An OpenMP build asks the runtime how many
// threads the calling thread may use, which is a setting of each thread, and the program's own.
class OneThread {
 public:
  explicit OneThread(const Library& library) : set_(library.omp_set_num_threads) {
    if (set_ == nullptr) return;
    before_ = library.omp_get_max_threads();
    if (before_ != 1) set_(1);
  }
  ~OneThread() {
    if (before_ != 1) set_(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  void (*set_)(int);
  int before_ = 1;
};

std::atomic<const Library*> loaded{nullptr};

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Sets an environment variable while it is alive, unless the user has set it.
class TemporaryVariable {
 public:
  TemporaryVariable(const char* name, const char* value) : name_(name) {
    if (std::getenv(name) != nullptr || value == nullptr) return;
    setenv(name, value, 0);
    mine_ = true;
  }
  ~TemporaryVariable() {
    if (mine_) unsetenv(name_);
  }
  TemporaryVariable(const TemporaryVariable&) = delete;
  TemporaryVariable& operator=(const TemporaryVariable&) = delete;

  bool mine() const { return mine_; }

 private:
  const char* name_;
  bool mine_ = false;
};

// OpenBLAS's own detection goes by model numbers and takes SSE3 kernels for a processor that it
// does not know, so it is told the core whose kernels fit the feature bits.
const char* fitting_core() {
  if (features().avx512) return "SkylakeX";
  return features().avx2 ? "Haswell" : nullptr;
}

// OpenBLAS is called for one thread at a time, so any of its builds will do; those with locks come
// first, and the plain name, which may lead to any of them, comes last.
std::vector<std::string> candidates() {
  if (std::string chosen = environment("TAPIR_OPENBLAS"); !chosen.empty()) return {chosen};
  return {"/usr/lib/x86_64-linux-gnu/openblas-openmp/libopenblas.so.0",  // Debian, Ubuntu
          "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0",
          "/usr/lib64/libopenblaso.so.0",  // Fedora
          "/usr/lib64/libopenblasp.so.0",
          "libopenblas.so.0",
          "libopenblas.so"};
}

void* open_library() {
  std::string tried;
  for (const std::string& path : candidates()) {
    if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
    tried = dlerror();
  }
  fail("openblas",
       "no OpenBLAS library could be loaded ({}); install it (Debian, Ubuntu: apt "
       "install libopenblas0-openmp) or set TAPIR_OPENBLAS to its file",
       tried);
}

template <typename Function>
Function symbol(void* handle, const char* name) {
  void* address = dlsym(handle, name);
  require(address != nullptr, "openblas",
          "the library has no {}; set TAPIR_OPENBLAS to an OpenBLAS "
          "with the C interface",
          name);
  return reinterpret_cast<Function>(address);
}

std::string path_of(void* address) {
  Dl_info where{};
  return dladdr(address, &where) != 0 && where.dli_fname != nullptr ? where.dli_fname : "unknown";
}

// Kernels for old processors, on one that could do better.
std::optional<std::string> find_fault(const BlasInfo& info) {
  constexpr std::array<std::string_view, 12> kSlowCores = {
      "Prescott", "Core2",     "Penryn", "Dunnington", "Nehalem", "Sandybridge",
      "Opteron",  "Barcelona", "Bobcat", "Bulldozer",  "Atom",    "Generic"};
  const bool slow =
      features().avx2 && std::ranges::find(kSlowCores, info.corename) != kSlowCores.end();
  if (!slow) return std::nullopt;
  return fmt::format(
      "OpenBLAS uses its {} kernels, several times slower than this processor allows; unset "
      "OPENBLAS_CORETYPE or set it to {}",
      info.corename, fitting_core());
}

std::unique_ptr<Library> load() {
  const TemporaryVariable core("OPENBLAS_CORETYPE", fitting_core());
  const TemporaryVariable one_thread("OPENBLAS_NUM_THREADS", "1");
  void* handle = open_library();
  auto library = std::make_unique<Library>();
  library->dgemm = symbol<GemmFunction>(handle, "cblas_dgemm");
  BlasInfo& info = library->info;
  info.path = path_of(reinterpret_cast<void*>(library->dgemm));
  info.config = symbol<const char* (*)()>(handle, "openblas_get_config")();
  info.corename = symbol<const char* (*)()>(handle, "openblas_get_corename")();
  constexpr std::array kThreading = {"serial", "pthreads", "openmp"};
  const int parallel = symbol<int (*)()>(handle, "openblas_get_parallel")();
  info.threading =
      parallel >= 0 && parallel < 3 ? kThreading[static_cast<size_t>(parallel)] : "unknown";
  if (info.threading == "openmp") {
    library->omp_get_max_threads = symbol<int (*)()>(handle, "omp_get_max_threads");
    library->omp_set_num_threads = symbol<void (*)(int)>(handle, "omp_set_num_threads");
  } else {
    symbol<void (*)(int)>(handle, "openblas_set_num_threads")(1);
  }
  info.coretype_source = core.mine()                                   ? "cpu features"
                         : std::getenv("OPENBLAS_CORETYPE") != nullptr ? "OPENBLAS_CORETYPE"
                                                                       : "OpenBLAS";
  info.warning = find_fault(info);
  return library;
}

const Library& library() {
  return *loaded.load(std::memory_order_acquire);
}

}  // namespace

const BlasInfo& load_blas() {
  static const std::unique_ptr<Library> instance = load();
  loaded.store(instance.get(), std::memory_order_release);
  return instance->info;
}

const BlasInfo* loaded_blas() {
  const Library* current = loaded.load(std::memory_order_acquire);
  return current == nullptr ? nullptr : &current->info;
}

void gemm(int64_t m, int64_t n, int64_t k, double alpha, BlasMatrix<const double> a,
          BlasMatrix<const double> b, double beta, BlasMatrix<double> c) {
  const OneThread one_thread(library());
  library().dgemm(kRowMajor, a.transposed ? kTrans : kNoTrans, b.transposed ? kTrans : kNoTrans,
                  static_cast<int>(m), static_cast<int>(n), static_cast<int>(k), alpha, a.data,
                  static_cast<int>(a.ld), b.data, static_cast<int>(b.ld), beta, c.data,
                  static_cast<int>(c.ld));
}

}  // namespace tapir::cpu
