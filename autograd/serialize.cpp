#include "autograd/serialize.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "autograd/atomic_file.h"
#include "autograd/mapped_file.h"
#include "autograd/ops.h"

namespace tapir {
namespace {

using Json = nlohmann::ordered_json;  // keeps the order of the file
using ReadJson = nlohmann::json;      // finds keys fast, of which a hostile file may have millions

constexpr std::string_view kLoad = "load_safetensors";

static_assert(std::endian::native == std::endian::little, "safetensors files are little endian");

// Longer headers are not plausible; the format's own reader has the same limit.
constexpr uint64_t kMaxHeader = 100'000'000;

struct DTypeName {
  DType dtype;
  std::string_view name;
};

// In the order in which the format's own writer puts tensors into a file: large elements first, so
// that all of them lie aligned.
constexpr DTypeName kDTypes[] = {{DType::f64, "F64"}, {DType::f32, "F32"},
                                 {DType::i32, "I32"}, {DType::bf16, "BF16"},
                                 {DType::f16, "F16"}, {DType::boolean, "BOOL"}};

// The place of a dtype in that order.
size_t rank_of(DType dtype) {
  size_t i = 0;
  while (kDTypes[i].dtype != dtype) ++i;
  return i;
}

// One tensor as the header describes it; offsets count from the start of the data.
struct Entry {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  uint64_t begin = 0, end = 0;
};

// The JSON tree of a header, with a key that an object has twice and deep nesting refused: the
// parser alone would keep the last of two tensors with one name.
class HeaderChecks {
 public:
  // Receives the parser's events; the message of what is wrong, if anything, is in `problem`.
  bool operator()(int depth, ReadJson::parse_event_t event, ReadJson& parsed) {
    if (depth > kMaxDepth) problem = "is nested too deep";
    if (!problem.empty()) return false;  // nothing more is kept
    if (event == ReadJson::parse_event_t::object_start) keys_.emplace_back();
    if (event == ReadJson::parse_event_t::object_end) keys_.pop_back();
    if (event == ReadJson::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys_.back().insert(key).second) problem = fmt::format("has '{}' twice", key);
    }
    return true;
  }

  std::string problem;

 private:
  static constexpr int kMaxDepth = 8;
  std::vector<std::unordered_set<std::string>> keys_;  // of the objects that are open
};

// Reads one file. Nothing that it contains is believed before it is checked.
class Reader {
 public:
  explicit Reader(const std::filesystem::path& path)
      : path_(path.string()), file_(std::make_shared<MappedFile>(path, kLoad)) {}

  SafetensorsFile read() {
    const ReadJson header = read_header();
    SafetensorsFile result;
    std::vector<Entry> entries;
    for (const auto& item : header.items()) {
      if (item.key() == "__metadata__") {
        result.metadata = parse_metadata(item.value());
      } else {
        entries.push_back(parse_entry(item.key(), item.value()));
      }
    }
    require_no_overlap(entries);
    for (const Entry& entry : entries) result.tensors[entry.name] = read_tensor(entry);
    return result;
  }

 private:
  template <typename... Args>
  [[noreturn]] void bad(fmt::format_string<Args...> format, Args&&... args) const {
    fail(kLoad, "{}: {}", path_, fmt::format(format, std::forward<Args>(args)...));
  }

  ReadJson read_header() {
    uint64_t length = 0;
    if (file_->size() < sizeof length) {
      bad("{} bytes are too few for a safetensors file", file_->size());
    }
    std::memcpy(&length, file_->data(), sizeof length);
    if (length > kMaxHeader || length > file_->size() - sizeof length) {
      bad("not a safetensors file, or a truncated one");
    }
    data_start_ = sizeof length + length;
    HeaderChecks checks;
    const ReadJson header = ReadJson::parse(file_->data() + sizeof length,
                                            file_->data() + data_start_, std::ref(checks),
                                            /*allow_exceptions=*/false);
    if (!checks.problem.empty()) bad("its header {}", checks.problem);
    if (!header.is_object()) bad("not a safetensors file; its header is not a JSON object");
    return header;
  }

  Metadata parse_metadata(const ReadJson& json) const {
    Metadata metadata;
    if (!json.is_object()) bad("__metadata__ must be an object of strings");
    for (const auto& item : json.items()) {
      if (!item.value().is_string()) bad("__metadata__ '{}' is not a string", item.key());
      metadata[item.key()] = item.value().get<std::string>();
    }
    return metadata;
  }

  Entry parse_entry(const std::string& name, const ReadJson& json) const {
    if (!json.is_object()) bad("tensor '{}' is not described by an object", name);
    Entry entry;
    entry.name = name;
    entry.dtype = parse_dtype_of(name, json);
    // `claimed` leaves out zeros: even of a tensor without elements, the sizes must be possible.
    constexpr uint64_t kMost = uint64_t{1} << 55;
    uint64_t bytes = size_of(entry.dtype), claimed = 1;
    for (const uint64_t size : parse_integers(name, json, "shape")) {
      const uint64_t least = std::max<uint64_t>(size, 1);
      if (claimed > kMost / least) bad("tensor '{}' claims an impossible shape", name);
      claimed *= least;
      if (entry.shape.rank() == kMaxRank) {
        bad("tensor '{}' has more than {} dimensions", name, kMaxRank);
      }
      bytes *= size;
      entry.shape.push_back(static_cast<int64_t>(size));
    }
    const std::vector<uint64_t> offsets = parse_integers(name, json, "data_offsets");
    if (offsets.size() != 2 || offsets[0] > offsets[1]) {
      bad("tensor '{}' has no valid data_offsets", name);
    }
    if (offsets[1] > file_->size() - data_start_) {
      bad("tensor '{}' lies outside the file; it is truncated or damaged", name);
    }
    entry.begin = offsets[0];
    entry.end = offsets[1];
    if (entry.end - entry.begin != bytes) {
      bad("tensor '{}' {} needs {} bytes but has {}", name, entry.shape, bytes,
          entry.end - entry.begin);
    }
    return entry;
  }

