#include "backends/cuda/graph.h"

#include <memory>

#include "backends/cuda/context.h"
#include "backends/cuda/cuda_backend.h"
#include "backends/error.h"

namespace tapir::cuda {
namespace {

struct DestroyGraph {
  void operator()(cudaGraph_t graph) const { cudaGraphDestroy(graph); }
};
using Graph = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, DestroyGraph>;

bool capturing = false;

// From the beginning of a capture until its work is queued.
class Hold {
 public:
  Hold() { context().allocator.hold(); }
  ~Hold() { context().allocator.end_hold(); }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
};

// What the stream is asked for during `work`, which runs nothing yet.
Graph capture(const std::function<void()>& work) {
  const cudaStream_t stream = context().stream;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
  cudaGraph_t graph = nullptr;
  try {
    capturing = true;
    work();
    capturing = false;
  } catch (...) {
    capturing = false;
    cudaStreamEndCapture(stream, &graph);
    cudaGetLastError();  // says less than the exception
    if (graph != nullptr) cudaGraphDestroy(graph);
    throw;
  }
  check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  return Graph(graph);
}

// Makes `executable` do what `graph` says. One that was made for the same kernels in the same
// order, as the step before had, takes over the new arguments, which is much cheaper.
void update(cudaGraphExec_t& executable, cudaGraph_t graph) {
  cudaGraphExecUpdateResultInfo result;
  if (executable != nullptr) {
    if (cudaGraphExecUpdate(executable, graph, &result) == cudaSuccess) return;
    cudaGetLastError();  // that it is another graph is no failure
    cudaGraphExecDestroy(executable);
    executable = nullptr;
  }
  check(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
}

}  // namespace

void require_no_capture(const char* what) {
  require(!capturing, "cuda", "{} while work is put together to run as one unit; do it outside",
          what);
}

void CudaBackend::run_as_one(const std::function<void()>& work) const {
  static cudaGraphExec_t executable = nullptr;
  const Hold hold;
  const Graph graph = capture(work);
  update(executable, graph.get());
  check(cudaGraphLaunch(executable, context().stream), "cudaGraphLaunch");
}

}  // namespace tapir::cuda
