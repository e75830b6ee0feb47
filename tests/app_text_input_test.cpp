// What --data reads: files, folders, patterns, JSON lines, compressed text.
#include <map>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#ifdef TAPIR_WITH_ZLIB
#include <zlib.h>
#endif
#ifdef TAPIR_WITH_ZSTD
#include <zstd.h>
#endif

#include "apps/data/glob.h"
#include "apps/data/json_lines.h"
#include "apps/data/text_input.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace tapir::app {
namespace {

using tapir::testing::expect_error;
using tapir::testing::TemporaryFolder;
using Strings = std::vector<std::string>;

Strings documents_of(TextInput& input) {
  Strings documents = {""};
  const TextInputSize size = input.read([&](std::string_view text) { documents.back() += text; },
                                        [&] { documents.emplace_back(); });
  documents.pop_back();
  EXPECT_EQ(size.documents, static_cast<int64_t>(documents.size()));
  int64_t bytes = 0;
  for (const std::string& document : documents) bytes += static_cast<int64_t>(document.size());
  EXPECT_EQ(size.bytes, bytes);
  return documents;
}

Strings documents_in(const Strings& paths, TextInputOptions options = {}) {
  TextInput input(paths, std::move(options));
  return documents_of(input);
}

auto reading(const Strings& paths, const TextInputOptions& options = {}) {
  return [paths, options] { documents_in(paths, options); };
}

TEST(TextInput, ReadsFoldersInOrderAndBelow) {
  TemporaryFolder folder;
  folder.write("texts/b.txt", "B");
  folder.write("texts/a.txt", "A");
  folder.write("texts/more/c.md", "C");
  folder.write("texts/.hidden", "H");
  folder.write("texts/empty.txt", "");
  folder.write("texts/picture.png", std::string("\x89PNG\0\x01", 6));
  folder.write("d.txt", "D");
  EXPECT_EQ(documents_in({folder / "texts", folder / "d.txt"}), (Strings{"A", "B", "C", "D"}));
  TextInput input({folder / "texts"});
  documents_of(input);
  ASSERT_EQ(input.notes().size(), 2u);
  EXPECT_NE(input.notes()[0].find("empty.txt is empty"), std::string::npos);
  EXPECT_NE(input.notes()[1].find("picture.png is not text"), std::string::npos);
  // Once more the same, notes too.
  documents_of(input);
  EXPECT_EQ(input.notes().size(), 2u);
}

TEST(TextInput, SurvivesLinksThatGoInCircles) {
  TemporaryFolder folder;
  folder.write("texts/a.txt", "A");
  std::filesystem::create_symlink(folder / "texts", folder / "texts/again");
  std::filesystem::create_symlink(folder / "texts/self", folder / "texts/self");
  std::filesystem::create_symlink(folder / "nowhere", folder / "texts/broken");
  EXPECT_EQ(documents_in({folder / "texts"}), Strings{"A"});
  expect_error(reading({folder / "texts/self"}), {"self"});
}

TEST(TextInput, NamesWhatCannotBeRead) {
  TemporaryFolder folder;
  expect_error(reading({folder / "none.txt"}), {"there is no file or folder", "none.txt"});
  expect_error(reading({folder.write("empty.txt", "")}), {"empty.txt is empty"});
  expect_error(reading({folder.write("binary", std::string("ab\0c", 4))}),
               {"binary is not a text file: byte 2 is NUL"});
  std::filesystem::create_directory(folder / "nothing");
  expect_error(reading({folder / "nothing"}), {"nothing holds no text file"});
  mkfifo((folder / "pipe").c_str(), 0600);
  expect_error(reading({folder / "pipe"}), {"pipe is neither a file nor a folder"});
  folder.write("blank/empty.txt", "");
  expect_error(reading({folder / "blank"}), {"there is no text"});
  expect_error(reading({"-", "-"}), {"standard input", "only once"});
}

TEST(TextInput, FindsANulByteBehindTheFirstPortion) {
  TemporaryFolder folder;
  std::string text(3'000'000, 'x');
  EXPECT_EQ(documents_in({folder.write("line.txt", text)}), Strings{text});
  text[2'500'000] = '\0';
  expect_error(reading({folder.write("line.txt", text)}), {"byte 2500000 is NUL"});
}

TEST(Patterns, MatchNamesAndFolders) {
  TemporaryFolder folder;
  for (const char* name : {"a/one.txt", "a/two.md", "a/b/three.txt", "a/b/c/four.txt",
                           "a/.x/hidden.txt", "five.txt"}) {
    folder.write(name, name);
  }
  std::filesystem::create_directory_symlink(folder / "a", folder / "a/b/loop");
  const std::string root = folder.path().string();
  const auto names = [&](const std::string& pattern) {
    Strings found;
    for (const auto& path : expand_pattern(root + "/" + pattern)) {
      found.push_back(path.string().substr(root.size() + 1));
    }
    return found;
  };
  EXPECT_EQ(names("a/*.txt"), Strings{"a/one.txt"});
  EXPECT_EQ(names("*/[op]ne.t?t"), Strings{"a/one.txt"});
  EXPECT_EQ(names("a/**/*.txt"), (Strings{"a/b/c/four.txt", "a/b/three.txt", "a/one.txt"}));
  EXPECT_EQ(names("**/three.txt"), Strings{"a/b/three.txt"});
  EXPECT_EQ(names("a/b/**"), (Strings{"a/b/c", "a/b/c/four.txt", "a/b/loop", "a/b/three.txt"}));
  EXPECT_EQ(names("**/**/**/**/*.md"), Strings{"a/two.md"});
  EXPECT_EQ(names("a/.x/*"), Strings{"a/.x/hidden.txt"});
  EXPECT_EQ(names("[z"), Strings{});
}

TEST(Patterns, StandForTheirFiles) {
  TemporaryFolder folder;
  folder.write("t/b.txt", "B");
  folder.write("t/a.txt", "A");
  folder.write("t/empty.txt", "");
  folder.write("odd[1].txt", "odd");
  EXPECT_EQ(documents_in({folder / "t/*.txt"}), (Strings{"A", "B"}));
  // A file of that very name comes first.
  EXPECT_EQ(documents_in({folder / "odd[1].txt"}), Strings{"odd"});
  expect_error(reading({folder / "t/*.md"}), {"no file or folder matches", "*.md"});
}

TEST(Patterns, GiveEachFileOnce) {
  TemporaryFolder folder;
  folder.write("t/a.txt", "A");
  folder.write("t/b/c.txt", "C");
  folder.write("t/b/d/e.txt", "E");
  folder.write("t/z.txt", "Z");
  for (const char* pattern : {"t/**", "t/*", "**", "t/**/*", "*/b", "[t]"}) {
    TextInput input({folder / pattern});
    const Strings all =
        std::string_view(pattern) == "*/b" ? Strings{"C", "E"} : Strings{"A", "C", "E", "Z"};
    EXPECT_EQ(documents_of(input), all) << pattern;
    EXPECT_EQ(input.notes(), Strings{}) << pattern;
  }
  // Links lead to the same files again.
  std::filesystem::create_directory_symlink(".", folder / "t/loop");
  std::filesystem::create_symlink("a.txt", folder / "t/b/again.txt");
  for (const char* pattern : {"t/**", "[t]"}) {
    Strings documents = documents_in({folder / pattern});
    std::sort(documents.begin(), documents.end());
    EXPECT_EQ(documents, (Strings{"A", "C", "E", "Z"})) << pattern;
  }
}

TEST(JsonLines, EachLineIsADocument) {
  TemporaryFolder folder;
  const std::string path =
      folder.write("a.jsonl",
                   "{\"text\": \"one\\n\\u00e9\", \"id\": 1}\r\n\n{\"id\": 2, \"text\": \"\"}\n"
                   "{\"text\": \"two\", \"body\": \"other\"}");
  EXPECT_EQ(documents_in({path}), (Strings{"one\n\xC3\xA9", "two"}));
  expect_error(reading({path}, {.jsonl_field = "body"}),
               {"a.jsonl, line 1", "field \"body\"", "has text, id", "--jsonl-field"});
  const std::string line = "{\"text\": \"line\"}";
  for (const char* name : {"b.ndjson", "c.JSONL", "d.NDJson"}) {
    EXPECT_EQ(documents_in({folder.write(name, line)}), Strings{"line"}) << name;
  }
  EXPECT_EQ(documents_in({folder.write("e.notjsonl", line)}), Strings{line});
  // Lines that lie across portions.
  std::string lines;
  Strings expected;
  for (int i = 0; i < 40; ++i) {
    expected.emplace_back(static_cast<size_t>(100'000 + i), static_cast<char>('a' + i % 26));
    lines += "{\"text\": \"" + expected.back() + "\"}\n";
  }
  EXPECT_EQ(documents_in({folder.write("long.jsonl", lines)}), expected);
}

TEST(JsonLines, BadLinesAreNamed) {
  TemporaryFolder folder;
  const std::map<std::string, Strings> cases = {
      {"{\"text\": \"a\"}\n{\"text\": }\n", {"line 2", "not valid JSON"}},
      {"[1]\n", {"line 1", "expected an object", "an array"}},
      {"{\"text\": 3}\n", {"line 1", "must be text", "found 3"}},
      {"{\"text\": \"a\", \"text\": \"b\"}\n", {"line 1", "twice"}},
      {"{\"text\": \"\xff\"}\n", {"line 1", "not valid JSON"}},
      {"{}\n", {"line 1", "has none"}},
      {"{\"text\": null}\n", {"line 1", "field \"text\" must be text, found null"}},
      {"{\"a\\nb\\u001b[31m\": 1}\n", {"the object has a\\u000ab\\u001b[31m;"}},
      {"{\"" + std::string(1'000'000, 'k') + "\": 1}\n",
       {"the object has " + std::string(60, 'k') + "...;"}},
      {"{\"text\": \"cut", {"line 1", "not valid JSON"}},
      {"\n\n", {"there is no text"}},
  };
  for (const auto& [content, parts] : cases) {
    expect_error(reading({folder.write("x.jsonl", content)}), parts);
  }
  JsonLines endless("e.jsonl", "text", [](std::string_view) {});
  const std::string portion(size_t{1} << 20, ' ');
  expect_error(
      [&] {
        for (int i = 0; i < 70; ++i) endless.add(portion);
      },
      {"line 1 of e.jsonl is longer than 64 MiB"});
}

// Text whose compressed form is large enough for several reads, and one that shrinks a
// thousandfold, so that output waits for room.
std::string lively_text() {
  std::string text;
  uint32_t state = 1;
  while (text.size() < 600'000) {
    state = state * 1664525 + 1013904223;
    text += "word" + std::to_string(state) + (state % 7 == 0 ? "\n" : " ");
  }
  return text + std::string(3'000'000, 'a') + "end\n";
}

// All that holds for either format; `compress` makes one member or frame.
void check_compressed(const std::string& ending, const std::string& format,
                      const std::function<std::string(const std::string&)>& compress) {
  TemporaryFolder folder;
  const std::string text = lively_text(), packed = compress(text);
  EXPECT_EQ(documents_in({folder.write("a.txt" + ending, packed)}), Strings{text});
  const std::string lines = "{\"text\": \"x\"}\n{\"text\": \"y\"}\n";
  EXPECT_EQ(documents_in({folder.write("a.jsonl" + ending, compress(lines))}), (Strings{"x", "y"}));
  std::string upper = ending;
  for (char& c : upper) c = static_cast<char>(std::toupper(c));
  EXPECT_EQ(documents_in({folder.write("A.TXT" + upper, packed)}), Strings{text});
  EXPECT_EQ(documents_in({folder.write("A.JSONL" + upper, compress(lines))}), (Strings{"x", "y"}));
  // Files may be joined.
  EXPECT_EQ(documents_in({folder.write("two" + ending, compress("one ") + compress("two"))}),
            Strings{"one two"});
  expect_error(reading({folder.write("nothing" + ending, compress(""))}), {"nothing" + ending});
  for (const size_t length : {size_t{0}, size_t{5}, packed.size() / 2, packed.size() - 1}) {
    expect_error(reading({folder.write("cut" + ending, packed.substr(0, length))}),
                 {"cut" + ending + " is truncated", format});
  }
  std::string damaged = packed;
  damaged[packed.size() / 3] ^= 0x55;
  damaged[packed.size() / 3 + 1] ^= 0x55;
  expect_error(reading({folder.write("bad" + ending, damaged)}), {"bad" + ending, "corrupted"});
  expect_error(reading({folder.write("plain" + ending, "just text")}),
               {"plain" + ending, "corrupted"});
  expect_error(reading({folder.write("tail" + ending, packed + "more")}),
               {"tail" + ending, "corrupted"});
}

#ifdef TAPIR_WITH_ZLIB
TEST(Compressed, Gzip) {
  check_compressed(".gz", "gzip", [](const std::string& text) {
    z_stream stream{};
    EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    std::string out(deflateBound(&stream, text.size()) + 64, '\0');
    std::string in = text;
    stream.next_in = reinterpret_cast<Bytef*>(in.data());
    stream.avail_in = static_cast<uInt>(in.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
  });
}
#endif

#ifdef TAPIR_WITH_ZSTD
TEST(Compressed, Zstd) {
  check_compressed(".zst", "zstd", [](const std::string& text) {
    ZSTD_CCtx* const context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    std::string out(ZSTD_compressBound(text.size()), '\0');
    out.resize(ZSTD_compress2(context, out.data(), out.size(), text.data(), text.size()));
    ZSTD_freeCCtx(context);
    return out;
  });
}

// A frame may ask for any window; one of 2 GiB would take that much memory.
TEST(Compressed, AZstdFrameThatNeedsMuchMemoryIsRefused) {
  TemporaryFolder folder;
  // Magic number, no flags, a window of 2^31 bytes, then a raw block of one byte.
  const std::string frame("\x28\xB5\x2F\xFD\x00\xA8\x09\x00\x00x", 10);
  expect_error(reading({folder.write("wide.zst", frame)}), {"wide.zst", "memory"});
}
#endif

}  // namespace
}  // namespace tapir::app
