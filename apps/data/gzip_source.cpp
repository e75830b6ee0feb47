#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "apps/data/byte_source.h"
#include "backends/error.h"

#ifdef TAPIR_WITH_ZLIB
#include <zlib.h>
#endif

namespace tapir::app {

#ifdef TAPIR_WITH_ZLIB
namespace {

constexpr std::string_view kOp = "data";

class GzipSource : public ByteSource {
 public:
  GzipSource(std::unique_ptr<ByteSource> from, std::string name)
      : from_(std::move(from)), name_(std::move(name)), input_(size_t{64} << 10) {
    constexpr int kGzipFormat = 16;
    require(inflateInit2(&stream_, MAX_WBITS + kGzipFormat) == Z_OK, kOp,
            "there is no memory to decompress {}", name_);
  }
  ~GzipSource() override { inflateEnd(&stream_); }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  size_t read(char* to, size_t most) override {
    const auto room = static_cast<uInt>(std::min<size_t>(most, std::numeric_limits<uInt>::max()));
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = room;
    while (stream_.avail_out == room && prepare()) inflate_some();
    return room - stream_.avail_out;
  }

 private:
  // Makes sure of input within a member; false at the end of the file.
  bool prepare() {
    if (std::exchange(pending_, false)) return true;
    if (stream_.avail_in == 0) {
      const size_t count = from_->read(reinterpret_cast<char*>(input_.data()), input_.size());
      stream_.next_in = input_.data();
      stream_.avail_in = static_cast<uInt>(count);
      if (count == 0) {
        require(between_members_, kOp, "{} is truncated: its gzip data has no end", name_);
        return false;
      }
    }
    if (std::exchange(between_members_, false)) {
      require(inflateReset(&stream_) == Z_OK, kOp, "{} cannot be decompressed", name_);
    }
    return true;
  }

  void inflate_some() {
    const int status = inflate(&stream_, Z_NO_FLUSH);
    between_members_ = status == Z_STREAM_END;
    pending_ = !between_members_ && stream_.avail_out == 0;
    require(status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR, kOp,
            "the gzip data of {} is corrupted: {}", name_,
            stream_.msg != nullptr ? stream_.msg : zError(status));
  }

  std::unique_ptr<ByteSource> from_;
  std::string name_;
  std::vector<Bytef> input_;
  z_stream stream_{};
  bool between_members_ = false;  // not at first: an empty file is truncated too
  bool pending_ = false;          // output that found no room, perhaps
};

}  // namespace

std::unique_ptr<ByteSource> make_gzip_source(std::unique_ptr<ByteSource> from, std::string name) {
  return std::make_unique<GzipSource>(std::move(from), std::move(name));
}
#else
std::unique_ptr<ByteSource> make_gzip_source(std::unique_ptr<ByteSource>, std::string name) {
  fail("data", "{} is compressed, and this program was built without zlib; decompress it first",
       name);
}
#endif

}  // namespace tapir::app
