#include "backends/plugin.h"

#include <cstdlib>
#include <filesystem>

#include <dlfcn.h>

namespace tapir {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCudaLibrary = "libtapir_cuda.so";
constexpr const char* kCudaDriver = "libcuda.so.1";

// Where the CUDA library of this program stands, or "".
std::string find_cuda_library() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* folder : {".", TAPIR_PLUGIN_FOLDER}) {
    const fs::path file = program / folder / kCudaLibrary;
    if (!program.empty() && fs::exists(file, error)) return file.string();
  }
  return "";
}

std::string last_dl_error() {
  const char* text = dlerror();
  return text == nullptr ? "unknown error" : text;
}

}  // namespace

const Backend* open_plugin(const std::string& file, const char* driver, std::string* reason) {
  if (driver != nullptr && dlopen(driver, RTLD_LAZY | RTLD_LOCAL) == nullptr) {
    *reason = fmt::format("there is no NVIDIA driver ({} was not found)", driver);
    return nullptr;
  }
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    *reason = fmt::format("{} cannot be loaded: {}", file, last_dl_error());
    return nullptr;
  }
  const auto open = reinterpret_cast<OpenBackend>(dlsym(library, kPluginEntry));
  if (open == nullptr) {
    *reason = fmt::format("{} is no backend: it has no {}", file, kPluginEntry);
    return nullptr;
  }
  return open(kPluginVersion, reason, &shared_matmul_precision());
}

const Backend* open_cuda_plugin(std::string* reason) {
  if (const char* chosen = std::getenv("TAPIR_CUDA_PLUGIN"); chosen != nullptr && *chosen != '\0')
    return open_plugin(chosen, nullptr, reason);
  const std::string file = find_cuda_library();
  if (file.empty()) {
    *reason = fmt::format(
        "this program was built without CUDA (no {} beside it); build it where "
        "nvcc is installed, with -DTAPIR_CUDA=ON",
        kCudaLibrary);
    return nullptr;
  }
  return open_plugin(file, kCudaDriver, reason);
}

}  // namespace tapir
