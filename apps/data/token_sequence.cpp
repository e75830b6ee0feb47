#include "apps/data/token_sequence.h"

#include <algorithm>
#include <map>

#include "apps/tokenizer/token_format.h"

namespace tapir::app {

TokenSequence::TokenSequence(std::shared_ptr<const TokenSource> source) {
  const int64_t size = source->size();
  append(std::move(source), 0, size);
}

int64_t TokenSequence::memory_bytes() const {
  int64_t bytes = 0;
  for (const Slice& slice : slices_) bytes += slice.count * slice.source->bytes_per_id_in_memory();
  return bytes;
}

void TokenSequence::append(std::shared_ptr<const TokenSource> source, int64_t begin,
                           int64_t count) {
  if (count == 0) return;
  const int64_t end = size() + count;
  if (!slices_.empty()) {
    Slice& last = slices_.back();
    if (last.source == source && last.begin + last.count == begin) {
      last.count += count;
      last.end = end;
      return;
    }
  }
  slices_.push_back({std::move(source), begin, count, end});
}

TokenSequence TokenSequence::part(int64_t begin, int64_t count) const {
  TokenSequence result;
  while (count > 0) {
    const Slice& slice = slices_[slice_of(begin)];
    const int64_t taken = std::min(count, slice.end - begin);
    result.append(slice.source, slice.begin + slice.count - (slice.end - begin), taken);
    begin += taken;
    count -= taken;
  }
  return result;
}

void TokenSequence::append(const TokenSequence& other) {
  for (const Slice& slice : other.slices_) append(slice.source, slice.begin, slice.count);
}

void TokenSequence::copy(int64_t begin, std::span<int32_t> out) const {
  for (size_t i = out.empty() ? 0 : slice_of(begin); !out.empty(); ++i) {
    const Slice& slice = slices_[i];
    const int64_t taken = std::min(static_cast<int64_t>(out.size()), slice.end - begin);
    slice.source->read(slice.begin + slice.count - (slice.end - begin),
                       out.first(static_cast<size_t>(taken)));
    begin += taken;
    out = out.subspan(static_cast<size_t>(taken));
  }
}

uint64_t TokenSequence::fingerprint() const {
  std::map<const TokenSource*, uint64_t> sources;
  std::vector<uint64_t> numbers;
  for (const Slice& slice : slices_) {
    const auto [found, added] = sources.try_emplace(slice.source.get(), 0);
    if (added) found->second = slice.source->fingerprint();
    numbers.insert(numbers.end(), {found->second, static_cast<uint64_t>(slice.begin),
                                   static_cast<uint64_t>(slice.count)});
  }
  return token_format::checksum(numbers.data(), numbers.size() * sizeof(uint64_t));
}

size_t TokenSequence::slice_of(int64_t position) const {
  const auto found = std::upper_bound(slices_.begin(), slices_.end(), position,
                                      [](int64_t p, const Slice& slice) { return p < slice.end; });
  return static_cast<size_t>(found - slices_.begin());
}

}  // namespace tapir::app
