#include "autograd/serialize.h"

#include <bit>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "autograd/atomic_file.h"
#include "autograd/ops.h"

namespace tapir {
namespace {

using Json = nlohmann::ordered_json;

static_assert(std::endian::native == std::endian::little, "safetensors files are little endian");

// Longer headers are not plausible; the format's own reader has the same limit.
constexpr uint64_t kMaxHeader = 100'000'000;

constexpr std::pair<DType, std::string_view> kNames[] = {
    {DType::f64, "F64"}, {DType::f32, "F32"}, {DType::bf16, "BF16"},
    {DType::f16, "F16"}, {DType::i32, "I32"}, {DType::boolean, "BOOL"}};

std::string_view format_name(DType dtype) {
  for (const auto& entry : kNames) {
    if (entry.first == dtype) return entry.second;
  }
  return "?";
}

DType parse_format_name(const std::filesystem::path& path, const std::string& tensor,
                        const std::string& name) {
  for (const auto& entry : kNames) {
    if (entry.second == name) return entry.first;
  }
  fail("load_safetensors",
       "{}: tensor '{}' has dtype {}; only F64, F32, BF16, F16, I32 and BOOL are read",
       path.string(), tensor, name);
}

struct Entry {
  std::string name;
  DType dtype;
  Shape shape;
  uint64_t begin, end;
};

// One tensor of the header, with everything checked that the header says about itself.
Entry parse_entry(const std::filesystem::path& path, const std::string& name, const Json& json,
                  uint64_t data_size) {
  Entry entry{name, parse_format_name(path, name, json.at("dtype").get<std::string>()), {}, 0, 0};
  const auto sizes = json.at("shape").get<std::vector<uint64_t>>();
  const auto offsets = json.at("data_offsets").get<std::vector<uint64_t>>();
  uint64_t bytes = size_of(entry.dtype);
  for (uint64_t size : sizes) {
    require(size <= (uint64_t{1} << 48) && (size == 0 || bytes <= (uint64_t{1} << 60) / size),
            "load_safetensors", "{}: tensor '{}' claims an impossible shape", path.string(), name);
    bytes *= size;
    entry.shape.push_back(static_cast<int64_t>(size));
  }
  require(offsets.size() == 2 && offsets[0] <= offsets[1] && offsets[1] <= data_size,
          "load_safetensors", "{}: tensor '{}' lies outside the file; it is truncated or damaged",
          path.string(), name);
  require(offsets[1] - offsets[0] == bytes, "load_safetensors",
          "{}: tensor '{}' {} needs {} bytes but has {}", path.string(), name, entry.shape, bytes,
          offsets[1] - offsets[0]);
  entry.begin = offsets[0];
  entry.end = offsets[1];
  return entry;
}

// All of the file in memory; the caller checks what is in it.
std::string read_file(const std::filesystem::path& path) {
  std::error_code error;
  require(std::filesystem::is_regular_file(path, error), "load_safetensors", "{}: no such file",
          path.string());
  std::ifstream file(path, std::ios::binary);
  require(file.good(), "load_safetensors", "{}: cannot be opened; check its permissions",
          path.string());
  std::string content(static_cast<size_t>(std::filesystem::file_size(path)), '\0');
  file.read(content.data(), static_cast<std::streamsize>(content.size()));
  require(file.gcount() == static_cast<std::streamsize>(content.size()), "load_safetensors",
          "{}: could only read {} of {} bytes", path.string(), file.gcount(), content.size());
  return content;
}

Tensor read_tensor(const Entry& entry, const char* data) {
  Tensor tensor = Tensor::empty(entry.shape, entry.dtype);
  const size_t bytes = entry.end - entry.begin;
  if (entry.dtype == DType::boolean) {  // any other byte than 0 and 1 is not a bool
    for (size_t i = 0; i < bytes; ++i) tensor.data<bool>()[i] = data[entry.begin + i] != 0;
  } else if (bytes > 0) {
    std::memcpy(tensor.view().data, data + entry.begin, bytes);
  }
  return tensor;
}

void parse_header(const std::filesystem::path& path, const Json& header, const char* data,
                  uint64_t data_size, SafetensorsFile& file) {
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__") {
      for (const auto& [key, text] : value.items()) file.metadata[key] = text.get<std::string>();
    } else {
      file.tensors[name] = read_tensor(parse_entry(path, name, value, data_size), data);
    }
  }
}

}  // namespace

SafetensorsFile load_safetensors(const std::filesystem::path& path) {
  const std::string content = read_file(path);
  uint64_t header_size = 0;
  require(content.size() >= sizeof header_size, "load_safetensors",
          "{}: {} bytes are too few for a safetensors file", path.string(), content.size());
  std::memcpy(&header_size, content.data(), sizeof header_size);
  require(header_size <= kMaxHeader && header_size <= content.size() - sizeof header_size,
          "load_safetensors", "{}: not a safetensors file, or a truncated one", path.string());
  const char* header = content.data() + sizeof header_size;
  SafetensorsFile file;
  try {
    parse_header(path, Json::parse(header, header + header_size), header + header_size,
                 content.size() - sizeof header_size - header_size, file);
  } catch (const Json::exception& error) {
    fail("load_safetensors", "{}: the header is not that of a safetensors file ({})", path.string(),
         error.what());
  }
  return file;
}

void save_safetensors(const std::filesystem::path& path, const StateDict& tensors,
                      const Metadata& metadata) {
  Json header = Json::object();
  for (const auto& [key, value] : metadata) header["__metadata__"][key] = value;
  uint64_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    const uint64_t bytes = static_cast<uint64_t>(tensor.numel()) * size_of(tensor.dtype());
    header[name] = {{"dtype", format_name(tensor.dtype())},
                    {"shape", std::vector<int64_t>(tensor.shape().begin(), tensor.shape().end())},
                    {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the data then starts aligned
  const uint64_t header_size = text.size();

  AtomicFile file(path);
  file.write({reinterpret_cast<const char*>(&header_size), sizeof header_size});
  file.write(text);
  NoGrad pause;
  for (const auto& [name, tensor] : tensors) {
    const Tensor host = to(contiguous(detach(tensor)), kCpu);
    file.write({static_cast<const char*>(host.view().data),
                static_cast<size_t>(host.numel()) * size_of(host.dtype())});
  }
  file.commit();
}

void write_file_atomically(const std::filesystem::path& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

}  // namespace tapir
