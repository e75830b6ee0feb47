// Tensors in files: against bytes that Python's safetensors wrote, every malformed file, and files
// that appear whole or not at all.
#include "autograd/serialize.h"

#include <csignal>
#include <cstring>
#include <fstream>
#include <limits>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "autograd/atomic_file.h"
#include "autograd/ops.h"
#include "tests/support/expect_error.h"
#include "tests/support/tensors.h"

namespace tapir {
namespace {

namespace fs = std::filesystem;
using testing::bools;
using testing::counting;
using testing::expect_error;
using testing::expect_tensor;
using testing::f64;
using testing::ints;
using testing::leaf;

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const fs::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

// A file with that header and those bytes behind it.
std::string file_of(const std::string& header, const std::string& data = "") {
  const uint64_t size = header.size();
  std::string content(sizeof size, '\0');
  std::memcpy(content.data(), &size, sizeof size);
  return content + header + data;
}

class Serialize : public ::testing::Test {
 protected:
  Serialize() : folder_(fs::temp_directory_path() / fmt::format("tapir_serialize_{}", ::getpid())) {
    fs::create_directories(folder_);
  }
  ~Serialize() override { fs::remove_all(folder_); }

  fs::path path(const std::string& name = "x.safetensors") const { return folder_ / name; }
  size_t files() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  // Loading these bytes must be an Error that names the file and says all of this.
  void refuses(const std::string& content, std::vector<std::string> parts) const {
    write_file(path(), content);
    parts.push_back("load_safetensors: ");
    parts.push_back("x.safetensors: ");
    expect_error([&] { load_safetensors(path()); }, parts);
  }
  static fs::path golden() { return fs::path(TAPIR_TEST_DIR) / "golden" / "dtypes.safetensors"; }

 private:
  fs::path folder_;
};

TEST_F(Serialize, ReadsWhatPythonWrote) {
  const SafetensorsFile file = load_safetensors(golden());
  EXPECT_EQ(file.tensors.size(), 9u);
  EXPECT_EQ(file.metadata, (Metadata{{"cases", "{}"}}));
  const auto expect = [&](const std::string& name, DType dtype, const Shape& shape,
                          const std::vector<double>& values) {
    SCOPED_TRACE(name);
    EXPECT_EQ(file.tensors.at(name).dtype(), dtype);
    expect_tensor(file.tensors.at(name), shape, values);
  };
  const double infinity = std::numeric_limits<double>::infinity();
  expect("f64", DType::f64, {2, 2}, {1, 0, 1e-300, infinity});
  EXPECT_TRUE(std::signbit(file.tensors.at("f64").to_vector()[1]));
  const std::vector<double> f32 = file.tensors.at("f32").to_vector();
  EXPECT_EQ(f32[0], static_cast<double>(0.1f));
  EXPECT_TRUE(std::isnan(f32[2]));
  expect("bf16", DType::bf16, {3}, {1, 3.140625, -256});
  expect("f16", DType::f16, {3, 1}, {0.5, 65504, 0x1p-24});  // 6e-8 rounds to the smallest
  expect("i32", DType::i32, {1, 3}, {-2147483648.0, 0, 2147483647});
  expect("bool", DType::boolean, {3}, {1, 0, 1});
  expect("scalar", DType::f64, {}, {7});
  expect("empty", DType::f32, {0, 3}, {});
  expect("odd name \"\u00e9\"\n", DType::f64, {1}, {1});
}

TEST_F(Serialize, WritesTheBytesThatPythonWrites) {
  const SafetensorsFile file = load_safetensors(golden());
  save_safetensors(path(), file.tensors, file.metadata);
  EXPECT_EQ(read_file(path()), read_file(golden()));
}

TEST_F(Serialize, WritesViewsAndParametersByValue) {
  Tensor weight = leaf({1, 2, 3, 4}, {2, 2});
  Tape tape;  // which must neither record nor complain
  save_safetensors(path(), {{"t", transpose(counting({2, 3}))},
                            {"e", expand(f64({5}), {2})},
                            {"s", slice(ints({1, 2, 3}, {3}), 0, 1, 3)},
                            {"w", weight}});
  EXPECT_EQ(tape.size(), 0u);
  const SafetensorsFile file = load_safetensors(path());
  expect_tensor(file.tensors.at("t"), {3, 2}, {0, 3, 1, 4, 2, 5});
  expect_tensor(file.tensors.at("e"), {2}, {5, 5});
  expect_tensor(file.tensors.at("s"), {2}, {2, 3});
  expect_tensor(file.tensors.at("w"), {2, 2}, {1, 2, 3, 4});
  EXPECT_FALSE(file.tensors.at("w").requires_grad());
  EXPECT_TRUE(file.metadata.empty());
}

TEST_F(Serialize, EmptyFilesAndOddBools) {
  save_safetensors(path(), {}, {{"note", "nothing"}});
  const SafetensorsFile file = load_safetensors(path());
  EXPECT_TRUE(file.tensors.empty());
  EXPECT_EQ(file.metadata.at("note"), "nothing");
  // A byte that is neither 0 nor 1 becomes a proper true.
  write_file(path(), file_of(R"({"b":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}})",
                             std::string("\x00\x02\xff", 3)));
  EXPECT_EQ(to(load_safetensors(path()).tensors.at("b"), DType::i32).to_ints(),
            (std::vector<int32_t>{0, 1, 1}));
}

// A valid file of 12 bytes of data.
std::string small_file() {
  return file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                 R"("b":{"dtype":"BF16","shape":[2,1],"data_offsets":[8,12]}})",
                 "0123456789ab");
}

TEST_F(Serialize, EveryTruncationIsAnError) {
  const std::string whole = small_file();
  write_file(path(), whole);
  EXPECT_EQ(load_safetensors(path()).tensors.size(), 2u);
  for (size_t length = 0; length < whole.size(); ++length) {
    SCOPED_TRACE(length);
    refuses(whole.substr(0, length), {});
  }
  refuses(whole + "x", {"last 1 of 13 bytes belong to no tensor"});
}

// Damaged bytes either still make a valid file or are an Error; nothing else may happen.
TEST_F(Serialize, EveryDamagedByteIsSurvived) {
  const std::string whole = small_file();
  int refused = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const char value : {'"', '9', '\xff'}) {
      std::string damaged = whole;
      damaged[i] = value;
      write_file(path(), damaged);
      try {
        load_safetensors(path());
      } catch (const Error&) {
        ++refused;
      }
    }
  }
  // Only bytes of data, names and spellings of one number may change unnoticed.
  EXPECT_GT(refused, static_cast<int>(whole.size() - 12) * 3 * 8 / 10);
}

