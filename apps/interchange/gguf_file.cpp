#include "apps/interchange/gguf_file.h"

#include <bit>

#include "autograd/atomic_file.h"
#include "autograd/ops.h"

namespace tapir::app {
namespace {

static_assert(std::endian::native == std::endian::little, "GGUF files are little endian");

constexpr uint32_t kVersion = 3;
constexpr uint64_t kAlignment = 32;  // of the data of each tensor

// Types of values.
constexpr uint32_t kU32 = 4, kI32 = 5, kF32 = 6, kBool = 7, kString = 8, kArray = 9;

template <typename T>
void append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append_string(std::string& bytes, std::string_view text) {
  append(bytes, static_cast<uint64_t>(text.size()));
  bytes += text;
}

uint64_t aligned(uint64_t size) {
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

// The format's number for a type of elements.
uint32_t type_number(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return 0;
    case DType::f16:
      return 1;
    case DType::bf16:
      return 30;
    default:
      fail("gguf", "tensors of {} are not written; only f32, f16 and bf16 are", dtype);
  }
}

uint64_t byte_count(const Tensor& x) {
  return static_cast<uint64_t>(x.numel()) * size_of(x.dtype());
}

}  // namespace

void GgufFile::add_key(std::string_view key, uint32_t type) {
  ++key_count_;
  append_string(keys_, key);
  append(keys_, type);
}

void GgufFile::add_array(std::string_view key, uint32_t type, size_t count) {
  add_key(key, kArray);
  append(keys_, type);
  append(keys_, static_cast<uint64_t>(count));
}

void GgufFile::add_string(std::string_view key, std::string_view value) {
  add_key(key, kString);
  append_string(keys_, value);
}

void GgufFile::add_u32(std::string_view key, uint32_t value) {
  add_key(key, kU32);
  append(keys_, value);
}

void GgufFile::add_f32(std::string_view key, float value) {
  add_key(key, kF32);
  append(keys_, value);
}

void GgufFile::add_bool(std::string_view key, bool value) {
  add_key(key, kBool);
  append(keys_, static_cast<uint8_t>(value));
}

void GgufFile::add_strings(std::string_view key, const std::vector<std::string>& values) {
  add_array(key, kString, values.size());
  for (const std::string& value : values) append_string(keys_, value);
}

void GgufFile::add_ints(std::string_view key, const std::vector<int32_t>& values) {
  add_array(key, kI32, values.size());
  for (const int32_t value : values) append(keys_, value);
}

void GgufFile::add_tensor(std::string name, const Tensor& tensor) {
  type_number(tensor.dtype());
  tensors_.push_back({std::move(name), tensor});
}

void GgufFile::write(const std::filesystem::path& path) const {
  std::string header = "GGUF";
  append(header, kVersion);
  append(header, static_cast<uint64_t>(tensors_.size()));
  append(header, key_count_);
  header += keys_;
  uint64_t offset = 0;
  for (const NamedTensor& entry : tensors_) {
    const Shape& shape = entry.tensor.shape();
    append_string(header, entry.name);
    append(header, static_cast<uint32_t>(shape.rank()));
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {  // the fastest one first
      append(header, static_cast<uint64_t>(shape[axis]));
    }
    append(header, type_number(entry.tensor.dtype()));
    append(header, offset);
    offset += aligned(byte_count(entry.tensor));
  }
  header.resize(aligned(header.size()), '\0');
  AtomicFile file(path);
  file.write(header);
  for (const NamedTensor& entry : tensors_) {
    const Tensor host = to(contiguous(detach(entry.tensor)), kCpu);
    const uint64_t bytes = byte_count(host);
    file.write({static_cast<const char*>(host.view().data), bytes});
    file.write(std::string(aligned(bytes) - bytes, '\0'));
  }
  file.commit();
}

}  // namespace tapir::app
