// GGUF, the file format of llama.cpp, version 3. Source: the specification in ggml's repository,
// docs/gguf.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/state_dict.h"

namespace tapir::app {

// Collects keys and tensors and writes them.
class GgufFile {
 public:
  void add_string(std::string_view key, std::string_view value);
  void add_u32(std::string_view key, uint32_t value);
  void add_f32(std::string_view key, float value);
  void add_bool(std::string_view key, bool value);
  void add_strings(std::string_view key, const std::vector<std::string>& values);
  void add_ints(std::string_view key, const std::vector<int32_t>& values);

  // f32, f16 or bf16.
  void add_tensor(std::string name, const Tensor& tensor);

  // Writes the file, so that it appears whole or not at all.
  void write(const std::filesystem::path& path) const;

 private:
  void add_key(std::string_view key, uint32_t type);
  void add_array(std::string_view key, uint32_t type, size_t count);

  uint64_t key_count_ = 0;
  std::string keys_;
  std::vector<NamedTensor> tensors_;
};

}  // namespace tapir::app