TEST_F(Serialize, WhatIsNoSafetensorsFile) {
  refuses("", {"0 bytes are too few"});
  refuses("1234567", {"7 bytes are too few"});
  refuses(std::string(8, '\0'), {"not a JSON object"});
  refuses(std::string(8, '\xff'), {"not a safetensors file"});
  refuses(std::string("\x00\x00\x00\x00\x00\x00\x00\x01", 8) + "{}", {"not a safetensors file"});
  refuses("a text file that is long enough", {"not a safetensors file"});
  for (const char* header : {"", "null", "3", "[]", "\"x\"", "{", "{}x", "{\"a\"}", "{'a':1}"}) {
    SCOPED_TRACE(header);
    refuses(file_of(header), {"not a JSON object"});
  }
  refuses(file_of("{\"\xff\":1}"), {"not a JSON object"});
  refuses(file_of(std::string(100'000, '[')), {"header is nested too deep"});
  refuses(file_of("{\"a\":" + std::string(1000, '{')), {"not a JSON object"});
}

TEST_F(Serialize, WhatHeadersMustSay) {
  const std::string data(8, '\0');
  const auto entry = [&](const std::string& dtype, const std::string& shape,
                         const std::string& offsets) {
    return file_of(fmt::format(R"({{"w":{{"dtype":{},"shape":{},"data_offsets":{}}}}})", dtype,
                               shape, offsets),
                   data);
  };
  refuses(file_of(R"({"w":3})"), {"'w'", "not described by an object"});
  refuses(file_of(R"({"w":{}})"), {"'w' has no dtype"});
  refuses(entry("3", "[2]", "[0,8]"), {"'w' has no dtype"});
  refuses(entry("\"F8_E4M3\"", "[2]", "[0,8]"), {"'w' has dtype F8_E4M3", "F64, F32, BF16"});
  refuses(entry("\"I64\"", "[1]", "[0,8]"), {"'w' has dtype I64"});
  refuses(entry("\"f32\"", "[2]", "[0,8]"), {"'w' has dtype f32"});
  refuses(entry("\"F32\"", "2", "[0,8]"), {"'w' has no shape"});
  refuses(entry("\"F32\"", "[2.0]", "[0,8]"), {"'w'", "shape must be integers"});
  refuses(entry("\"F32\"", "[-2]", "[0,8]"), {"'w'", "shape must be integers", "not negative"});
  refuses(entry("\"F32\"", "[\"2\"]", "[0,8]"), {"'w'", "shape must be integers"});
  refuses(entry("\"F32\"", "[1,1,1,1,1,1,2]", "[0,8]"), {"'w'", "6 dimensions"});
  refuses(entry("\"F32\"", "[4294967296,4294967296]", "[0,8]"), {"'w'", "impossible shape"});
  refuses(entry("\"F32\"", "[0,4294967296,4294967296]", "[0,0]"), {"'w'", "impossible shape"});
  refuses(entry("\"F32\"", "[18446744073709551615]", "[0,8]"), {"'w'", "impossible shape"});
  refuses(entry("\"F32\"", "[99999999999999999999]", "[0,8]"), {"'w'", "must be integers"});
  refuses(entry("\"F32\"", "[2]", "8"), {"'w' has no data_offsets"});
  refuses(entry("\"F32\"", "[2]", "[8]"), {"'w' has no valid data_offsets"});
  refuses(entry("\"F32\"", "[2]", "[8,0]"), {"'w' has no valid data_offsets"});
  refuses(entry("\"F32\"", "[2]", "[0,4,8]"), {"'w' has no valid data_offsets"});
  refuses(entry("\"F32\"", "[2]", "[-8,0]"), {"'w'", "data_offsets must be integers"});
  refuses(entry("\"F32\"", "[2]", "[4,12]"), {"'w' lies outside the file"});
  refuses(entry("\"F32\"", "[3]", "[0,8]"), {"'w' [3] needs 12 bytes but has 8"});
  refuses(entry("\"F32\"", "[]", "[0,8]"), {"'w' [] needs 4 bytes but has 8"});
  refuses(entry("\"F32\"", "[1]", "[4,8]"), {"'w' starts at byte 4", "not at 0"});
  refuses(entry("\"F32\"", "[1]", "[0,4]"), {"4 of 8 bytes belong to no tensor"});
  refuses(file_of(R"({"__metadata__":[]})"), {"__metadata__"});
  refuses(file_of(R"({"__metadata__":{"a":1}})"), {"__metadata__ 'a' is not a string"});
  const std::string w = R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  refuses(file_of("{\"v\":" + w + ",\"w\":" + w + "}", "1234"),
          {"'w' starts at byte 0", "overlap"});
  refuses(file_of("{\"w\":" + w + ",\"w\":" + w + "}", "1234"), {"header has 'w' twice"});
  refuses(file_of(R"({"w":{"dtype":"F32","shape":[2],"shape":[1],"data_offsets":[0,4]}})", "1234"),
          {"header has 'shape' twice"});
}

TEST_F(Serialize, WritingToALoadedTensorLeavesTheFileAlone) {
  save_safetensors(path(), {{"x", f64({1, 2, 3})}});
  const std::string before = read_file(path());
  Tensor x = load_safetensors(path()).tensors.at("x");
  x.fill_(7);
  expect_tensor(x, {3}, {7, 7, 7});
  EXPECT_EQ(read_file(path()), before);
  expect_tensor(load_safetensors(path()).tensors.at("x"), {3}, {1, 2, 3});
}

TEST_F(Serialize, LoadedTensorsSurviveThatTheFileIsReplaced) {
  save_safetensors(path(), {{"x", counting({5000})}});
  const Tensor x = load_safetensors(path()).tensors.at("x");
  save_safetensors(path(), {{"x", f64({4})}});
  expect_tensor(x, {5000}, counting({5000}).to_vector());
  fs::remove(path());
  EXPECT_EQ(sum(x).item(), 4999.0 * 5000 / 2);
}

// Other programs need not pad the header so that the data is aligned.
TEST_F(Serialize, DataMayStartAnywhere) {
  const std::string header = R"({"x":{"dtype":"F64","shape":[2],"data_offsets":[0,16]}})";
  const double values[] = {1.5, -2.5};
  for (size_t padding = 0; padding < 8; ++padding) {
    write_file(path(), file_of(header + std::string(padding, ' '),
                               std::string(reinterpret_cast<const char*>(values), 16)));
    expect_tensor(load_safetensors(path()).tensors.at("x"), {2}, {1.5, -2.5});
  }
}

TEST_F(Serialize, WhatIsNotARegularFile) {
  expect_error([&] { load_safetensors(path("missing")); },
               {"load_safetensors", "missing", "no such"});
  expect_error([&] { load_safetensors(path().parent_path()); },
               {"load_safetensors", "is not a file"});
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  expect_error([&] { load_safetensors(path("pipe")); }, {"load_safetensors", "pipe"});
}

TEST_F(Serialize, WhatCannotBeSaved) {
  expect_error(
      [&] {
        save_safetensors(path(), {{"w", Tensor()}});
      },
      {"save_safetensors", "'w' has no value"});
  expect_error(
      [&] {
        save_safetensors(path(), {{"__metadata__", f64({1})}});
      },
      {"save_safetensors", "reserved"});
  expect_error(
      [&] {
        save_safetensors(path(), {{"\xff", f64({1})}});
      },
      {"save_safetensors", "UTF-8"});
  expect_error([&] { save_safetensors(path(), {}, {{"a", "\xc3"}}); }, {"UTF-8"});
  EXPECT_EQ(files(), 0u);
  expect_error([&] { save_safetensors(path("no/such/folder"), {}); },
               {"write_file", "cannot create", "no/such/folder", "No such file"});
}

TEST_F(Serialize, AFileAppearsWholeOrNotAtAll) {
  write_file(path(), "old");
  {
    AtomicFile file(path());
    file.write("half of the new content");
    EXPECT_EQ(read_file(path()), "old");
  }  // without commit, as when an exception passes
  EXPECT_EQ(read_file(path()), "old");
  EXPECT_EQ(files(), 1u);
  write_file_atomically(path(), "new");
  EXPECT_EQ(read_file(path()), "new");
  EXPECT_EQ(files(), 1u);
  write_file_atomically(path("empty"), "");
  EXPECT_EQ(fs::file_size(path("empty")), 0u);
}

TEST_F(Serialize, AFolderInItsPlaceIsAnError) {
  fs::create_directories(path("taken/inside"));
  expect_error([&] { write_file_atomically(path("taken"), "x"); }, {"write_file", "cannot rename"});
  EXPECT_EQ(files(), 1u);
}

// /dev/null and pipes would be gone for every other program.
TEST_F(Serialize, ADeviceOrPipeInItsPlaceStays) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  expect_error([&] { write_file_atomically(path("pipe"), "x"); },
               {"write_file", "pipe", "name a file"});
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
  EXPECT_EQ(files(), 1u);
}

TEST_F(Serialize, ALinkStaysOne) {
  write_file(path("target"), "old");
  fs::create_symlink("target", path("link"));
  write_file_atomically(path("link"), "new");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(read_file(path("target")), "new");
  EXPECT_EQ(files(), 2u);
}

// A write that fails half way, as on a full disk: here the process may write 1000 bytes to a file.
TEST_F(Serialize, AFailedWriteKeepsTheOldFile) {
  write_file(path(), "old");
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit limit = before;
  limit.rlim_cur = 1000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  expect_error(
      [&] {
        save_safetensors(path(), {{"w", Tensor::zeros({1000})}});
      },
      {"write_file", "cannot write", "x.safetensors", "too large"});
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(read_file(path()), "old");
  EXPECT_EQ(files(), 1u);
}

TEST_F(Serialize, APathWithoutAFolderIsHere) {
  const fs::path here = fs::current_path();
  fs::current_path(path().parent_path());
  write_file_atomically("plain", "x");
  fs::current_path(here);
  EXPECT_EQ(read_file(path("plain")), "x");
}

TEST(LoadTensors, CopiesAndConverts) {
  const Tensor a = leaf({0, 0}), b = Tensor::zeros({1}, DType::bf16);
  load_tensors("load", {{"a", a}, {"b", b}},
               {{"a", Tensor::from({1, 2}, {2})}, {"b", f64({1.0000001})}});
  expect_tensor(a, {2}, {1, 2});
  expect_tensor(b, {1}, {1});
  EXPECT_TRUE(a.requires_grad());
}

TEST(LoadTensors, ListsEveryProblemAndWritesNothing) {
  const Tensor a = f64({5}), b = f64({5}), c = f64({5});
  const std::vector<NamedTensor> targets{{"a", a}, {"b", b}, {"c", c}};
  expect_error(
      [&] {
        load_tensors("load", targets,
                     {{"a", f64({1})}, {"b", f64({1, 2})}, {"d", f64({1})}, {"e", f64({1})}});
      },
      {"load: ", "b is [2], must be [1]", "missing c", "unexpected d", "unexpected e"});
  expect_error(
      [&] {
        load_tensors("load", {{"a", a}}, {{"a", ints({1}, {1})}});
      },
      {"a is i32, must be f64"});
  StateDict many;
  for (int i = 0; i < 30; ++i) many[fmt::format("x{}", i)] = f64({1});
  expect_error([&] { load_tensors("load", {}, many); }, {"unexpected x0", "and 10 more"});
  expect_tensor(a, {1}, {5});
}

}  // namespace
}  // namespace tapir
