#include <utility>
#include <vector>

#include "apps/data/byte_source.h"
#include "backends/error.h"

#ifdef TAPIR_WITH_ZSTD
#include <zstd.h>
#endif

namespace tapir::app {

#ifdef TAPIR_WITH_ZSTD
namespace {

constexpr std::string_view kOp = "data";

// The library refuses frames with a window of more than 128 MiB, which bounds the memory.
class ZstdSource : public ByteSource {
 public:
  ZstdSource(std::unique_ptr<ByteSource> from, std::string name)
      : from_(std::move(from)),
        name_(std::move(name)),
        input_(ZSTD_DStreamInSize()),
        stream_(ZSTD_createDStream()) {
    require(stream_ != nullptr, kOp, "there is no memory to decompress {}", name_);
  }

  size_t read(char* to, size_t most) override {
    ZSTD_outBuffer out{to, most, 0};
    while (out.pos == 0 && prepare()) {
      const size_t status = ZSTD_decompressStream(stream_.get(), &out, &rest_);
      require(ZSTD_isError(status) == 0, kOp, "the zstd data of {} is corrupted: {}", name_,
              ZSTD_getErrorName(status));
      in_frame_ = status != 0;
      pending_ = in_frame_ && out.pos == out.size;
    }
    return out.pos;
  }

 private:
  struct Free {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };

  // Makes sure that there is work; false at the end of the file.
  bool prepare() {
    if (rest_.pos < rest_.size || std::exchange(pending_, false)) return true;
    const size_t count = from_->read(input_.data(), input_.size());
    rest_ = {input_.data(), count, 0};
    if (count > 0) return true;
    require(!in_frame_, kOp, "{} is truncated: its zstd data has no end", name_);
    return false;
  }

  std::unique_ptr<ByteSource> from_;
  std::string name_;
  std::vector<char> input_;
  std::unique_ptr<ZSTD_DStream, Free> stream_;
  ZSTD_inBuffer rest_{};
  bool in_frame_ = true;  // an empty file is truncated too
  bool pending_ = false;  // output that found no room, perhaps
};

}  // namespace

std::unique_ptr<ByteSource> make_zstd_source(std::unique_ptr<ByteSource> from, std::string name) {
  return std::make_unique<ZstdSource>(std::move(from), std::move(name));
}
#else
std::unique_ptr<ByteSource> make_zstd_source(std::unique_ptr<ByteSource>, std::string name) {
  fail("data", "{} is compressed, and this program was built without zstd; decompress it first",
       name);
}
#endif

}  // namespace tapir::app