  DType parse_dtype_of(const std::string& name, const ReadJson& json) const {
    const auto found = json.find("dtype");
    if (found == json.end() || !found->is_string()) bad("tensor '{}' has no dtype", name);
    const auto text = found->get<std::string>();
    for (const DTypeName& known : kDTypes) {
      if (known.name == text) return known.dtype;
    }
    bad("tensor '{}' has dtype {}; only F64, F32, BF16, F16, I32 and BOOL are read", name, text);
  }

  std::vector<uint64_t> parse_integers(const std::string& name, const ReadJson& json,
                                       const char* key) const {
    const auto found = json.find(key);
    if (found == json.end() || !found->is_array()) bad("tensor '{}' has no {}", name, key);
    std::vector<uint64_t> values;
    for (const ReadJson& value : *found) {
      if (!value.is_number_unsigned()) {
        bad("tensor '{}': its {} must be integers that are not negative", name, key);
      }
      values.push_back(value.get<uint64_t>());
    }
    return values;
  }

  // Every byte of the data belongs to one tensor.
  void require_no_overlap(std::vector<Entry> entries) const {
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    uint64_t end = 0;
    for (const Entry& entry : entries) {
      if (entry.begin != end) {
        bad("tensor '{}' starts at byte {} of the data, not at {}; tensors must neither overlap "
            "nor leave gaps",
            entry.name, entry.begin, end);
      }
      end = entry.end;
    }
    const uint64_t size = file_->size() - data_start_;
    if (end != size) bad("the last {} of {} bytes belong to no tensor", size - end, size);
  }

  // A tensor in the mapped file itself, where its elements lie as the processor wants them.
  Tensor read_tensor(const Entry& entry) const {
    unsigned char* const source = file_->data() + data_start_ + entry.begin;
    const uint64_t bytes = entry.end - entry.begin;
    const bool aligned = reinterpret_cast<uintptr_t>(source) % size_of(entry.dtype) == 0;
    if (bytes > 0 && aligned && entry.dtype != DType::boolean) {
      auto impl = std::make_shared<TensorImpl>();
      impl->storage = std::make_shared<Storage>(file_, kCpu, source, bytes);
      impl->shape = entry.shape;
      impl->strides = row_major_strides(entry.shape);
      impl->dtype = entry.dtype;
      return Tensor(std::move(impl));
    }
    Tensor tensor = Tensor::empty(entry.shape, entry.dtype);
    if (bytes == 0) return tensor;
    auto* data = static_cast<unsigned char*>(tensor.view().data);
    std::memcpy(data, source, bytes);
    if (entry.dtype == DType::boolean) {  // any other byte than 0 and 1 is not a bool
      for (uint64_t i = 0; i < bytes; ++i) data[i] = data[i] != 0;
    }
    return tensor;
  }

  std::string path_;
  std::shared_ptr<MappedFile> file_;
  uint64_t data_start_ = 0;
};

// The tensors in the order of the file: by dtype, then by name.
std::vector<NamedTensor> file_order(const std::filesystem::path& path, const StateDict& tensors) {
  std::vector<NamedTensor> order;
  for (const auto& entry : tensors) {
    require(entry.second.defined() && entry.first != "__metadata__", "save_safetensors",
            "{}: tensor '{}' {}", path.string(), entry.first,
            entry.second.defined() ? "has the reserved name" : "has no value");
    order.push_back({entry.first, entry.second});
  }
  std::stable_sort(order.begin(), order.end(), [](const NamedTensor& a, const NamedTensor& b) {
    return rank_of(a.tensor.dtype()) < rank_of(b.tensor.dtype());
  });
  return order;
}

uint64_t byte_count(const Tensor& x) {
  return static_cast<uint64_t>(x.numel()) * size_of(x.dtype());
}

std::string make_header(const std::filesystem::path& path, const std::vector<NamedTensor>& order,
                        const Metadata& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (const NamedTensor& entry : order) {
    const Shape& shape = entry.tensor.shape();
    const uint64_t end = offset + byte_count(entry.tensor);
    header[entry.name] = {{"dtype", kDTypes[rank_of(entry.tensor.dtype())].name},
                          {"shape", std::vector<int64_t>(shape.begin(), shape.end())},
                          {"data_offsets", {offset, end}}};
    offset = end;
  }
  try {
    std::string text = header.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');  // the data then starts aligned
    return text;
  } catch (const Json::exception&) {
    fail("save_safetensors", "{}: a tensor's name or the metadata is not valid UTF-8",
         path.string());
  }
}

}  // namespace

SafetensorsFile load_safetensors(const std::filesystem::path& path) {
  return Reader(path).read();
}

void save_safetensors(const std::filesystem::path& path, const StateDict& tensors,
                      const Metadata& metadata) {
  const std::vector<NamedTensor> order = file_order(path, tensors);
  const std::string header = make_header(path, order, metadata);
  const uint64_t header_size = header.size();
  AtomicFile file(path);
  file.write({reinterpret_cast<const char*>(&header_size), sizeof header_size});
  file.write(header);
  NoGrad pause;
  for (const NamedTensor& entry : order) {
    const Tensor host = to(contiguous(detach(entry.tensor)), kCpu);
    file.write({static_cast<const char*>(host.view().data), byte_count(host)});
  }
  file.commit();
}

void write_file_atomically(const std::filesystem::path& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

}  // namespace tapir
